// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

// What the manual says beside what --help says.

const manualAbout = `Agents that scan machines claim an asset, record what they establish about it on its ticket, and have people told, through
the daemon of their host. What a process that lost its claim still writes is refused. The command does all of that from a
shell, and shows and mends what is there. Flags may stand before or behind arguments; what stands behind -- is another
command's.`

var manualExits = [][2]string{
	{"0", "Done, or already done."},
	{"1", "Failed: the ticket is FAILED, picket done says no, what was asked for is not there."},
	{"64, 65", "Wrong usage; bad input, or not allowed by the flow."},
	{"69", "The daemon or Redis cannot be reached."},
	{"75", "Held by another, or try later."},
	{"77, 78", "Not permitted; the configuration is wrong."},
	{"124", "The claim was lost, or a write was refused as stale."},
}

const manualDaemon = `One daemon serves the agents of a host on a Unix socket. It keeps locks and tickets in Redis, and what has to be sent in an
outbox on disk, which survives a crash. It starts without Redis too, and says on its socket that it has none.

Under systemd it is picketd.service, on the socket of picketd.socket. That socket stays open while the daemon is
restarted, and calls wait in it. Claims outlive a restart as long as their agents live and their locks have not run out.
The file of a secret is a path, or the name of a credential of the service.`

var manualDaemonSections = []struct {
	title string
	items [][2]string
}{
	{"SIGNALS", [][2]string{
		{"TERM, INT", "Stop: no new claims, calls and notifications in flight may end, no live lock is freed. A second one ends it at once."},
		{"HUP", "Read the configuration again, and log what a restart would change."},
	}},
	{"FILES", [][2]string{
		{"/etc/picket/picket.toml", "The configuration."},
		{"/etc/picket/credentials", "Secrets, for root alone. The service gets each file as the credential picket_NAME."},
		{defaultSocket, "Where agents connect: root and the group picket."},
		{"/var/lib/picket", "The outbox, and the claims of this boot."},
	}},
	{"EXIT STATUS", [][2]string{
		{"0", "Stopped."},
		{"1", "It could not start, or could not go on."},
		{"78", "The configuration is wrong."},
	}},
}
