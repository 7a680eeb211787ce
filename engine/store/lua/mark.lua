-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- mark: a chunk's tickets are all terminal, as they were read in an epoch of the marks. Stands alone.
-- KEYS are the task's marks. MARK is what is kept of them, LIFE that of the marks, ms, MOST how many there may be.
-- Reply {1}, or {0} the epoch is over, or there are enough

local MARKS = KEYS[1]
local CHUNK, EPOCH, MARK, LIFE, MOST = unpack(ARGV)

if redis.call('HGET', MARKS, 'epoch') ~= EPOCH or redis.call('HLEN', MARKS) > tonumber(MOST) then
  return {0}
end
redis.call('HSET', MARKS, CHUNK, MARK)
redis.call('PEXPIRE', MARKS, LIFE)
return {1}
