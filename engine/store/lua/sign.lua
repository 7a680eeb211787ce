-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- sign: a daemon's sign of life. Stands alone.
-- RUN is this run's nonce, LIFE in ms, SIGNED when this run last signed, ms of Redis' clock, or '' if it has not, FORMER the former runs of
-- this outbox, as ',a,b,', OVER 'NONCE AT' of another's sign that is not renewed any more, or ''.
-- Reply {0, at} the sign had run out, is the first, or takes the place of another's  {1, at} it was there  {2, at, nonce, label, pid}
--       another run's sign is there, which may be alive: a cloned outbox

local HOST = KEYS[1]
local RUN, LABEL, LIFE, PID, SIGNED, FORMER, OVER = unpack(ARGV)

local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
local s = redis.call('HMGET', HOST, 'instance', 'at', 'label', 'pid')
local at = s[2] or '0'
if s[1] and s[1] ~= RUN and SIGNED ~= '' and s[1] .. ' ' .. at ~= OVER then
  -- A former run that signed no later than this one is what a failover, or an older dump, brought back.
  local former = string.find(FORMER, ',' .. s[1] .. ',', 1, true)
  if not former or tonumber(at) > tonumber(SIGNED) then
    return {2, at, s[1], s[3] or '', s[4] or ''}
  end
end
redis.call('HSET', HOST, 'instance', RUN, 'label', LABEL, 'pid', PID, 'at', now)
redis.call('PEXPIRE', HOST, LIFE)
return {s[1] == RUN and 1 or 0, now}
