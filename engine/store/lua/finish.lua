-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- finish: the ticket becomes FINISHED and the claim ends, in one. In NOTIFYING the claim ends only.
-- FROM are the states from which the flow leads to FINISHED by finish.
-- Reply {OK, part of the ticket, from} (a replay has all of it)  {STALE}  {ILLEGAL, ticket}  {GONE} a copy that comes late

local FROM, SUMMARY = unpack(ARGV, 12)

local t = redis.call('HMGET', TICKET, 'state', 'finish_claim', 'last_write', 'updated_at', 'revision')
local state = t[1]
if t[2] == NONCE then
  return answer(OK, redis.call('HGETALL', TICKET), came(TOKEN, 'finished', 'released'))
end
if not newest() then
  refuse('STALE_TOKEN')
  return answer(STALE)
end
if passed(t[3]) then
  return answer(GONE)
end
if state ~= FINISHED and not within(FROM, state) then
  refuse('ILLEGAL_TRANSITION')
  return answer(ILLEGAL, redis.call('HGETALL', TICKET))
end
local to = state == NOTIFYING and state or FINISHED
local revision = append(LOG, t[5], to ~= state and 'finished' or 'released', state, to, TOKEN, '', '', HOST, AGENT)
put('state', to, 'revision', revision, 'updated_at', NOW, 'ended_claim', NONCE, 'finish_claim', NONCE)
if SUMMARY ~= '' then
  put('summary', SUMMARY)
end
save()
touch(to, state, t[4])
free()
return part(state)
