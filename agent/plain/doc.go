// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package plain writes what people and logs are shown, so that nothing in it acts: texts of others, durations, JSON.
//
// It needs the standard library alone, so that every package may use it. What must show a hostile text rather than clean it has
// its own way: the command escapes it, the audit puts marks into it.
package plain
