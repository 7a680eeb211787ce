-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- failure: a step that did not succeed. A final one moves the ticket to FAILED.
-- ARGV  13 step  14 the record, JSON without the count  15 '1' if final  16 states in which it is allowed  17 the error
-- Reply {OK, ticket, from} (a replay too)  {STALE}  {ILLEGAL, ticket}  {GONE} a copy that comes late

if not newest() then
  refuse('STALE_TOKEN')
  return {STALE}
end
local step = ARGV[13]
local t = redis.call('HMGET', TICKET, 'state', 'write', 'failure_step', 'failure_count')
local state = t[1]
if passed(t[2]) then
  return {GONE}
elseif t[2] == WRITE then
  return {OK, redis.call('HGETALL', TICKET), came(TOKEN, 'failure', 'failed')}
end
if not within(ARGV[16], state) then
  refuse('ILLEGAL_TRANSITION')
  return {ILLEGAL, redis.call('HGETALL', TICKET)}
end
local count = t[3] == step and tonumber(t[4]) + 1 or 1
local to = ARGV[15] == '1' and 'FAILED' or state
redis.call('HSET', TICKET, 'state', to, 'write', WRITE, 'failure', ARGV[14], 'failure_step', step, 'failure_count', count)
event(TICKET, LOG, to == 'FAILED' and 'failed' or 'failure', state, to, 'step', step, 'token', TOKEN, 'host', HOST,
  'agent', AGENT, 'reason', ARGV[17])
touch(to)
return {OK, redis.call('HGETALL', TICKET), state}
