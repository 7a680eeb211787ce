// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package again says when something is to be tried again, and when it is to be said again.
package again
