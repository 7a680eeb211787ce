// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

//go:build race

package daemon

// raced is set in a build with the race detector, which takes several times the memory.
const raced = true
