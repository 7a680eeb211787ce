-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- read: a ticket and who holds the asset, at one moment. Writes nothing.
-- MOST is how many bytes of facts and bodies are wanted; '': all.
-- Reply {OK, ticket, lock, ms left of it, {nonce, ticket, host, agent, at, forced, token} of the newest grant}
--       {BIG, some fields of the ticket, …, bytes} there are more

local MOST = ARGV[11]

local size = 0
if MOST ~= '' then
  for _, name in ipairs(redis.call('HKEYS', TICKET)) do
    local kind = string.sub(name, 1, 5)
    if kind == 'steps' or kind == 'body.' or name == 'notification' then
      size = size + redis.call('HSTRLEN', TICKET, name)
    end
  end
end
local code, fields = OK, nil
if size > (tonumber(MOST) or size) then
  code, fields = BIG, {}
  local names = {'state', 'flow', 'run', 'intent', 'owner', 'digest.notification'}
  for i, value in ipairs(redis.call('HMGET', TICKET, unpack(names))) do
    if value then
      fields[#fields + 1] = names[i]
      fields[#fields + 1] = value
    end
  end
else
  fields = redis.call('HGETALL', TICKET)
end
return {code, fields, redis.call('GET', LOCK), redis.call('PTTL', LOCK),
  redis.call('HMGET', GRANT, 'nonce', 'ticket', 'host', 'agent', 'at', 'forced', 'token'), size}
