-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- break: an administrator takes the asset from its holder. A grant that nobody holds fences the holder off, the lock is freed.
-- TOKEN is the highest that this daemon has seen, NONCE that of the new grant, LIFE that of a grant, ms; GRANTED and LOCKED are the nonces
-- of the newest grant and of the lock, as they were when it was decided.
-- Reply {OK, nonce of the claim that was ended, or '', its task, or '', from, to} (a replay has the first only, and so has a
--       copy that comes late: who held the asset then holds it no more)

local LIFE, REASON, GRANTED, LOCKED = unpack(ARGV, 11)

local g = redis.call('HMGET', GRANT, 'token', 'nonce', 'ticket', 'broken_claim')
if g[2] == NONCE then
  return answer(OK, g[4] or '')
end
local held = redis.call('GET', LOCK) or ''
local same = held == LOCKED
if (g[2] or '') ~= GRANTED and (not same or held == '') then
  return answer(OK, '')
end
local ended = same and held == g[2] and held or ''
nobody(g[1], LIFE, ended)
if same then
  unlock()
end
local task, from, state = g[3] and string.match(g[3], '([^/]*)$'), '', ''
if task and ended ~= '' then
  local ticket, log, refused = of(task)
  from = redis.call('HGET', ticket, 'state') or ''
  state = from
  if state ~= '' then
    redis.call('HSET', ticket, 'ended_claim', ended)
    event(ticket, log, 'lost', state, state, g[1], '', 'forced: ' .. REASON)
    if state == NOTIFIED then
      state = FINISHED
      redis.call('HSET', ticket, 'state', state)
      event(ticket, log, 'finished', NOTIFIED, state, g[1], '', '')
    end
    live(state, ticket, log, refused)
    redis.call('ZADD', TICKETS, NOW, task)
    beside[1] = stand(ticket, task)
  end
end
return answer(OK, ended, from ~= '' and task or '', from, state)
