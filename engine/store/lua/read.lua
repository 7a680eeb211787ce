-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- read: a ticket and who holds the asset, at one moment. Writes nothing.
-- LIMIT is how many bytes of facts and bodies are wanted; '': all.
-- Reply {OK, ticket, lock, ms left of it, {nonce, ticket, host, agent, at, forced, token} of the newest grant, bytes,
--       {field, event, …} of each record}
--       {BIG, some fields of the ticket, …, bytes} there are more

local LIMIT = ARGV[11]

local t = redis.call('HMGET', TICKET, 'state', 'bytes')
local size, code, fields, records = LIMIT ~= '' and tonumber(t[2] or 0) or 0, OK, {}, {}
if size > (tonumber(LIMIT) or size) then
  code = BIG
  local some = {'state', 'flow', 'run', 'intent', 'owner', 'record.notification'}
  for i, value in ipairs(redis.call('HMGET', TICKET, unpack(some))) do
    if value then
      fields[#fields + 1] = some[i]
      fields[#fields + 1] = value
    end
  end
elseif t[1] then
  fields = redis.call('HGETALL', TICKET)
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 7) == 'record.' then
      local place, length = string.match(fields[i + 1], '^(%d+) (%d+)')
      local last = place + (length == '0' and 0 or fields[i] == 'record.notification' and 2 or 1)
      records[#records + 1] = {fields[i], unpack(redis.call('LRANGE', LOG, place, last))}
    end
  end
end
local lock = redis.call('GET', LOCK)
return {code, fields, lock, lock and redis.call('PTTL', LOCK) or 0,
  redis.call('HMGET', GRANT, 'nonce', 'ticket', 'host', 'agent', 'at', 'forced', 'token'), size, records}
