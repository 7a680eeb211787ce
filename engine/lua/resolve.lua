-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- resolve: an administrator says what became of channels that are not settled, or are dead: discarded, or sent after all.
-- ARGV  12 id of the request  13 status, discarded or sent  14 reason  15 the channels decided about, as ',a,b,'
--       16 statuses in question, as ',dead,parked,'  17 the ticket's intent when it was decided
-- Reply {OK, ticket, from} (a replay without)  {GONE}  {ILLEGAL, ticket} not in NOTIFYING, nor FAILED
--       with a channel in question  {CONFLICT, ticket} none of the channels is in
--       question any more  {MISMATCH, ticket} another intent came between

local t = redis.call('HMGET', TICKET, 'state', 'intent', 'channels', 'token')
local state = t[1]
if not state then
  return {GONE}
end
for name in string.gmatch(t[3] or '', '%S+') do
  if redis.call('HGET', TICKET, 'decided.' .. name) == ARGV[12] then
    return {OK, redis.call('HGETALL', TICKET)}
  end
end
if state ~= 'NOTIFYING' and state ~= 'FAILED' then
  return {ILLEGAL, redis.call('HGETALL', TICKET)}
end
if t[2] ~= ARGV[17] then
  return {MISMATCH, redis.call('HGETALL', TICKET)}
end
local found = false
for name in string.gmatch(t[3] or '', '%S+') do
  local was = redis.call('HGET', TICKET, 'delivery.' .. name)
  if within(ARGV[15], name) and within(ARGV[16], was) then
    found = true
    redis.call('HSET', TICKET, 'delivery.' .. name, ARGV[13], 'at.' .. name, NOW, 'host.' .. name, HOST, 'decided.' .. name, ARGV[12])
    redis.call('HDEL', TICKET, 'lease.' .. name, 'attempt.' .. name, 'attempt_run.' .. name)
    event(TICKET, LOG, 'settled', state, state, 'step', name, 'token', t[4], 'host', HOST, 'agent', AGENT, 'reason',
      ARGV[13] .. ': ' .. ARGV[14])
  end
end
if not found then
  return {state == 'FAILED' and ILLEGAL or CONFLICT, redis.call('HGETALL', TICKET)}
end
touch(settle(state))
return {OK, redis.call('HGETALL', TICKET), state}
