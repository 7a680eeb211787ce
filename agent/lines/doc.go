// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package lines writes what a run says, to a terminal, a file or the journal, without holding its work: whoever does not read
// loses lines of the log, which are counted, and no results.
package lines
