-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- break: an administrator takes the asset from its holder. A grant that nobody holds fences the holder off, the lock is freed.
-- ARGV  1 the highest token that this daemon has seen  2 nonce of that grant  12 life of a grant, ms  13 reason
--       14 the ticket's key without its task  15 the same of its log  16 the same of its refused writes
--       17 nonce of the newest grant and  18 of the lock, as they were when it was decided
-- Reply {OK, nonce of the claim that was ended, or '', its task, or '', from, to} (a replay has the first only, and so has a
--       copy that comes late: who held the asset then holds it no more)

local g = redis.call('HMGET', GRANT, 'token', 'nonce', 'ticket', 'ended')
if g[2] == NONCE then
  return {OK, g[4] or ''}
end
local held = redis.call('GET', LOCK) or ''
local same = held == ARGV[18]
if (g[2] or '') ~= ARGV[17] and (not same or held == '') then
  return {OK, ''}
end
local ended = same and held == g[2] and held or ''
nobody(g[1], ARGV[12], ended)
if same then
  redis.call('DEL', LOCK)
  redis.pcall('PUBLISH', ARGV[9], ARGV[10])
end
local task, from, state = g[3] and string.match(g[3], '([^/]*)$'), '', ''
if task and ended ~= '' then
  local ticket, log, refused = ARGV[14] .. task, ARGV[15] .. task, ARGV[16] .. task
  from = redis.call('HGET', ticket, 'state') or ''
  state = from
  if state ~= '' then
    redis.call('HSET', ticket, 'ended', ended)
    event(ticket, log, 'lost', state, state, 'token', g[1], 'host', HOST, 'agent', AGENT, 'reason', 'forced: ' .. ARGV[13])
    if state == 'NOTIFIED' then
      state = 'FINISHED'
      redis.call('HSET', ticket, 'state', state)
      event(ticket, log, 'finished', 'NOTIFIED', state, 'token', g[1], 'host', HOST, 'agent', AGENT)
    end
    live(ticket, log, refused, state)
  end
end
return {OK, ended, from ~= '' and task or '', from, state}
