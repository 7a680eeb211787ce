// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/store"
)

// AuditMarks reads what the daemon of a configuration kept; nothing when it kept none. An empty path is the default configuration.
func AuditMarks(path string) ([]audit.Mark, error) {
	c, err := LoadConfigStaleCredentials(path)
	if err != nil {
		c = DefaultConfig()
	}
	return audit.Marks(c.StateDir)
}

// CanonicalAsset is an asset as it stands in records. Its error is an engine.ErrInvalidAsset.
func CanonicalAsset(asset string) (string, error) {
	a, err := store.ParseAsset(asset)
	return string(a), err
}
