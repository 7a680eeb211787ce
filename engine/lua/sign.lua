-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- sign: a daemon's sign of life. Stands alone.
-- KEYS  1 host:ID   ARGV  1 this run's nonce  2 label  3 life, ms  4 pid  5 when this run last signed, ms of Redis' clock, or '' if
--       it has not  6 former runs of this outbox, as ',a,b,'  7 'NONCE AT' of another's sign that is not renewed any more, or ''
-- Reply {0, at} the sign had run out, is the first, or takes the place of another's  {1, at} it was there  {2, at, nonce, label, pid}
--       another run's sign is there, which may be alive: a cloned outbox

local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
local s = redis.call('HMGET', KEYS[1], 'instance', 'at', 'label', 'pid')
local at = s[2] or '0'
if s[1] and s[1] ~= ARGV[1] and ARGV[5] ~= '' and s[1] .. ' ' .. at ~= ARGV[7] then
  -- A former run that signed no later than this one is what a failover, or an older dump, brought back.
  local former = string.find(ARGV[6], ',' .. s[1] .. ',', 1, true)
  if not former or tonumber(at) > tonumber(ARGV[5]) then
    return {2, at, s[1], s[3] or '', s[4] or ''}
  end
end
redis.call('HSET', KEYS[1], 'instance', ARGV[1], 'label', ARGV[2], 'pid', ARGV[4], 'at', now)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {s[1] == ARGV[1] and 1 or 0, now}
