-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- sign: a daemon's sign of life, and the question which others have given none for too long. Stands alone: its keys are the fleet's.
-- ID, RUN, LABEL and PID are this daemon's, RUN the nonce of this run; ROW what the fleet is told of it, or '' if that stands there.
-- SIGNED: when this run last signed, ms of Redis' clock, or '' if it has not. FORMER: the former runs of this outbox, as ',a,b,'. OVER:
-- 'NONCE AT' of another's sign that is not renewed any more, or ''. CHANNELS: those that this daemon has.
-- LIFE: of a sign, in ms. LATE: who was silent for so long is overdue. MOST: so many of those are asked for, none by who may not judge.
-- TURN: for so long no other daemon with the same channels is told of the same one.
-- Reply {0, at, {}} the own sign was not there as it was left, or had run out  {1, at, {id, signed, …}} it was there, and who is overdue
--       {2, at, nonce, label, pid} another run's sign is there, which may be alive: a cloned outbox

local SIGNS, LEFT, TURNS, HOST = unpack(KEYS)
local ID, RUN, LABEL, PID, ROW, SIGNED, FORMER, OVER, CHANNELS = unpack(ARGV)
local LIFE, LATE, MOST, TURN = unpack(ARGV, 10)

local function ms(n) return string.format('%.0f', n) end

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local had = redis.call('ZSCORE', SIGNS, ID)
had = had and tonumber(had)
local run, label, pid = unpack(redis.call('HMGET', HOST, 'instance', 'label', 'pid'))

local there = had and now - had < tonumber(LIFE)
if there and run and run ~= RUN and SIGNED ~= '' and run .. ' ' .. ms(had) ~= OVER then
  -- A former run that signed no later than this one is what a failover, or an older dump, brought back.
  local former = string.find(FORMER, ',' .. run .. ',', 1, true)
  if not former or had > tonumber(SIGNED) then
    return {2, ms(had), run, label or '', pid or ''}
  end
end
redis.call('ZADD', SIGNS, ms(now), ID)
if not there then redis.call('ZREM', LEFT, ID) end
if run ~= RUN then redis.call('HSET', HOST, 'instance', RUN, 'label', LABEL, 'pid', PID) end
if ROW ~= '' then redis.call('HSET', HOST, 'row', ROW) end

if not there or run ~= RUN or SIGNED == '' or had < tonumber(SIGNED) or had > now then
  -- The clock may have been set back: a sign of a time that is still to come would not be overdue for as long.
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', SIGNS, '(' .. ms(now), '+inf', 'LIMIT', 0, 1000)) do
    redis.call('ZADD', SIGNS, ms(now), id)
  end
  return {0, ms(now), {}}
end

MOST = tonumber(MOST)
if MOST == 0 then return {1, ms(now), {}} end
local late = '(' .. ms(now - tonumber(LATE))
local overdue = redis.call('ZRANGEBYSCORE', SIGNS, '-inf', late, 'WITHSCORES', 'LIMIT', 0, MOST + 1)
if #overdue > 2 * MOST then -- some of them, by chance, so that none is left out for ever
  local from = now % (redis.call('ZCOUNT', SIGNS, '-inf', late) - MOST + 1)
  overdue = redis.call('ZRANGE', SIGNS, ms(from), ms(from + MOST - 1), 'WITHSCORES')
end
local mine = {}
if #overdue > 0 then
  redis.call('ZREMRANGEBYSCORE', TURNS, '-inf', ms(now))
  redis.call('ZREMRANGEBYSCORE', TURNS, '(' .. ms(now + TURN), '+inf')
end
for i = 1, #overdue, 2 do
  if overdue[i + 1] == '0' then -- it was not among them until now, and gets the time to sign
    redis.call('ZADD', SIGNS, ms(now - LIFE), overdue[i])
  elseif redis.call('ZADD', TURNS, 'NX', ms(now + TURN), overdue[i] .. ' ' .. CHANNELS) == 1 then
    mine[#mine + 1] = overdue[i]
    mine[#mine + 1] = ms(overdue[i + 1])
  end
end
return {1, ms(now), mine}
