-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- reopen: a ticket that is terminal, or damaged, begins a new run; in NOTIFYING people are being told, and it does not. What was recorded stays in the log; the ids of old intents stay on the ticket, so
-- that a late one is known to be superseded. If the newest grant is for this ticket, it is replaced by one that nobody holds.
-- TOKEN is the highest that this daemon has seen, NONCE that of the new grant, and id of the request, LIFE that of a grant, ms, REVISION
-- the ticket's when it was decided, DAMAGED '1' if something of it was missing then. UNTIL is when it is too late, ms.
-- Reply {OK, ticket, from} (a replay without)  {GONE}  {ILLEGAL, ticket}  {CONFLICT, ticket} it has moved on, or this comes after UNTIL

local LIFE, REASON, INITIAL, REVISION, DAMAGED, UNTIL = unpack(ARGV, 11)

local t = redis.call('HMGET', TICKET, 'state', 'reopen_request', 'run', 'token', 'revision')
local state, token = t[1], t[4]
if not state then
  return answer(GONE)
end
if t[2] == NONCE then
  return answer(OK, redis.call('HGETALL', TICKET))
end
if not terminal(state) and (DAMAGED == '0' or state == NOTIFYING) then
  return answer(ILLEGAL, redis.call('HGETALL', TICKET))
end
if t[5] ~= REVISION or tonumber(NOW) > tonumber(UNTIL) then
  return answer(CONFLICT, redis.call('HGETALL', TICKET))
end
local g = redis.call('HMGET', GRANT, 'token', 'nonce', 'ticket')
redis.call('HSET', TICKET, 'state', INITIAL, 'reopen_request', NONCE, 'run', string.format('%.0f', tonumber(t[3]) + 1))
if g[3] == ID then
  token = nobody(g[1], LIFE, '')
  redis.call('HSET', TICKET, 'token', token)
  if redis.call('GET', LOCK) == g[2] then
    unlock()
  end
end
local keep = ',asset,task,flow,state,run,revision,token,reopen_request,intents,created_at,updated_at,'
for _, name in ipairs(redis.call('HKEYS', TICKET)) do
  local channel = string.match(name, '^receipt%.(.*)$')
  if channel then -- so that a copy of it that comes late is known
    local before = redis.call('HGET', TICKET, 'receipt_before.' .. channel)
    redis.call('HSET', TICKET, 'receipt_before.' .. channel, listed(before, redis.call('HGET', TICKET, name)))
  end
  if not within(keep, name) and not string.find(name, '^receipt_before%.') then
    redis.call('HDEL', TICKET, name)
  end
end
event(TICKET, LOG, 'reopened', state, INITIAL, token, '', REASON)
touch(INITIAL)
return answer(OK, redis.call('HGETALL', TICKET), state)
