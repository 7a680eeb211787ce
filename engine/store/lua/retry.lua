-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- retry: a new intent takes the place of the ticket's, and channels that are dead, parked or unknown are pending again; stage 3 of
-- its life. The daemon where it was called becomes the owner.
-- INTENT is the new one's id, BEFORE that of the one that was read, DAEMON the identity of this one, AGAIN the channels, as ',a,b,', ONCE
-- those unsettled that are at_most_once, likewise.
-- Reply {OK, ticket, from} (a replay without)  {GONE}  {ILLEGAL, ticket}  {CONFLICT, ticket} another intent came between, or each of the
--       channels was settled: NOTIFYING with nothing to send would have no end

local INTENT, DAEMON, BEFORE, REASON, AGAIN, ONCE = unpack(ARGV, 11)

local t = redis.call('HMGET', TICKET, 'state', 'intent', 'intents', 'channels', 'token')
local state = t[1]
if not state then
  return answer(GONE)
end
if t[2] == INTENT then
  redis.call('HSET', TICKET, 'intent', INTENT) -- for the replicas
  return answer(OK, redis.call('HGETALL', TICKET))
end
if state ~= NOTIFYING and state ~= FAILED then
  return answer(ILLEGAL, redis.call('HGETALL', TICKET))
end
local again = {}
for name in string.gmatch(t[4] or '', '%S+') do
  if within(AGAIN, name) and within(',dead,parked,unknown,', redis.call('HGET', TICKET, 'delivery.' .. name)) then
    again[#again + 1] = name
  end
end
if t[2] ~= BEFORE or #again == 0 then
  return answer(CONFLICT, redis.call('HGETALL', TICKET))
end
redis.call('HSET', TICKET, 'state', NOTIFYING, 'intent', INTENT, 'intents', listed(t[3], INTENT), 'owner', DAEMON)
redis.call('HDEL', TICKET, 'failure', 'failure_step', 'failure_count')
for name in string.gmatch(t[4], '%S+') do
  if within(ONCE, name) then -- a ticket written before that was frozen says nothing of it
    redis.call('HSETNX', TICKET, 'once.' .. name, '1')
  end
end
for _, name in ipairs(again) do
  redis.call('HSET', TICKET, 'delivery.' .. name, 'pending', 'retried.' .. name, INTENT)
  redis.call('HDEL', TICKET, 'lease.' .. name, 'attempt.' .. name, 'attempt_process.' .. name)
end
event(TICKET, LOG, 'notifying', state, NOTIFYING, t[5], '', 'retry: ' .. REASON)
touch(NOTIFYING)
return answer(OK, redis.call('HGETALL', TICKET), state)
