-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- Stands before every script, after the codes and the states that engine/store/script.go names.
--
-- KEEP is the life of a ticket that is not in NOTIFYING, in ms; HOLDER how the channels of daemons begin, ENC the asset, encoded;
-- REFUSAL what is recorded if this write is refused (JSON without facts), or ''.
--
-- All keys are of one asset, in one slot. Every reply is {code, …}; the Go function of the script's name decodes it. That of a script
-- which writes ends with stands, which stand.go decodes. JSON is bytes here: nothing looks into it. The first write of a script is one that Redis may refuse for want of memory; after it none is refused.

local LOCK, GRANT, TICKET, LOG, REFUSED, TICKETS = unpack(KEYS)
local TOKEN, NONCE, ID, TASK, HOST, AGENT, KEEP, HOLDER, ENC, REFUSAL = unpack(ARGV, 1, 10)

local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local NOW = string.format('%.0f', now())

-- newest: is the caller's (token, nonce) that of the asset's newest grant, and is that grant for this ticket? (G2)
local function newest()
  local g = redis.call('HMGET', GRANT, 'token', 'nonce', 'ticket')
  return g[1] and tonumber(g[1]) == tonumber(TOKEN) and g[2] == NONCE and g[3] == ID
end

local function within(set, state)
  return state and string.find(set, ',' .. state .. ',', 1, true) ~= nil
end

-- listed adds a word to a list of words, which may be missing.
local function listed(words, word)
  return (words and words .. ' ' or '') .. word
end

-- names: does a list of words have this one?
local function names(words, word)
  return words and string.find(' ' .. words .. ' ', ' ' .. word .. ' ', 1, true) ~= nil
end

local function terminal(state)
  return state == FINISHED or state == FAILED
end

-- What an agent can have written without end, and how many events a log has from which on that is only counted.
local ENDLESS, MOST = ',claimed,released,lost,failure,', 1000

local function pairs_of(list)
  local t = {}
  for i = 1, #list, 2 do
    t[list[i]] = list[i + 1]
  end
  return t
end

-- folded is the id and the count of an event that takes the place of the last one of its log, or nil: the same failure again, and in
-- a log that is full whatever is endless after what is endless.
local function folded(ticket, log, name, more)
  local full = tonumber(redis.call('HGET', ticket, 'revision') or 0) >= MOST
  if not full and name ~= 'failure' then
    return nil
  end
  local last = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
  local was = last and pairs_of(last[2])
  if not was or not (full and within(ENDLESS, was.event)) then
    if not was or was.event ~= name then
      return nil
    end
    for field, value in pairs(pairs_of(more)) do
      if was[field] ~= value then
        return nil
      end
    end
  end
  redis.call('XDEL', log, last[1])
  local seq, n = string.match(last[1], '^(%d+)-(%d+)$')
  return string.format('%s-%.0f', seq, n + 1), string.format('%.0f', (was.count or 1) + 1)
end

-- event appends an accepted write to the ticket's log; its number is the ticket's revision. One that is folded keeps the number of
-- the last, and counts it.
local function event(ticket, log, name, from, to, ...)
  local id, count
  if within(ENDLESS, name) then
    id, count = folded(ticket, log, name, {...})
  end
  redis.call('HSET', ticket, 'updated_at', NOW)
  if id then
    redis.call('XADD', log, id, 'at', NOW, 'event', name, 'from', from, 'to', to, 'count', count, ...)
    return
  end
  local seq = string.format('%.0f', redis.call('HINCRBY', ticket, 'revision', 1))
  redis.call('XADD', log, seq .. '-0', 'at', NOW, 'event', name, 'from', from, 'to', to, ...)
end

-- brief keeps a record without its facts beside it, for listings; '' when the record is short.
local function brief(name, record)
  if record ~= '' then
    redis.call('HSET', TICKET, 'brief.' .. name, record)
  else
    redis.call('HDEL', TICKET, 'brief.' .. name)
  end
end

-- came is from where the caller's own last write of these names led, for one that is run again because its answer was lost.
local function came(token, name, other)
  for _, entry in ipairs(redis.call('XREVRANGE', LOG, '+', '-', 'COUNT', 5)) do
    local e = pairs_of(entry[2])
    if e.token == token and (e.event == name or e.event == other) then
      return e.from
    end
  end
  return ''
