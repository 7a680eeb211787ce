-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- chunk: what is marked of a chunk of a list. Stands alone.
-- KEYS are a task's marks, and what is there while a ticket of it may be reopened any moment. CHUNK is the digest of the chunk, FRESH an
-- epoch if the marks have none, LIFE that of the marks, ms.
-- Reply {epoch, mark, now}, '' for an epoch in which nothing may be marked, and for no mark; now in ms

local MARKS, REOPENING = unpack(KEYS)
local CHUNK, FRESH, LIFE = unpack(ARGV)

local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
local m = redis.call('HMGET', MARKS, 'epoch', CHUNK)
if redis.call('EXISTS', REOPENING) == 1 then
  return {'', m[2] or '', now}
end
if not m[1] then
  redis.call('HSET', MARKS, 'epoch', FRESH)
  redis.call('PEXPIRE', MARKS, LIFE)
end
return {m[1] or FRESH, m[2] or '', now}
