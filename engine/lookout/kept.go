// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lookout

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

// The files that keep for the daemon's next start what it shall compare Redis with: on the same host that restarts with it.
const (
	storesFile = "stores.json"
	writesFile = "writes.json"
)

// recall reads such a file into a map by key, without keys that begin otherwise: those of another prefix, before. Without it less is
// seen, which is all that a damaged file does.
func recall[T any](folder, file, begin string, into map[string]T) error {
	if folder == "" {
		return nil
	}
	kept := map[string]T{} // of which a damaged file may fill some
	b, err := os.ReadFile(filepath.Join(folder, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(b, &kept)
	}
	if err != nil {
		return fmt.Errorf("cannot recall what Redis had: %s: %w", file, err)
	}
	maps.DeleteFunc(kept, func(key string, _ T) bool { return !strings.HasPrefix(key, begin) })
	maps.Copy(into, kept)
	return nil
}

// keep writes such a file, not fsynced: it is worth no more than an alarm.
func keep[T any](folder, file string, what map[string]T) error {
	if folder == "" {
		return nil
	}
	path := filepath.Join(folder, file)
	b, err := json.Marshal(what)
	if err == nil {
		err = os.WriteFile(path+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("cannot keep what Redis has: %w", err)
	}
	return nil
}
