-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- replicated: a write that changes nothing, after which replicas can be waited for: those are waited for up to the newest write of a
-- connection, and what they must have was written on another.
-- INTENT is the ticket's as it was read.
-- Reply {OK}  {GONE} the ticket has another

local INTENT = unpack(ARGV, 11)

if redis.call('HGET', TICKET, 'intent') ~= INTENT then
  return answer(GONE)
end
redis.call('HSET', TICKET, 'intent', INTENT)
return answer(OK)
