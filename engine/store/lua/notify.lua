-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- notify: NOTIFYING, with the content and each channel's body frozen on the ticket; stage 3 of a notification's life.
-- DAEMON is the identity of the one that answers for it, CONTENT JSON without its FACTS, DIGEST that of what was asked for, FROM the
-- states from which the flow leads to NOTIFYING. After the number of channels: name, type, '1' if at_most_once, and body
-- of each.
-- Reply {OK, ticket, from}  {REPLAYED, ticket} accepted before  {STALE}  {CONFLICT, ticket} accepted from this claim with another
--       content  {ILLEGAL, ticket}  {GONE} a copy that comes late

local INTENT, DAEMON, CONTENT, FACTS, DIGEST, FROM, CHANNELS = unpack(ARGV, 12, 18)

local t = redis.call('HMGET', TICKET, 'state', 'intent', 'record.notification', 'notify_claim', 'intents', 'last_write', 'revision',
  'updated_at', 'bytes')
local state = t[1]
if t[2] == INTENT then -- its answer was lost: it counts, whoever has the asset now
  redis.call('HSET', TICKET, 'intent', INTENT) -- for the replicas
  return answer(OK, redis.call('HGETALL', TICKET), came(TOKEN, 'notifying'))
end
if not newest() then
  refuse('STALE_TOKEN')
  return answer(STALE)
end
if passed(t[6]) then
  return answer(GONE)
end
if t[3] then
  if string.match(t[3], '%S+$') ~= DIGEST and t[4] == NONCE then
    refuse('CONTENT_CONFLICT')
    return answer(CONFLICT, redis.call('HGETALL', TICKET))
  end
  redis.call('HSET', TICKET, 'intent', t[2])
  return answer(REPLAYED, redis.call('HGETALL', TICKET))
end
if not within(FROM, state) then
  refuse('ILLEGAL_TRANSITION')
  return answer(ILLEGAL, redis.call('HGETALL', TICKET))
end
local size, channels = #CONTENT + #FACTS, {}
local revision, place = add(LOG, t[7], 'notifying', state, NOTIFYING, TOKEN, '', '', HOST, AGENT, CONTENT, FACTS)
for i = 1, tonumber(CHANNELS) do
  local name, kind, once, body = unpack(ARGV, 15 + 4 * i, 18 + 4 * i)
  channels[i] = name
  redis.call('HSET', TICKET, 'delivery.' .. name, 'pending', 'type.' .. name, kind, 'once.' .. name, once,
    'body.' .. name, body, 'attempts.' .. name, '0')
  t[9] = (t[9] or 0) + #body
end
redis.call('HSET', TICKET, 'state', NOTIFYING, 'revision', revision, 'updated_at', NOW, 'last_write', WRITE,
  'record.notification', place .. ' ' .. size .. ' ' .. DIGEST, 'bytes', (t[9] or 0) + size, 'channels', table.concat(channels, ' '),
  'notify_claim', NONCE, 'intent', INTENT, 'intents', listed(t[5], INTENT), 'owner', DAEMON)
if redis.call('HGET', TICKET, 'failure_step') == 'notify' then
  redis.call('HDEL', TICKET, 'failure', 'failure_step', 'failure_count')
end
touch(NOTIFYING, state, t[8])
return answer(OK, redis.call('HGETALL', TICKET), state)
