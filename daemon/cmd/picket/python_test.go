// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"os"
	"os/exec"
	"testing"
)

func TestPythonClient(t *testing.T) {
	t.Parallel()
	h := startHosts(t, startWebhook(t).channel(), "scan-01")[0]
	cmd := exec.Command("python3", "-B", "-W", "error", "../../../packaging/python/test_picket.py")
	cmd.Env = append(os.Environ(), "PICKET_SOCKET="+h.socket)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
