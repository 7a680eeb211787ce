-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- store: the incarnation of this master's data, made once. Stands alone.
-- KEYS  1 store:N   ARGV  1 what it is if there is none   Reply what it is

redis.call('SET', KEYS[1], ARGV[1], 'NX')
return redis.call('GET', KEYS[1])
