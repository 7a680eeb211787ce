-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- drophint: a hint goes only if nobody put it again since its score was read. Stands alone.
-- KEYS  1 undelivered:ID   ARGV  1 ticket  2 score
-- Reply 1 if it went

local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if score and tonumber(score) == tonumber(ARGV[2]) then
  return redis.call('ZREM', KEYS[1], ARGV[1])
end
return 0
