-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- index: how tickets stand, in the index of a task or in that of all. Stands alone.
-- KEYS[1] is the hash of those that are marked or not FINISHED; its name ends in 'where', and the sets' names stand in its place.
-- LIFE is that of a ticket, ms; MOST how many that are FINISHED are kept, or '': all. Then of each ticket: its member, its state, or ''
-- when there is no such ticket, its score, its marks (f, h), and up to which score the index is known to be wrong.
--
-- The batches of two daemons may come in the wrong order: what is older loses. A member has the same score in each set it is in.
-- Reply 0

local WHERE = KEYS[1]
local PART = string.sub(WHERE, 1, -#'where' - 1)
local LIFE, MOST, FINISHED, NOTIFYING = unpack(ARGV, 1, 4)
local MARKS = {f = 'failed', h = 'high_risk'}

-- stood is in which state's set a member is, and its marks, if it is in any.
local function stood(member)
  local is = redis.call('HGET', WHERE, member)
  if is then
    return string.match(is, '^(%S+) (%S*)$')
  end
  return FINISHED, ''
end

local function leave(member, state, marks)
  redis.call('ZREM', PART .. state, member)
  for mark in string.gmatch(marks, '.') do
    redis.call('ZREM', PART .. MARKS[mark], member)
  end
end

local changed = {}
local function enter(name, score, member)
  redis.call('ZADD', PART .. name, score, member)
  changed[name] = true
end

for i = 5, #ARGV, 5 do
  local member, state, score, marks, wrong = unpack(ARGV, i, i + 4)
  local was, had = stood(member)
  local at = tonumber(redis.call('ZSCORE', PART .. (MARKS[string.sub(had, 1, 1)] or was), member) or 0)
  if at <= tonumber(score) or at <= tonumber(wrong) then
    if was ~= state or had ~= marks then
      if at > 0 then
        leave(member, was, had)
      end
      if state == '' or state == FINISHED and marks == '' then
        redis.call('HDEL', WHERE, member)
      else
        redis.call('HSET', WHERE, member, state .. ' ' .. marks)
      end
    end
    if state ~= '' then
      enter(state, score, member)
      for mark in string.gmatch(marks, '.') do
        enter(MARKS[mark], score, member)
      end
    end
  end
end

-- Tickets live for LIFE from their last write at most, but for those in NOTIFYING.
local t = redis.call('TIME')
local gone = string.format('(%.0f', t[1] * 1000 - LIFE)
redis.call('PEXPIRE', WHERE, LIFE)
for name in pairs(changed) do
  redis.call('PEXPIRE', PART .. name, LIFE)
  if name ~= NOTIFYING then
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', PART .. name, '-inf', gone, 'LIMIT', 0, 100)) do
      local was, had = stood(member)
      if was ~= NOTIFYING then
        leave(member, was, had)
        redis.call('HDEL', WHERE, member)
      end
    end
  end
end
if MOST ~= '' and changed[FINISHED] then
  redis.call('ZREMRANGEBYRANK', PART .. FINISHED, 0, -MOST - 1)
end
return 0
