// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"os/user"
	"strconv"
)

// adminGID is the group whose members are admins. Without the group there is root alone; that a configured one is missing was an
// error of the configuration.
func (d *Daemon) adminGID() *uint32 {
	if d.config.AdminGroup == "" {
		return nil
	}
	g, err := user.LookupGroup(d.config.AdminGroup)
	if err != nil {
		return nil
	}
	n, err := strconv.ParseUint(g.Gid, 10, 32)
	if err != nil {
		return nil
	}
	gid := uint32(n)
	return &gid
}
