-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- finish: the ticket becomes FINISHED and the claim ends, in one. In NOTIFYING the claim ends only.
-- ARGV  12 states from which the flow leads to FINISHED by finish  13 summary
-- Reply {OK, ticket, from} (a replay too)  {STALE}  {ILLEGAL, ticket}

local t = redis.call('HMGET', TICKET, 'state', 'finished')
local state = t[1]
if t[2] == NONCE then
  return {OK, redis.call('HGETALL', TICKET), came(TOKEN, 'finished', 'released')}
end
if not newest() then
  refuse('STALE_TOKEN')
  return {STALE}
end
if state ~= 'FINISHED' and not within(ARGV[12], state) then
  refuse('ILLEGAL_TRANSITION')
  return {ILLEGAL, redis.call('HGETALL', TICKET)}
end
local to = state == 'NOTIFYING' and state or 'FINISHED'
redis.call('HSET', TICKET, 'state', to, 'ended', NONCE, 'finished', NONCE)
if ARGV[13] ~= '' then
  redis.call('HSET', TICKET, 'summary', ARGV[13])
end
event(TICKET, LOG, to ~= state and 'finished' or 'released', state, to, 'token', TOKEN, 'host', HOST, 'agent', AGENT)
touch(to)
free()
return {OK, redis.call('HGETALL', TICKET), state}
