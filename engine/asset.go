// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

// Asset is an asset's id in its canonical form.
type Asset string

// ParseAsset checks and canonicalises an asset id. Its error is an ErrInvalidAsset.
func ParseAsset(s string) (Asset, error) { panic("contract") }

// Enc is the asset percent-encoded to [A-Za-z0-9._-], as it stands in keys.
func (a Asset) Enc() string { panic("contract") }

// ParseTask checks a task id. Its error is an ErrInvalidTask.
func ParseTask(s string) (string, error) { panic("contract") }

// Key is the idempotency key of a ticket's run: ENC/TASK, from run 2 on ENC/TASK~RUN.
func (id TicketID) Key(run int64) string { panic("contract") }
