-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- release: the claim ends, the ticket stays as it is, but that NOTIFIED becomes FINISHED. Needs no newest grant: it frees the
-- caller's lock and no other.
-- EVENT is released or lost.
-- Reply {OK, from, to, how the claim ended: EVENT, finished, or '' if not by its own end} (a replay too); from and to are '' if nothing was
-- written to the ticket

local EVENT, REASON = unpack(ARGV, 11)

free()
local t = redis.call('HMGET', TICKET, 'state', 'ended_claim', 'updated_at', 'revision', 'run', 'failure_step', 'high_risk', 'finish_claim')
local state = t[1]
if state and t[2] == NONCE then
  local from = came(TOKEN, EVENT)
  return answer(OK, from, state, t[8] == NONCE and 'finished' or from ~= '' and EVENT or '')
elseif not state or not newest() then
  return answer(OK, '', '', '')
end
local from = state
local revision = append(LOG, t[4], EVENT, state, state, TOKEN, '', REASON, HOST, AGENT)
redis.call('HSET', TICKET, 'ended_claim', NONCE, 'revision', revision, 'updated_at', NOW)
if state == NOTIFIED then
  state = FINISHED
  redis.call('HSET', TICKET, 'state', state)
  event(TICKET, LOG, 'finished', NOTIFIED, state, TOKEN, '', '')
else
  stands = {state, t[5], revision, NOW, t[6], t[7]}
end
touch(state, from, t[3])
return answer(OK, from, state, EVENT)
