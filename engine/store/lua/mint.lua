-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- mint: the grant of a claim whose lock was just taken, its fencing token, and the ticket, made if it is new. (G3)
-- TOKEN is the highest that this daemon has seen, LIFE that of a grant, ms.
-- Reply {OK, ticket, from, token, task, token, host and agent of the claim before if it ended without a script, '1' if its ticket
--       was finished} (a replay without what comes after the first token)  {GONE} the lock is not this claim's  {MISMATCH} the ticket follows another flow
--       {TERMINAL, ticket} nothing is left to be done

local FLOW, INITIAL, LIFE = unpack(ARGV, 11)

if redis.call('GET', LOCK) ~= NONCE then
  return answer(GONE)
end
local g = redis.call('HMGET', GRANT, 'token', 'nonce', 'ticket', 'host', 'agent', 'forced')
if g[2] == NONCE then
  redis.call('PEXPIRE', GRANT, LIFE) -- for the replicas
  return answer(OK, redis.call('HGETALL', TICKET), came(g[1], 'claimed'), tonumber(g[1]))
end
local t = redis.call('HMGET', TICKET, 'state', 'flow', 'updated_at', 'revision', 'last_write', 'write_before')
local state = t[1]
if state and t[2] ~= FLOW then
  return answer(MISMATCH)
end
if terminal(state) then
  return answer(TERMINAL, redis.call('HGETALL', TICKET))
end

local token = next_token(g[1])
redis.call('HSET', GRANT, 'token', token, 'nonce', NONCE, 'ticket', ID, 'host', HOST, 'agent', AGENT, 'at', NOW)
if g[6] then
  redis.call('HDEL', GRANT, 'forced', 'broken_claim')
end
redis.call('PEXPIRE', GRANT, LIFE)

-- The claim before this one may have ended without a script: by expiry. Its ticket is told, and is finished if NOTIFIED.
local before = g[3] and string.match(g[3], '([^/]*)$')
local ended, finished = '', ''
if before then
  local ticket, log, refused = of(before)
  local b = redis.call('HMGET', ticket, 'state', 'ended_claim')
  if b[1] and b[2] ~= g[2] then
    event(ticket, log, 'lost', b[1], b[1], g[1], '', 'expired', g[4], g[5])
    redis.call('HSET', ticket, 'ended_claim', g[2])
    ended = before
  end
  if b[1] == NOTIFIED and before ~= TASK then
    redis.call('HSET', ticket, 'state', FINISHED)
    event(ticket, log, 'finished', NOTIFIED, FINISHED, token, '', '')
    live(FINISHED, ticket, log, refused)
    finished = '1'
  end
  if before ~= TASK then
    if ended ~= '' or finished ~= '' then
      redis.call('ZADD', TICKETS, NOW, before)
    end
    beside[1] = stand(ticket, before)
  end
end

local from, revision = state or '', t[4]
if before == TASK then -- to which an event may have been added here
  revision = redis.call('HGET', TICKET, 'revision')
end
if state then
  revision = append(LOG, revision, 'claimed', from, state, token, '', '', HOST, AGENT)
  put('token', token, 'revision', revision, 'updated_at', NOW)
  if t[5] and not names(t[6], t[5]) then
    local writes = {}
    for write in string.gmatch(listed(t[6], t[5]), '%S+') do
      writes[#writes + 1] = write
    end
    put('write_before', table.concat(writes, ' ', math.max(#writes - 7, 1)))
  end
else
  redis.call('DEL', LOG, REFUSED)
  revision = add(LOG, 0, 'claimed', '', INITIAL, token, '', '', HOST, AGENT)
  put('flow', FLOW, 'state', INITIAL, 'run', '1', 'created_at', NOW,
    'token', token, 'revision', revision, 'updated_at', NOW)
end
save()
touch(state or INITIAL, from, t[3])
return answer(OK, state and redis.call('HGETALL', TICKET) or changed, from, tonumber(token), before or '', ended ~= '' and g[1] or '',
  g[4] or '', g[5] or '', finished)
