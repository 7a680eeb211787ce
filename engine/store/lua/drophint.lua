-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- drophint: a hint goes only if nobody put it again since its score was read. Stands alone.
-- Reply 1 if it went

local UNDELIVERED = KEYS[1]
local MEMBER, SCORE = unpack(ARGV)

local score = redis.call('ZSCORE', UNDELIVERED, MEMBER)
if score and tonumber(score) == tonumber(SCORE) then
  return redis.call('ZREM', UNDELIVERED, MEMBER)
end
return 0
