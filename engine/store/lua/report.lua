-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- report: a run works on a list, or has, that the report tells of. Stands alone.
-- KEYS[1] is what is noted of the report. LIST is the list's digest, TOTAL how many assets it has. RUN is the run; it counts as at work for
-- LEASE ms from now, and not at all with 0. LIFE is that of all this, ms. LISTS and RUNS are how many there may be.
-- Reply {1, ms since it was noted first, other runs at work, digest, total, digest, total, ...}  {0, 'list' or 'run'} there are as many as there may be

local REPORT = KEYS[1]
local LIST, TOTAL, RUN, LEASE, LIFE, LISTS, RUNS = unpack(ARGV)

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local all, lists, others = redis.call('HGETALL', REPORT), {}, 0
local known, began = false, now
for i = 1, #all, 2 do
  local kind, of = string.match(all[i], '^(%l+)%.(.*)$')
  if kind == 'list' then
    known = known or of == LIST
    lists[#lists + 1], lists[#lists + 2] = of, all[i + 1]
  elseif kind == 'run' and tonumber(all[i + 1]) <= now then
    redis.call('HDEL', REPORT, all[i])
  elseif kind == 'run' and of ~= RUN then
    others = others + 1
  elseif all[i] == 'began' then
    began = tonumber(all[i + 1])
  end
end
if not known and #lists / 2 >= tonumber(LISTS) then
  return {0, 'list'}
end
if LEASE ~= '0' and others >= tonumber(RUNS) then
  return {0, 'run'}
end
if not known then
  lists[#lists + 1], lists[#lists + 2] = LIST, TOTAL
end
redis.call('HSET', REPORT, 'began', string.format('%.0f', began), 'list.' .. LIST, TOTAL)
if LEASE == '0' then
  redis.call('HDEL', REPORT, 'run.' .. RUN)
else
  redis.call('HSET', REPORT, 'run.' .. RUN, string.format('%.0f', now + LEASE))
end
redis.call('PEXPIRE', REPORT, LIFE)
return {1, now - began, others, unpack(lists)}
