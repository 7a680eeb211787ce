// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package stage is the world in which the proof torments Picket: real daemons and real Redis servers, each in a network namespace of
// its own, on one machine.
package stage
