// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package process

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestBoottimeGoesOn(t *testing.T) {
	t.Parallel()
	a := Boottime()
	time.Sleep(time.Millisecond)
	b := Boottime()
	up, err := os.ReadFile("/proc/uptime") // which counts on the same clock
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := strconv.ParseFloat(strings.Fields(string(up))[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	if b-a < time.Millisecond || time.Duration(seconds*float64(time.Second))-a > time.Minute || a.Seconds() > seconds+1 {
		t.Errorf("%s, then %s, with an uptime of %g s", a, b, seconds)
	}
}
