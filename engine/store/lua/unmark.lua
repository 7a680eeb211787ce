-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- unmark: a ticket of a task is being reopened, or was. No mark holds any more, and none that rests on what was read before. Stands alone.
-- KEYS as of chunk. FRESH is an epoch, WHILE for how long the ticket may be reopened at any moment, ms.
-- Reply {1}

local MARKS, REOPENING = unpack(KEYS)
local FRESH, WHILE = unpack(ARGV)

redis.call('SET', REOPENING, FRESH, 'PX', WHILE)
redis.call('DEL', MARKS)
return {1}
