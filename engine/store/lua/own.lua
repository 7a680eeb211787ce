-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- own: a daemon becomes the one that answers for a ticket in NOTIFYING, if that is still the one that is gone.
-- FROM and TO are the identities of the daemon that is gone, or '', and of the new one; INTENT the ticket's when it was decided.
-- Reply {OK} (a replay too)  {GONE} it is not so any more

local FROM, TO, INTENT = unpack(ARGV, 11)

local t = redis.call('HMGET', TICKET, 'state', 'owner', 'intent')
local owner = t[2] or ''
if t[1] ~= NOTIFYING or t[3] ~= INTENT or owner ~= FROM and owner ~= TO then
  return answer(GONE)
end
redis.call('HSET', TICKET, 'owner', TO)
return answer(OK)
