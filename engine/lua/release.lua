-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- release: the claim ends, the ticket stays as it is, but that NOTIFIED becomes FINISHED. Needs no newest grant: it frees the
-- caller's lock and no other.
-- ARGV  12 the event, released or lost  13 reason
-- Reply {OK, from, to} (a replay too); both are '' if nothing was written to the ticket

free()
local t = redis.call('HMGET', TICKET, 'state', 'ended')
local state = t[1]
if state and t[2] == NONCE then
  return {OK, came(TOKEN, ARGV[12]), state}
elseif not state or not newest() then
  return {OK, '', ''}
end
local from = state
redis.call('HSET', TICKET, 'ended', NONCE)
event(TICKET, LOG, ARGV[12], state, state, 'token', TOKEN, 'host', HOST, 'agent', AGENT, 'reason', ARGV[13])
if state == 'NOTIFIED' then
  state = 'FINISHED'
  redis.call('HSET', TICKET, 'state', state)
  event(TICKET, LOG, 'finished', 'NOTIFIED', state, 'token', TOKEN, 'host', HOST, 'agent', AGENT)
end
touch(state)
return {OK, from, state}
