-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- step: a step's result, recorded once. (G2, G4, G5)
-- TO is the state that it leads to, DIGEST that of state and facts. FROM are the states from which the flow leads there by this step,
-- ANEW those of them from which a step recorded otherwise may be recorded anew. HIGH_RISK is '1' or '0' if the step says whether the risk
-- is high, else ''. FINISH is '1' if the claim ends with it where it leads to FINISHED. The last is FACTS, JSON, unless there are none.
-- Reply {OK, part of the ticket, from}  {REPLAYED, ticket, from, '' unless it is this very call that recorded it}  {STALE}
--       {CONFLICT, ticket}  {ILLEGAL, ticket}  {GONE} a copy that comes late

local STEP, TO, DIGEST, FROM, ANEW, SUMMARY, HIGH_RISK, FINISH = unpack(ARGV, 12)
local FACTS = ARGV[20]

local t = redis.call('HMGET', TICKET, 'state', 'record.' .. STEP, 'failure_step', 'last_write', 'revision', 'updated_at', 'bytes',
  'write_before')
local state, recorded = t[1], t[2]
if applied(t[4], t[8]) then
  return answer(REPLAYED, redis.call('HGETALL', TICKET), came(TOKEN, 'step'))
end
if not newest() then
  refuse('STALE_TOKEN')
  return answer(STALE)
end
if passed(t[4]) then
  return answer(GONE)
end
if recorded and string.match(recorded, '%S+$') == DIGEST then
  return answer(REPLAYED, redis.call('HGETALL', TICKET), '')
end
if recorded and not within(ANEW, state) then
  refuse('STEP_CONFLICT')
  return answer(CONFLICT, redis.call('HGETALL', TICKET))
end
if not within(FROM, state) then
  refuse('ILLEGAL_TRANSITION')
  return answer(ILLEGAL, redis.call('HGETALL', TICKET))
end
local size = FACTS and #FACTS or 0
local revision, place = add(LOG, t[5], 'step', state, TO, TOKEN, STEP, SUMMARY, HOST, AGENT, unpack(ARGV, 20))
put('state', TO, 'revision', revision, 'updated_at', NOW, 'last_write', WRITE, 'record.' .. STEP, place .. ' ' .. size .. ' ' .. DIGEST)
if size > 0 then
  put('bytes', string.format('%d', (t[7] or 0) + size))
end
if SUMMARY ~= '' then
  put('summary', SUMMARY)
end
if HIGH_RISK ~= '' then
  put('high_risk', HIGH_RISK)
end
local ends = FINISH == '1' and TO == FINISHED
if ends then
  put('ended_claim', NONCE, 'finish_claim', NONCE)
end
save()
if t[3] == STEP then
  recover()
end
touch(TO, state, t[6])
if ends then
  free()
end
return part(state)
