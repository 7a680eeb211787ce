// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package assets reads lists of assets and knows the daemon's rules for them, as far as they can be told from the letters. What it
// takes for an asset the daemon may still refuse.
package assets
