// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package strict reads a configuration in TOML, and forgives nothing: an unknown key, a key in another case, a value of
// another type, a duration without a unit is a problem with its key, its line and what would be right. All of them are told
// at once.
//
// The structs that it reads into have a toml tag on each field; those of an embedded struct stand beside the others.
package strict
