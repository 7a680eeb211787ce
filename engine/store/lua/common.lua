-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- Stands before every script, after the codes and the states that engine/store/script.go names. Each part, which blank lines part from
-- the others, only if the script names something that it defines: what is not needed costs time in every run.
--
-- KEEP is the life of a ticket that is not in NOTIFYING, in ms; HOLDER how the channels of daemons begin, ENC the asset, encoded;
-- REFUSAL what is recorded if this write is refused (JSON without facts), or ''.
--
-- All keys are of one asset, in one slot. Every reply is {code, …}; the Go function of the script's name decodes it. That of a script
-- which writes ends with stands, which stand.go decodes. JSON is bytes here: nothing looks into it. The first write of a script is one that Redis may refuse for want of memory; after it none is refused.

local LOCK, GRANT, TICKET, LOG, REFUSED, TICKETS = unpack(KEYS)

local TOKEN, NONCE, ID, TASK, HOST, AGENT, KEEP, HOLDER, ENC, REFUSAL = unpack(ARGV, 1, 10)

local CLOCK = redis.call('TIME')
local NOW = string.format('%s%03d', CLOCK[1], CLOCK[2] / 1000)

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

-- AT EVENT FROM TO TOKEN STEP HOST AGENT COUNT REASON, with tabs between: an event as it stands in the log. Only the reason can have tabs.
local EVENT = '^(%d+)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t(.*)$'

-- folded is an event in the place of the last one of its log, which it counts, or nil: the same failure again, and in a log that is
-- full whatever is endless after what is endless.
local function folded(log, revision, name, from, to, token, step, host, agent, reason)
  if not within(ENDLESS, name) or name ~= 'failure' and revision < MOST then
    return nil
  end
  local _, was, _, _, t, s, h, a, count, r = string.match(redis.call('LINDEX', log, -1) or '', EVENT)
  local same = was == name and t == token and s == step and h == host and a == agent and r == reason
  if same or was and revision >= MOST and within(ENDLESS, was) then
    count = string.format('%.0f', (tonumber(count) or 1) + 1)
    redis.call('LSET', log, -1, table.concat({NOW, name, from, to, token, step, host, agent, count, reason}, '\t'))
    return count
  end
end

-- add adds an accepted write to a ticket's log: the event, and after it the facts that it recorded, or the content and its facts. It
-- returns the ticket's revision, which is the number of its events, and where in the log the event stands. The caller puts that
-- revision and NOW on the ticket.
local function add(log, revision, name, from, to, token, step, reason, host, agent, ...)
  local event = table.concat({NOW, name, from, to, token, step, host, agent, '', reason}, '\t')
  local length = redis.call('RPUSH', log, event, ...)
  return string.format('%d', (revision or 0) + 1), length - 1 - select('#', ...)
end

-- append is add for a write that may be folded.
local function append(log, revision, name, from, to, token, step, reason, host, agent)
  if folded(log, tonumber(revision) or 0, name, from, to, token, step, host, agent, reason) then
    return revision
  end
  return add(log, revision, name, from, to, token, step, reason, host, agent)
end

-- event appends a write that records nothing else.
local function event(ticket, log, name, from, to, token, step, reason, host, agent)
  local revision = redis.call('HGET', ticket, 'revision')
  revision = append(log, revision, name, from, to, token, step, reason, host or HOST, agent or AGENT)
  redis.call('HSET', ticket, 'revision', revision, 'updated_at', NOW)
end

-- came is from where the caller's own last write of these names led, for one that is run again because its answer was lost.
local function came(token, name, other)
  local last = redis.call('LRANGE', LOG, -30, -1)
  for i = #last, 1, -1 do
    local _, was, from, _, t = string.match(last[i], EVENT)
    if was and t == token and (was == name or was == other) then
      return from
    end
  end
  return ''
end

-- What is written again within the same slice of KEEP keeps the life that it has, so that is a slice longer than KEEP.
local SLICE = math.ceil(KEEP / 64)

-- live gives keys of a ticket their life: for ever in NOTIFYING.
local function live(state, ...)
  for _, key in ipairs({...}) do
    if state == NOTIFYING then
      redis.call('PERSIST', key)
    else
      redis.call('PEXPIRE', key, KEEP + SLICE)
    end
  end
end

-- lasts reports whether the keys of a ticket have the life that its state demands.
local function lasts(from, to, updated)
  return updated and math.floor(updated / SLICE) == math.floor(NOW / SLICE) and (from == to or to ~= NOTIFYING and from ~= NOTIFYING)
end

-- touch ends every write on the caller's ticket. from and updated are its state and updated_at before, if the caller knows them; from is
-- '' of one that is new.
local function touch(to, from, updated)
  redis.call('ZADD', TICKETS, NOW, TASK)
  if not lasts(from, to, updated) then
    if from == '' then -- it is new, and nothing was refused
      live(to, TICKET, LOG)
    else
      live(to, TICKET, LOG, REFUSED)
    end
    redis.call('PEXPIRE', TICKETS, KEEP + SLICE)
  end
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

-- stand is how a ticket stands now.
local function stand(ticket, task)
  return {task, redis.call('HMGET', ticket, 'state', 'run', 'revision', 'updated_at', 'failure_step', 'high_risk')}
end

-- beside are the stands of other tickets of the asset, if the script wrote some.
local beside = {}

-- changed are the fields of the ticket that a script writes, with their values: what an answer has that does not read all of the ticket,
-- which costs more than all else. Each value is a text; one that is empty is of a field that went.
local changed = {}
local function put(...)
  local more = {...}
  if #changed == 0 then
    changed = more
    return
  end
  for _, word in ipairs(more) do
    changed[#changed + 1] = word
  end
end

-- save writes what was put, once.
local function save()
  redis.call('HSET', TICKET, unpack(changed))
end

-- part is an answer with what changed: its caller has the rest, or reads it.
local function part(from)
  changed[#changed + 1] = 'partial'
  changed[#changed + 1] = '1'
  return {OK, changed, from, beside}
end

-- recover takes a failure off the ticket.
local function recover()
  redis.call('HDEL', TICKET, 'failure', 'failure_step', 'failure_count')
  for _, name in ipairs({'failure', 'failure_step', 'failure_count'}) do
    changed[#changed + 1] = name
    changed[#changed + 1] = ''
  end
end

-- stands is how the ticket stands, if the script knows that itself.
local stands

-- answer is the reply of a script that writes: what is given, and the stands of the tickets. One that has a ticket says how that stands.
local function answer(...)
  local reply = {...}
  if type(reply[2]) ~= 'table' then
    beside[#beside + 1] = stands and {TASK, stands} or stand(TICKET, TASK)
  end
  reply[#reply + 1] = beside
  return reply
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
-- its version here, where it lets us; ear_line.go listens there likewise.
local function unlock()
  redis.call('DEL', LOCK)
  local told = redis.REDIS_VERSION_NUM and redis.pcall('SPUBLISH', LOCK, '')
  if type(told) ~= 'number' then
    redis.pcall('PUBLISH', LOCK, '')
  end
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
