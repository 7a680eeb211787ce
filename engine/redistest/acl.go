// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package redistest

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// LeastUser and LeastPassword log in as the user of packaging/redis.acl.
const (
	LeastUser     = "picket"
	LeastPassword = "p4ssword"
)

// LeastRules are the rules of the user in packaging/redis.acl, which has no password.
func LeastRules(t testing.TB) []string {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	line, err := os.ReadFile(filepath.Join(filepath.Dir(here), "../../packaging/redis.acl"))
	check(t, err, "cannot read the ACL")
	words := strings.Fields(string(line))
	if len(words) < 3 || words[0] != "user" || words[1] != LeastUser {
		t.Fatalf("packaging/redis.acl does not begin with user %s", LeastUser)
	}
	return words[2:]
}

// Least are arguments for Start that make the user, beside the default one.
func Least(t testing.TB) []string {
	t.Helper()
	return append([]string{"--user", LeastUser, "on", ">" + LeastPassword}, LeastRules(t)...)
}
