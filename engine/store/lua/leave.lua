-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- leave: a daemon that is gone leaves those that are watched, unless it signed since AT. If QUIET is 1 it is remembered for a while, else
-- it is forgotten; it signs anew if it comes back. Stands alone: its keys are the fleet's.
-- Reply 1 if it left, or had

local SIGNS, LEFT, HOST = unpack(KEYS)
local ID, AT, QUIET = unpack(ARGV)

local at = redis.call('ZSCORE', SIGNS, ID)
if at and tonumber(at) ~= tonumber(AT) then
  return 0
end
if QUIET == '1' then
  if at then redis.call('ZADD', LEFT, 'GT', AT, ID) end
else
  redis.call('ZREM', LEFT, ID)
  redis.call('DEL', HOST)
end
redis.call('ZREM', SIGNS, ID)
return 1
