// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

// State is a state of a flow.
type State string

// Flow is the state machine that a ticket follows.
type Flow struct{}

// LookupFlow returns a flow by name, the built-in one for "", or ErrUnknownFlow.
func LookupFlow(name string) (*Flow, error) { panic("contract") }
