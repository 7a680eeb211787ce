// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package process tells of processes as the Linux kernel does: pidfds, whose end can be awaited; /proc, for start times and namespaces;
// CLOCK_BOOTTIME and the id of this boot. It is a leaf: the engine watches agents with it, and sockapi learns who is at a socket.
package process
