// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package redistest

import (
	"testing"
)

func TestStart(t *testing.T) {
	t.Parallel()
	s := Start(t)
	c := s.Client()
	if err := c.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	o := s.Options()
	o.Network, o.Addr = "tcp", s.Addr()
	s.Restart()
	if n, err := c.Exists(t.Context(), "k").Result(); err != nil || n != 0 {
		t.Fatalf("after a restart: %d, %v", n, err)
	}
}
