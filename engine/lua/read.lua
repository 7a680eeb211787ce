-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- read: a ticket and who holds the asset, at one moment. Writes nothing.
-- Reply {OK, ticket, lock, ms left of it, {nonce, ticket, host, agent, at, forced, token} of the
--       newest grant}

return {OK, redis.call('HGETALL', TICKET), redis.call('GET', LOCK), redis.call('PTTL', LOCK),
  redis.call('HMGET', GRANT, 'nonce', 'ticket', 'host', 'agent', 'at', 'forced', 'token')}
