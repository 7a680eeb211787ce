// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package verdict is what is known of an asset, and what is decided from it: the facts that the steps record, in the forms in which
// programs may write them, the evidence that they come to, the conditions over it, and why a ticket stands where it stands.
//
// Everything is read from a ticket, never from memory, so that whoever takes over decides the same. What cannot be read, or could
// be something graver that is not seen, is an error and never "nothing found".
package verdict
