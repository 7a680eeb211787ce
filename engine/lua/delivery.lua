-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- Stands before attempt and outcome, after common and settle.
-- ARGV  12 id of the intent  13 channel  14 identity of the daemon  15 number of the attempt  16 run of the ticket

local INTENT, CHANNEL, DAEMON, NUMBER, RUN = ARGV[12], ARGV[13], ARGV[14], ARGV[15], ARGV[16]
local GO, BUSY, DONE, SUPERSEDED, LOST, PARK, MOVED = 20, 21, 22, 23, 24, 25, 26
-- Whose attempt it is, and for which intent: those of a retry are numbered anew.
local ATTEMPT = DAEMON .. '/' .. NUMBER .. '/' .. INTENT
-- What a channel's receipt stands as on the ticket.
local RECEIPT = RUN .. '/' .. INTENT

local function field(name)
  return name .. '.' .. CHANNEL
end
