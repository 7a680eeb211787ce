-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- own: a daemon becomes the one that answers for a ticket in NOTIFYING, if that is still the one that is gone.
-- ARGV  12 identity of the daemon that is gone, or ''  13 that of the new one  14 the ticket's intent when it was decided
-- Reply {OK} (a replay too)  {GONE} it is not so any more

local t = redis.call('HMGET', TICKET, 'state', 'owner', 'intent')
local owner = t[2] or ''
if t[1] ~= 'NOTIFYING' or t[3] ~= ARGV[14] or owner ~= ARGV[12] and owner ~= ARGV[13] then
  return {GONE}
end
redis.call('HSET', TICKET, 'owner', ARGV[13])
return {OK}
