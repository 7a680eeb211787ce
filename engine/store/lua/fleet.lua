-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- fleet: reads which daemons there are. Stands alone: its keys are the fleet's.
-- Reply {now, {id, signed, …}, {id, signed, …}} Redis' clock in ms, those that sign or answer for something, and those that left

local SIGNS, LEFT = unpack(KEYS)

local t = redis.call('TIME')
return {
  string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000)),
  redis.call('ZRANGE', SIGNS, 0, -1, 'WITHSCORES'), redis.call('ZRANGE', LEFT, 0, -1, 'WITHSCORES'),
}
