// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

//go:build !race

package daemon

const raced = false
