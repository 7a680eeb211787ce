-- SPDX-License-Identifier: Apache-2.0
-- Copyright The Picket Authors
--
-- refuse: a write that the daemon refused by itself, because the claim is lost, is recorded like one that Redis refused.
-- Reply {OK}

refuse(ARGV[11]) -- the code
return {OK}
