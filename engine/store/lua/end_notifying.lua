-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- Stands before attempt, outcome and resolve, after common.

-- drop_bodies takes off the ticket what was sent. A hash that once had a long value keeps its large form; made anew it is small.
local function drop_bodies(channels)
  for name in string.gmatch(channels, '%S+') do
    redis.call('HDEL', TICKET, 'body.' .. name)
  end
  local all = redis.call('HGETALL', TICKET)
  redis.call('DEL', TICKET)
  redis.call('HSET', TICKET, unpack(all))
end

-- end_notifying ends NOTIFYING when every channel is sent, dead or discarded; parked waits for a person. from is FAILED when it ended so before,
-- and a person has decided about what was dead.
local function end_notifying(from)
  from = from or NOTIFYING
  local sent, dead, why = 0, 0, {}
  for name in string.gmatch(redis.call('HGET', TICKET, 'channels') or '', '%S+') do
    local status = redis.call('HGET', TICKET, 'delivery.' .. name)
    if status == 'sent' then
      sent = sent + 1
    elseif status == 'dead' then
      dead = dead + 1
      why[#why + 1] = name .. ': ' .. (redis.call('HGET', TICKET, 'error.' .. name) or '')
    elseif status ~= 'discarded' then
      return NOTIFYING
    end
  end
  local state = sent > 0 and dead == 0 and NOTIFIED or FAILED
  if state == from then
    return state
  end
  local token = redis.call('HGET', TICKET, 'token')
  redis.call('HSET', TICKET, 'state', state)
  event(TICKET, LOG, state == NOTIFIED and 'notified' or 'failed', from, state, token, '',
    state == FAILED and (dead > 0 and table.concat(why, '; ') or 'every channel was discarded') or '')
  if state == NOTIFIED then
    drop_bodies(redis.call('HGET', TICKET, 'channels'))
    if not open() then
      state = FINISHED
      redis.call('HSET', TICKET, 'state', state)
      event(TICKET, LOG, 'finished', NOTIFIED, state, token, '', '')
    end
  end
  return state
end
