-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- resolve: an administrator says what became of channels that are not settled, or are dead: discarded, or sent after all.
-- REQUEST is its id, STATUS discarded or sent, CHANNELS those decided about, as ',a,b,', QUESTION the statuses in question, as
-- ',dead,parked,', INTENT the ticket's when it was decided.
-- Reply {OK, ticket, from} (a replay without)  {GONE}  {ILLEGAL, ticket} not in NOTIFYING, nor FAILED
--       with a channel in question  {CONFLICT, ticket} none of the channels is in
--       question any more  {MISMATCH, ticket} another intent came between

local REQUEST, STATUS, REASON, CHANNELS, QUESTION, INTENT = unpack(ARGV, 11)

local t = redis.call('HMGET', TICKET, 'state', 'intent', 'channels', 'token')
local state = t[1]
if not state then
  return answer(GONE)
end
for name in string.gmatch(t[3] or '', '%S+') do
  if redis.call('HGET', TICKET, 'decision.' .. name) == REQUEST then
    return answer(OK, redis.call('HGETALL', TICKET))
  end
end
if state ~= NOTIFYING and state ~= FAILED then
  return answer(ILLEGAL, redis.call('HGETALL', TICKET))
end
if t[2] ~= INTENT then
  return answer(MISMATCH, redis.call('HGETALL', TICKET))
end
local found = false
for name in string.gmatch(t[3] or '', '%S+') do
  local was = redis.call('HGET', TICKET, 'delivery.' .. name)
  if within(CHANNELS, name) and within(QUESTION, was) then
    found = true
    redis.call('HSET', TICKET, 'delivery.' .. name, STATUS, 'at.' .. name, NOW, 'host.' .. name, HOST, 'decision.' .. name, REQUEST)
    redis.call('HDEL', TICKET, 'lease.' .. name, 'attempt.' .. name, 'attempt_process.' .. name)
    event(TICKET, LOG, 'settled', state, state, t[4], name, STATUS .. ': ' .. REASON)
  end
end
if not found then
  return answer(state == FAILED and ILLEGAL or CONFLICT, redis.call('HGETALL', TICKET))
end
touch(end_notifying(state))
return answer(OK, redis.call('HGETALL', TICKET), state)
