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
	return rulesOf(t, "redis.acl")
}

// LeastSentinelRules are those of packaging/sentinel.acl.
func LeastSentinelRules(t testing.TB) []string {
	t.Helper()
	return rulesOf(t, "sentinel.acl")
}

func rulesOf(t testing.TB, file string) []string {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	line, err := os.ReadFile(filepath.Join(filepath.Dir(here), "../../packaging", file))
	check(t, err, "cannot read the ACL")
	words := strings.Fields(string(line))
	if len(words) < 3 || words[0] != "user" || words[1] != LeastUser {
		t.Fatalf("packaging/%s does not begin with user %s", file, LeastUser)
	}
	return words[2:]
}

// Least are arguments for Start that make the user, beside the default one.
func Least(t testing.TB) []string {
	t.Helper()
	return append([]string{"--user", LeastUser, "on", ">" + LeastPassword}, LeastRules(t)...)
}
