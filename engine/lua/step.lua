-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- step: a step's result, recorded once. (G2, G4, G5)
-- ARGV  12 step  13 state that it leads to  14 digest of state and facts  15 the record, JSON  16 states from which the flow
--       leads there by this step  17 those of them from which a step recorded otherwise may be recorded anew  18 summary  19 id of the request
--       and last the record without facts, or ''
-- Reply {OK, ticket, from}  {REPLAYED, ticket, from, '' unless it is this very call that recorded it}  {STALE}
--       {CONFLICT, ticket}  {ILLEGAL, ticket}

if not newest() then
  refuse('STALE_TOKEN')
  return {STALE}
end
local step, to = ARGV[12], ARGV[13]
local t = redis.call('HMGET', TICKET, 'state', 'digest.' .. step, 'failure_step', 'request')
local state, recorded = t[1], t[2]
if recorded == ARGV[14] then
  return {REPLAYED, redis.call('HGETALL', TICKET), t[4] == ARGV[19] and came(TOKEN, 'step') or ''}
end
if recorded and not within(ARGV[17], state) then
  refuse('STEP_CONFLICT')
  return {CONFLICT, redis.call('HGETALL', TICKET)}
end
if not within(ARGV[16], state) then
  refuse('ILLEGAL_TRANSITION')
  return {ILLEGAL, redis.call('HGETALL', TICKET)}
end
redis.call('HSET', TICKET, 'state', to, 'steps.' .. step, ARGV[15], 'digest.' .. step, ARGV[14], 'request', ARGV[19])
if ARGV[18] ~= '' then
  redis.call('HSET', TICKET, 'summary', ARGV[18])
end
if t[3] == step then
  redis.call('HDEL', TICKET, 'failure', 'failure_step', 'failure_count')
end
brief('steps.' .. step)
event(TICKET, LOG, 'step', state, to, 'step', step, 'token', TOKEN, 'host', HOST, 'agent', AGENT, 'data', ARGV[15])
touch(to)
return {OK, redis.call('HGETALL', TICKET), state}
