-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- step: a step's result, recorded once. (G2, G4, G5)
-- ARGV  13 step  14 state that it leads to  15 digest of state and facts  16 the record, JSON  17 states from which the flow
--       leads there by this step  18 those of them from which a step recorded otherwise may be recorded anew  19 summary
--       and last the record without facts, or ''
-- Reply {OK, ticket, from}  {REPLAYED, ticket, from, '' unless it is this very call that recorded it}  {STALE}
--       {CONFLICT, ticket}  {ILLEGAL, ticket}  {GONE} a copy that comes late

if not newest() then
  refuse('STALE_TOKEN')
  return {STALE}
end
local step, to = ARGV[13], ARGV[14]
local t = redis.call('HMGET', TICKET, 'state', 'digest.' .. step, 'failure_step', 'write')
local state, recorded = t[1], t[2]
if passed(t[4]) then
  return {GONE}
end
if recorded == ARGV[15] then
  return {REPLAYED, redis.call('HGETALL', TICKET), t[4] == WRITE and came(TOKEN, 'step') or ''}
end
if recorded and not within(ARGV[18], state) then
  refuse('STEP_CONFLICT')
  return {CONFLICT, redis.call('HGETALL', TICKET)}
end
if not within(ARGV[17], state) then
  refuse('ILLEGAL_TRANSITION')
  return {ILLEGAL, redis.call('HGETALL', TICKET)}
end
redis.call('HSET', TICKET, 'state', to, 'steps.' .. step, ARGV[16], 'digest.' .. step, ARGV[15], 'write', WRITE)
if ARGV[19] ~= '' then
  redis.call('HSET', TICKET, 'summary', ARGV[19])
end
if t[3] == step then
  redis.call('HDEL', TICKET, 'failure', 'failure_step', 'failure_count')
end
brief('steps.' .. step)
event(TICKET, LOG, 'step', state, to, 'step', step, 'token', TOKEN, 'host', HOST, 'agent', AGENT, 'data', ARGV[16])
touch(to)
return {OK, redis.call('HGETALL', TICKET), state}
