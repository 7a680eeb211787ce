-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- chunk: what is marked of a chunk of a list. Stands alone.
-- KEYS are a task's marks, what is there while a ticket of it may be reopened any moment, and its tickets that are known to be damaged:
-- while there are any, no mark counts, as it may have been made before. CHUNK is the digest of the chunk, FRESH an
-- epoch if the marks have none, LIFE that of the marks, ms.
-- Reply {epoch, mark, now}, '' for no mark, now in ms  {epoch, '', now, 1} one in which nothing may be marked

local MARKS, REOPENING, DAMAGED = unpack(KEYS)
local CHUNK, FRESH, LIFE = unpack(ARGV)

local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
local reopening = redis.call('GET', REOPENING)
if reopening then
  return {reopening, '', now, '1'}
end
local m = redis.call('HMGET', MARKS, 'epoch', CHUNK)
if not m[1] then
  redis.call('HSET', MARKS, 'epoch', FRESH)
  redis.call('PEXPIRE', MARKS, LIFE)
end
return {m[1] or FRESH, redis.call('EXISTS', DAMAGED) == 0 and m[2] or '', now}
