-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- failure: a step that did not succeed. A final one moves the ticket to FAILED.
-- RECORD is JSON without the count, FINAL '1' if it is, FROM the states in which it is allowed.
-- Reply {OK, ticket, from} (a replay too)  {STALE}  {ILLEGAL, ticket}  {GONE} a copy that comes late

local STEP, RECORD, FINAL, FROM, ERROR = unpack(ARGV, 12)

local t = redis.call('HMGET', TICKET, 'state', 'last_write', 'failure_step', 'failure_count', 'updated_at', 'write_before')
local state = t[1]
if applied(t[2], t[6]) then
  return answer(OK, redis.call('HGETALL', TICKET), came(TOKEN, 'failure', 'failed'))
end
if not newest() then
  refuse('STALE_TOKEN')
  return answer(STALE)
end
if passed(t[2]) then
  return answer(GONE)
end
if not within(FROM, state) then
  refuse('ILLEGAL_TRANSITION')
  return answer(ILLEGAL, redis.call('HGETALL', TICKET))
end
local count = t[3] == STEP and tonumber(t[4]) + 1 or 1
local to = FINAL == '1' and FAILED or state
redis.call('HSET', TICKET, 'state', to, 'last_write', WRITE, 'failure', RECORD, 'failure_step', STEP, 'failure_count', count)
event(TICKET, LOG, to == FAILED and 'failed' or 'failure', state, to, TOKEN, STEP, ERROR)
touch(to, state, t[5])
return answer(OK, redis.call('HGETALL', TICKET), state)
