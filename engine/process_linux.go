// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

// Process is a process of this host whose end can be awaited: a pidfd, so that a pid used again is never mistaken for it.
type Process struct{}

// OpenProcess opens a process by pid. Errors: ErrNoProcess.
func OpenProcess(pid int) (*Process, error) { panic("contract") }

// PID is the process' id in this PID namespace.
func (p *Process) PID() int { panic("contract") }

// UID is the user to whom the process belonged when it was opened.
func (p *Process) UID() uint32 { panic("contract") }
