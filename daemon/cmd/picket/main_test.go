// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this test binary the command picket, too, for scripts and tests that need real processes.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"picket": main})
}
