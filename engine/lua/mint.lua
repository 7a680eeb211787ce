-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- mint: the grant of a claim whose lock was just taken, its fencing token, and the ticket, made if it is new. (G3)
-- ARGV  1 the highest token that this daemon has seen  12 flow  13 its initial state  14 asset  15 life of a grant, ms
--       16 the ticket's key without its task  17 the same of its log  18 the same of its refused writes
-- Reply {OK, ticket, from, token, task, token, host and agent of the claim before if it ended without a script, '1' if its ticket
--       was finished} (a replay without what comes after the first token)  {GONE} the lock is not this claim's  {MISMATCH} the ticket follows another flow
--       {TERMINAL, ticket} nothing is left to be done

if redis.call('GET', LOCK) ~= NONCE then
  return {GONE}
end
local g = redis.call('HMGET', GRANT, 'token', 'nonce', 'ticket', 'host', 'agent')
if g[2] == NONCE then
  return {OK, redis.call('HGETALL', TICKET), came(g[1], 'claimed'), tonumber(g[1])}
end
local t = redis.call('HMGET', TICKET, 'state', 'flow')
local state = t[1]
if state and t[2] ~= ARGV[12] then
  return {MISMATCH}
end
if terminal(state) then
  return {TERMINAL, redis.call('HGETALL', TICKET)}
end

local token = next_token(g[1])
redis.call('HSET', GRANT, 'token', token, 'nonce', NONCE, 'ticket', ID, 'host', HOST, 'agent', AGENT, 'at', NOW)
redis.call('HDEL', GRANT, 'forced', 'ended')
redis.call('PEXPIRE', GRANT, ARGV[15])

-- The claim before this one may have ended without a script: by expiry. Its ticket is told, and is finished if NOTIFIED.
local before = g[3] and string.match(g[3], '([^/]*)$')
local ended, finished = '', ''
if before then
  local ticket, log, refused = ARGV[16] .. before, ARGV[17] .. before, ARGV[18] .. before
  local b = redis.call('HMGET', ticket, 'state', 'ended')
  if b[1] and b[2] ~= g[2] then
    event(ticket, log, 'lost', b[1], b[1], 'token', g[1], 'host', g[4], 'agent', g[5], 'reason', 'expired')
    redis.call('HSET', ticket, 'ended', g[2])
    ended = before
  end
  if b[1] == 'NOTIFIED' and before ~= TASK then
    redis.call('HSET', ticket, 'state', 'FINISHED')
    event(ticket, log, 'finished', 'NOTIFIED', 'FINISHED', 'token', token, 'host', HOST, 'agent', AGENT)
    live(ticket, log, refused, 'FINISHED')
    finished = '1'
  end
end

local from = state or ''
if not state then
  state = ARGV[13]
  redis.call('DEL', LOG, REFUSED)
  redis.call('HSET', TICKET, 'asset', ARGV[14], 'task', TASK, 'flow', ARGV[12], 'state', state, 'run', '1',
    'created_at', NOW)
end
redis.call('HSET', TICKET, 'token', token)
event(TICKET, LOG, 'claimed', from, state, 'token', token, 'host', HOST, 'agent', AGENT)
touch(state)
return {OK, redis.call('HGETALL', TICKET), from, tonumber(token), before or '', ended ~= '' and g[1] or '', g[4] or '',
  g[5] or '', finished}
