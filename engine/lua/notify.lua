-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- notify: NOTIFYING, with the content and each channel's body frozen on the ticket; stage 3 of a notification's life.
-- ARGV  13 id of the intent  14 identity of the daemon  15 the content, JSON  16 digest of what was asked for  17 states from
--       which the flow leads to NOTIFYING  18 number of channels  from 19 on: name, type, '1' if at_most_once,
--       body, of each
--       and last the content without facts, or ''
-- Reply {OK, ticket, from}  {REPLAYED, ticket} accepted before  {STALE}  {CONFLICT, ticket} accepted from this claim with another
--       content  {ILLEGAL, ticket}  {GONE} a copy that comes late

if not newest() then
  refuse('STALE_TOKEN')
  return {STALE}
end
local t = redis.call('HMGET', TICKET, 'state', 'intent', 'digest.notification', 'notify_nonce', 'intents', 'write')
local state = t[1]
if passed(t[6]) then
  return {GONE}
end
if t[2] == ARGV[13] then
  return {OK, redis.call('HGETALL', TICKET), came(TOKEN, 'notifying')}
end
if t[3] then
  if t[3] ~= ARGV[16] and t[4] == NONCE then
    refuse('CONTENT_CONFLICT')
    return {CONFLICT, redis.call('HGETALL', TICKET)}
  end
  return {REPLAYED, redis.call('HGETALL', TICKET)}
end
if not within(ARGV[17], state) then
  refuse('ILLEGAL_TRANSITION')
  return {ILLEGAL, redis.call('HGETALL', TICKET)}
end
redis.call('HSET', TICKET, 'state', 'NOTIFYING', 'notification', ARGV[15], 'digest.notification', ARGV[16],
  'notify_nonce', NONCE, 'intent', ARGV[13], 'intents', listed(t[5], ARGV[13]), 'owner', ARGV[14], 'write', WRITE)
local channels = {}
for i = 1, tonumber(ARGV[18]) do
  local name, kind, once, body = unpack(ARGV, 15 + 4 * i, 18 + 4 * i)
  channels[i] = name
  redis.call('HSET', TICKET, 'delivery.' .. name, 'pending', 'type.' .. name, kind, 'once.' .. name, once,
    'body.' .. name, body, 'attempts.' .. name, '0')
end
redis.call('HSET', TICKET, 'channels', table.concat(channels, ' '))
if redis.call('HGET', TICKET, 'failure_step') == 'notify' then
  redis.call('HDEL', TICKET, 'failure', 'failure_step', 'failure_count')
end
brief('notification')
event(TICKET, LOG, 'notifying', state, 'NOTIFYING', 'token', TOKEN, 'host', HOST, 'agent', AGENT, 'data', ARGV[15])
touch('NOTIFYING')
return {OK, redis.call('HGETALL', TICKET), state}
