-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- notify: NOTIFYING, with the content and each channel's body frozen on the ticket; stage 3 of a notification's life.
-- ARGV  12 id of the intent  13 identity of the daemon  14 the content, JSON  15 digest of what was asked for  16 states from
--       which the flow leads to NOTIFYING  17 number of channels  from 18 on: name, type, '1' if at_most_once,
--       body, of each
--       and last the content without facts, or ''
-- Reply {OK, ticket, from}  {REPLAYED, ticket} accepted before  {STALE}  {CONFLICT, ticket} accepted from this claim with another
--       content  {ILLEGAL, ticket}

if not newest() then
  refuse('STALE_TOKEN')
  return {STALE}
end
local t = redis.call('HMGET', TICKET, 'state', 'intent', 'digest.notification', 'notify_nonce', 'intents')
local state = t[1]
if t[2] == ARGV[12] then
  return {OK, redis.call('HGETALL', TICKET), came(TOKEN, 'notifying')}
end
if t[3] then
  if t[3] ~= ARGV[15] and t[4] == NONCE then
    refuse('CONTENT_CONFLICT')
    return {CONFLICT, redis.call('HGETALL', TICKET)}
  end
  return {REPLAYED, redis.call('HGETALL', TICKET)}
end
if not within(ARGV[16], state) then
  refuse('ILLEGAL_TRANSITION')
  return {ILLEGAL, redis.call('HGETALL', TICKET)}
end
redis.call('HSET', TICKET, 'state', 'NOTIFYING', 'notification', ARGV[14], 'digest.notification', ARGV[15],
  'notify_nonce', NONCE, 'intent', ARGV[12], 'intents', (t[5] and t[5] .. ' ' or '') .. ARGV[12], 'owner', ARGV[13])
local names = {}
for i = 1, tonumber(ARGV[17]) do
  local name, kind, once, body = unpack(ARGV, 14 + 4 * i, 17 + 4 * i)
  names[i] = name
  redis.call('HSET', TICKET, 'delivery.' .. name, 'pending', 'type.' .. name, kind, 'once.' .. name, once,
    'body.' .. name, body, 'attempts.' .. name, '0')
end
redis.call('HSET', TICKET, 'channels', table.concat(names, ' '))
if redis.call('HGET', TICKET, 'failure_step') == 'notify' then
  redis.call('HDEL', TICKET, 'failure', 'failure_step', 'failure_count')
end
brief('notification')
event(TICKET, LOG, 'notifying', state, 'NOTIFYING', 'token', TOKEN, 'host', HOST, 'agent', AGENT, 'data', ARGV[14])
touch('NOTIFYING')
return {OK, redis.call('HGETALL', TICKET), state}
