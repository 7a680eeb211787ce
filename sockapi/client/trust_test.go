// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import (
	"testing"
	"time"
)

// TestKillIsDueTwoThirdsIntoTheMargin counts from TERM, and from the end of the trust when TERM comes too late.
func TestKillIsDueTwoThirdsIntoTheMargin(t *testing.T) {
	t.Parallel()
	trust := Claim{TrustedMS: 2000, MarginMS: 600}.TrustSince(time.Minute)
	if want := (Trust{Until: 62 * time.Second, Margin: 600 * time.Millisecond}); trust != want {
		t.Fatalf("the trust is %+v, want %+v", trust, want)
	}
	for now, want := range map[time.Duration]time.Duration{
		61 * time.Second: 61*time.Second + 400*time.Millisecond,
		62 * time.Second: 62*time.Second + 400*time.Millisecond,
		70 * time.Second: 62*time.Second + 400*time.Millisecond,
	} {
		if got := trust.KillAt(now); got != want {
			t.Errorf("TERM at %s: KILL at %s, want %s", now, got, want)
		}
	}
}

// TestLaterKeepsTheTrustThatLastsLonger: an answer that says less than the one before it takes nothing away, nor does no answer.
func TestLaterKeepsTheTrustThatLastsLonger(t *testing.T) {
	t.Parallel()
	short, long := Trust{time.Second, time.Millisecond}, Trust{time.Minute, time.Millisecond}
	if short.Later(long) != long || long.Later(short) != long || long.Later(Trust{}) != long {
		t.Error("the shorter trust was kept")
	}
}