end

-- live gives a ticket's keys their life: for ever in NOTIFYING.
local function live(ticket, log, refused, state)
  for _, key in ipairs({ticket, log, refused}) do
    if state == NOTIFYING then
      redis.call('PERSIST', key)
    else
      redis.call('PEXPIRE', key, KEEP)
    end
  end
end

-- touch ends every write on the caller's ticket.
local function touch(state)
  live(TICKET, LOG, REFUSED, state)
  redis.call('ZADD', TICKETS, NOW, TASK)
  redis.call('PEXPIRE', TICKETS, KEEP)
end

-- stand is how a ticket stands now.
local function stand(ticket, task)
  return {task, redis.call('HMGET', ticket, 'state', 'run', 'revision', 'updated_at', 'failure_step', 'high_risk')}
end

-- beside are the stands of other tickets of the asset, if the script wrote some.
local beside = {}

-- answer is the reply of a script that writes: what is given, and the stands of the tickets, the caller's first.
local function answer(...)
  local reply = {...}
  reply[#reply + 1] = {stand(TICKET, TASK), unpack(beside)}
  return reply
end

-- refuse records a refused write: 'COUNT MS REASON JSON', the newest last, repeats of the newest counted, 100 kept.
local function refuse(reason)
  if REFUSAL == '' or redis.call('EXISTS', TICKET) == 0 then
    return
  end
  local count, tail = 1, reason .. ' ' .. REFUSAL
  local last = redis.call('LINDEX', REFUSED, -1)
  if last then
    local n, rest = string.match(last, '^(%d+) %d+ (.*)$')
    if rest == tail then
      count = n + 1
    end
  end
  local entry = string.format('%.0f', count) .. ' ' .. NOW .. ' ' .. tail
  if count > 1 then
    redis.pcall('LSET', REFUSED, -1, entry)
  else
    redis.pcall('RPUSH', REFUSED, entry)
    redis.pcall('LTRIM', REFUSED, -100, -1)
    local life = redis.call('PTTL', TICKET)
    if life > 0 then
      redis.pcall('PEXPIRE', REFUSED, life)
    end
  end
end

-- open: does somebody have a claim on this ticket?
local function open()
  local g = redis.call('HMGET', GRANT, 'nonce', 'ticket')
  return g[1] and g[2] == ID and redis.call('GET', LOCK) == g[1]
end

-- next_token is above the last one, this daemon's highest (TOKEN) and Redis' clock: always the greatest of the three, not only
-- when the counter is missing, because a failover may bring an old counter back. (G3)
local function next_token(last)
  return string.format('%.0f', math.max(tonumber(last or 0) + 1, tonumber(NOW), tonumber(TOKEN) + 1))
end

-- nobody makes a grant that no claim holds, so that whoever held the asset is fenced off, and tells the daemon that made the last one.
local function nobody(last, life, ended)
  local token = next_token(last)
  local holder = redis.call('HGET', GRANT, 'host')
  redis.call('HSET', GRANT, 'token', token, 'nonce', NONCE, 'ticket', '', 'host', HOST, 'agent', AGENT, 'at', NOW,
    'forced', '1', 'broken_claim', ended)
  redis.call('PEXPIRE', GRANT, life)
  if holder then
    redis.pcall('PUBLISH', HOLDER .. holder, ENC)
  end
  return token
end

-- unlock deletes the lock and tells those who wait for it, on the channel of its name: in its shard from Redis 7 on, which alone names
-- its version here.
local function unlock()
  redis.call('DEL', LOCK)
  redis.pcall(redis.REDIS_VERSION_NUM and 'SPUBLISH' or 'PUBLISH', LOCK, '')
end

-- free ends the caller's claim: the lock goes if it is the caller's.
local function free()
  if redis.call('GET', LOCK) == NONCE then
    unlock()
  end
end

-- of is the keys of another task of the asset: its ticket, log and refused writes.
local function of(task)
  local function key(mine)
    return string.sub(mine, 1, #mine - #TASK) .. task
  end
  return key(TICKET), key(LOG), key(REFUSED)
end
