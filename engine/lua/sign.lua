-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- sign: a daemon's sign of life. Stands alone.
-- KEYS  1 host:ID   ARGV  1 this run's nonce  2 label  3 life, ms  4 '1' if this run has signed before
-- Reply 0 the sign had run out, or is the first  1 it was there  2 another process signs with this identity: a cloned outbox

local instance = redis.call('HGET', KEYS[1], 'instance')
if instance and instance ~= ARGV[1] and ARGV[4] == '1' then
  return 2
end
redis.call('HSET', KEYS[1], 'instance', ARGV[1], 'label', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return instance == ARGV[1] and 1 or 0
