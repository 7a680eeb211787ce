// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// storesFile keeps the incarnations for the daemon's next start: Redis on the same host restarts with it.
func (e *Engine) storesFile() string { return filepath.Join(e.StateDir, "stores.json") }

// recallStores takes up what the last run found. Without it a loss while no daemon ran is not seen, which is all that a damaged file
// does.
func (l *lookout) recallStores() error {
	if l.StateDir == "" {
		return nil
	}
	b, err := os.ReadFile(l.storesFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot recall which data Redis had: %w", err)
	}
	stores := map[string]string{}
	if err := json.Unmarshal(b, &stores); err != nil {
		return fmt.Errorf("cannot recall which data Redis had: %s: %w", l.storesFile(), err)
	}
	ours := strings.TrimSuffix(l.keys.store(0), "0")
	maps.DeleteFunc(stores, func(key, _ string) bool { return !strings.HasPrefix(key, ours) }) // of another prefix, before
	l.stores = stores
	return nil
}

// keepStores writes what was found, not fsynced: it is worth no more than an alarm.
func (l *lookout) keepStores() error {
	if l.StateDir == "" {
		return nil
	}
	b, err := json.Marshal(l.stores)
	if err != nil {
		return fmt.Errorf("cannot keep which data Redis has: %w", err)
	}
	draft := l.storesFile() + ".new"
	if err := os.WriteFile(draft, b, 0o600); err != nil {
		return fmt.Errorf("cannot keep which data Redis has: %w", err)
	}
	if err := os.Rename(draft, l.storesFile()); err != nil {
		return fmt.Errorf("cannot keep which data Redis has: %w", err)
	}
	return nil
}
