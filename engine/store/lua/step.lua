-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- step: a step's result, recorded once. (G2, G4, G5)
-- TO is the state that it leads to, DIGEST that of state and facts, RECORD JSON, BRIEF the same without facts, or ''. FROM are the states
-- from which the flow leads there by this step, ANEW those of them from which a step recorded otherwise may be recorded anew. HIGH_RISK
-- is '1' or '0' if the step says whether the risk is high, else ''.
-- Reply {OK, ticket, from}  {REPLAYED, ticket, from, '' unless it is this very call that recorded it}  {STALE}
--       {CONFLICT, ticket}  {ILLEGAL, ticket}  {GONE} a copy that comes late

local STEP, TO, DIGEST, RECORD, FROM, ANEW, SUMMARY, BRIEF, HIGH_RISK = unpack(ARGV, 12)

if not newest() then
  refuse('STALE_TOKEN')
  return answer(STALE)
end
local t = redis.call('HMGET', TICKET, 'state', 'digest.' .. STEP, 'failure_step', 'last_write')
local state, recorded = t[1], t[2]
if passed(t[4]) then
  return answer(GONE)
end
if recorded == DIGEST then
  return answer(REPLAYED, redis.call('HGETALL', TICKET), t[4] == WRITE and came(TOKEN, 'step') or '')
end
if recorded and not within(ANEW, state) then
  refuse('STEP_CONFLICT')
  return answer(CONFLICT, redis.call('HGETALL', TICKET))
end
if not within(FROM, state) then
  refuse('ILLEGAL_TRANSITION')
  return answer(ILLEGAL, redis.call('HGETALL', TICKET))
end
redis.call('HSET', TICKET, 'state', TO, 'steps.' .. STEP, RECORD, 'digest.' .. STEP, DIGEST, 'last_write', WRITE)
if SUMMARY ~= '' then
  redis.call('HSET', TICKET, 'summary', SUMMARY)
end
if HIGH_RISK ~= '' then
  redis.call('HSET', TICKET, 'high_risk', HIGH_RISK)
end
if t[3] == STEP then
  redis.call('HDEL', TICKET, 'failure', 'failure_step', 'failure_count')
end
brief('steps.' .. STEP, BRIEF)
event(TICKET, LOG, 'step', state, TO, 'step', STEP, 'token', TOKEN, 'host', HOST, 'agent', AGENT, 'data', RECORD)
touch(TO)
return answer(OK, redis.call('HGETALL', TICKET), state)
