-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- attempt: may this daemon send this intent on this channel now? If so the attempt is taken, for as long as its lease. (G10)
-- MINE is this run of the daemon, LEASE in ms, ONCE '1' if at_most_once for this daemon; if it was when the content was frozen, it is.
-- HAD is how many attempts the channel has had, as this daemon knows.
-- Reply {GO} (a replay too)  {BUSY, ms} another attempt's lease is alive, or another intent tells what Redis lost  {DONE, status}
--       settled  {DONE, status, to} now, by a receipt of this run  {SUPERSEDED}  {LOST} the ticket is gone or does not know the
--       intent, nor has it another for this run: Redis lost data  {PARK, to} unknown, and at_most_once: parked
--       {MOVED, attempts} the channel has had so many: to be asked anew, unless it is a copy that comes late

local MINE, LEASE, ONCE, HAD = unpack(ARGV, 16)
local BUSY_ELSEWHERE = 5000 -- ms until it is asked again
local t = redis.call('HMGET', TICKET, 'state', 'intent', 'intents', field('delivery'), field('attempt'), field('lease'),
  field('attempt_process'), 'token', field('receipt'), field('once'), field('attempts'), 'run', 'updated_at', field('receipt_before'))
local state, status = t[1], t[4]
local settled = status == 'sent' or status == 'dead' or status == 'discarded' or status == 'parked'
-- One of this run is among those of earlier ones when it came while the ticket had fallen back to an earlier run.
local received = string.find(' ' .. (t[9] or '') .. ' ' .. (t[14] or ''), ' ' .. RUN .. '/', 1, true)
-- How long it is to be waited for: no longer than a lease, as NOW may have been set back, and may be put right.
local left = math.min(math.max((tonumber(t[6]) or 0) - tonumber(NOW), 0), tonumber(LEASE))
if t[2] ~= INTENT then
  if names(t[3], INTENT) or tonumber(t[12] or 0) > tonumber(RUN) then
    return answer(SUPERSEDED)
  elseif t[12] == RUN and (settled or received) then
    return answer(DONE, settled and status or 'sent')
  elseif t[12] == RUN and status then -- another intent tells people the same, under the same key
    return answer(BUSY, math.max(left, BUSY_ELSEWHERE))
  end
  return answer(LOST)
end
if settled then
  return answer(DONE, status)
end
if state ~= NOTIFYING then
  return answer(SUPERSEDED)
end
if received then
  redis.call('HSET', TICKET, field('delivery'), 'sent')
  redis.call('HDEL', TICKET, field('lease'), field('attempt'), field('attempt_process'))
  event(TICKET, LOG, 'settled', state, state, t[8], CHANNEL, 'sent: it has a receipt')
  local to = end_notifying()
  touch(to, state, t[13])
  return answer(DONE, 'sent', to)
end
local once = ONCE == '1' or t[10] == '1'
local replay = status == 'sending' and t[5] == ATTEMPT and t[7] == MINE
if not replay and status == 'sending' and left > 0 then
  -- A lease of one's own that one knows nothing of, from an earlier run, is as good as none; but where a second send is not
  -- allowed it is an attempt whose outcome nobody knows, and must run out. What this very run has in flight, for an intent that
  -- a retry replaced, is an attempt like another's.
  local forgotten = string.sub(t[5], 1, #DAEMON + 1) == DAEMON .. '/' and t[7] ~= MINE
  if once or not forgotten then
    return answer(BUSY, left)
  end
end
if not replay and (tonumber(t[11]) or 0) ~= tonumber(HAD) then
  return answer(MOVED, tonumber(t[11]) or 0)
end
if once and not replay and status ~= 'pending' then
  local said = redis.call('HGET', TICKET, field('error')) or '' -- for the person who decides
  redis.call('HSET', TICKET, field('delivery'), 'parked', field('error'),
    'what became of the last attempt is unknown' .. (said ~= '' and '; the last answer was: ' .. said or ''))
  event(TICKET, LOG, 'settled', state, state, t[8], CHANNEL, 'parked')
  local to = end_notifying()
  touch(to, state, t[13])
  return answer(PARK, to)
end
redis.call('HSET', TICKET, field('delivery'), 'sending', field('attempt'), ATTEMPT, field('attempt_process'), MINE,
  field('lease'), string.format('%.0f', tonumber(NOW) + tonumber(LEASE)), field('at'), NOW, field('host'), HOST)
if not replay then
  redis.call('HINCRBY', TICKET, field('attempts'), 1)
  event(TICKET, LOG, 'attempt', state, state, t[8], CHANNEL, '')
  touch(state, state, t[13])
end
return answer(GO)
