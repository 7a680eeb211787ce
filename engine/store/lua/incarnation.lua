-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- incarnation: that of this master's data, made once. Stands alone. Reply what it is.

local INCARNATION, FRESH = KEYS[1], ARGV[1]

redis.call('SET', INCARNATION, FRESH, 'NX')
return redis.call('GET', INCARNATION)
