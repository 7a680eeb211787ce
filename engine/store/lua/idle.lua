-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- idle: a ticket that stands in NOTIFIED without a claim becomes FINISHED.
-- Reply {OK, '1' if it did}

if redis.call('HGET', TICKET, 'state') == NOTIFIED and not open() then
  redis.call('HSET', TICKET, 'state', FINISHED)
  event(TICKET, LOG, 'finished', NOTIFIED, FINISHED, redis.call('HGET', TICKET, 'token'), '', '')
  touch(FINISHED)
  return answer(OK, '1')
end
return answer(OK, '')
