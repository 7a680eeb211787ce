-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- outcome: what became of an attempt. A receipt is a fact and is recorded in whatever state the ticket is. It settles the channel,
-- also under an intent that a retry has replaced; of another run of the ticket it goes into the history only. It counts once: the
-- ticket has a list of them. Any other outcome counts only as that of this very attempt, or, if it settles the channel, where none is
-- under way: the ticket fell back. One that settles nothing is told only by the run of the daemon whose attempt it was.
-- AT is in ms of the host's clock; ERROR, when sent, is who did not get it all the same, or ''. FLOW and INITIAL are those of a
-- ticket that is made anew for a receipt. MINE is this run of the daemon.
-- Reply {OK, '1' if the ticket needs nothing more from this intent, else '0', 'applied', 'replayed', 'superseded' or 'lost' (the ticket
--       does not know the intent), from, to}

local STATUS, AT, ERROR, FLOW, INITIAL, MINE = unpack(ARGV, 16)

local t = redis.call('HMGET', TICKET, 'state', 'intent', 'intents', field('delivery'), field('attempt'), 'run', 'token',
  'record.notification', field('receipt'), field('lease'), field('receipt_before'), field('attempt_process'), 'updated_at')
local state, was, token = t[1], t[4], t[7] or '0'
local current = t[2] == INTENT
local known = names(t[3], INTENT)
local run = (t[6] or RUN) == RUN

local settles = STATUS == 'dead' or STATUS == 'parked' or STATUS == 'discarded'
-- Whose attempt it is does not depend on which intent the ticket has now.
local under = was == 'sending' and t[5] == ATTEMPT and (settles or t[12] == MINE)
local idle = was == 'pending' or was == 'unknown' or was == 'sending' and (tonumber(t[10]) or 0) <= tonumber(NOW)
  or STATUS == 'discarded' and (was == 'parked' or was == 'dead')

local function receipt(name, list, reason)
  redis.call('HSET', TICKET, field(name), listed(list, RECEIPT))
  event(TICKET, LOG, 'receipt', state, state, token, CHANNEL, reason)
end

local function deliver()
  redis.call('HSET', TICKET, field('delivery'), STATUS, field('at'), AT, field('host'), HOST, field('error'), ERROR)
end

if not current and STATUS == 'sent' and (names(t[9], RECEIPT) or names(t[11], RECEIPT)) then
  return answer(OK, '1', 'replayed', state, state)
end
if not current and not (known and run) then
  -- Of another run, or lost: a fact, if anything, that moves nothing.
  if STATUS ~= 'sent' then
    return answer(OK, '1', run and 'lost' or 'superseded', state or '', state or '')
  end
  if not run then
    receipt('receipt_before', t[11], 'of run ' .. RUN)
    touch(state, state, t[13])
    return answer(OK, '1', 'applied', state, state)
  end
  if not state then
    state = INITIAL
    redis.call('DEL', LOG, REFUSED)
    redis.call('HSET', TICKET, 'flow', FLOW, 'state', state, 'run', RUN,
      'created_at', NOW, 'token', '0')
  end
  if not t[8] then
    deliver()
  end
  receipt('receipt', t[9], 'of an intent that Redis had lost')
  touch(state)
  return answer(OK, '1', 'applied', state, state)
end
local from, how = state, was == STATUS and 'replayed' or 'superseded'

if STATUS == 'sent' then
  if was ~= 'sent' or not current then
    if was ~= 'sent' then
      deliver()
      redis.call('HDEL', TICKET, field('lease'), field('attempt'), field('attempt_process'))
    end
    receipt('receipt', t[9], current and ERROR or 'of an earlier intent')
    if state == NOTIFYING then
      state = end_notifying()
    end
    touch(state, from, t[13])
    how = 'applied'
  end
elseif state == NOTIFYING and (under or current and settles and idle) then
  deliver()
  redis.call('HDEL', TICKET, field('lease'))
  event(TICKET, LOG, settles and 'settled' or 'attempt', state, state, token, CHANNEL, STATUS .. ': ' .. ERROR)
  state = end_notifying()
  touch(state, from, t[13])
  how = 'applied'
end
return answer(OK, (not current or state ~= NOTIFYING) and '1' or '0', how, from, state)
