-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- Stands before attempt and outcome, after common and settle.
-- DAEMON is the identity of the one that asks or tells, NUMBER that of the attempt, RUN that of the ticket.

local INTENT, CHANNEL, DAEMON, NUMBER, RUN = unpack(ARGV, 11, 15)
-- Whose attempt it is, and for which intent: those of a retry are numbered anew.
local ATTEMPT = DAEMON .. '/' .. NUMBER .. '/' .. INTENT
-- What a channel's receipt stands as on the ticket.
local RECEIPT = RUN .. '/' .. INTENT

local function field(name)
  return name .. '.' .. CHANNEL
end
