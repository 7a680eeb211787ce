-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- incarnation: that of this master's data, with the number of their layout, made once. Stands alone.
-- Reply {incarnation, layout}, which is '' where there is none: what a version before there were numbers made, a string.

local STORE = KEYS[1]
local FRESH, LAYOUT = unpack(ARGV)

if redis.call('TYPE', STORE).ok == 'string' then
  return {redis.call('GET', STORE), ''}
end
redis.call('HSETNX', STORE, 'incarnation', FRESH)
redis.call('HSETNX', STORE, 'layout', LAYOUT)
return redis.call('HMGET', STORE, 'incarnation', 'layout')
