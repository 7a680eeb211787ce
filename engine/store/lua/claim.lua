-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- Stands before step, failure, notify and finish, after common.
-- NUMBER is that of the write: those of one claim grow.

local NUMBER = tonumber(ARGV[11])
local WRITE = NONCE .. '/' .. ARGV[11]

-- applied: is this a copy of a write that was applied, and whose answer was lost? It counts, whoever has the asset now. before are the
-- last writes of some claims before the newest one.
local function applied(last, before)
  return last == WRITE or names(before, WRITE)
end

-- passed: has this claim written something newer since? Then this is a copy of a call that has ended, and comes late.
local function passed(last)
  local number = last and string.sub(last, 1, #NONCE + 1) == NONCE .. '/' and tonumber(string.sub(last, #NONCE + 2))
  return number and number > NUMBER
end
