// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import "time"

// Trust says for how long a claim can be relied upon. Its times are those of one clock of this host that goes on while the
// machine sleeps, such as CLOCK_BOOTTIME.
type Trust struct {
	Until  time.Duration // from then on nothing may be done under the claim
	Margin time.Duration // how much longer the lock stays, at least
}

// TrustSince returns a held claim's trust. It counts from when the call was sent that the claim answers, so that an answer which
// was held up does not prolong it.
func (c Claim) TrustSince(sent time.Duration) Trust {
	return Trust{
		Until:  sent + time.Duration(c.TrustedMS)*time.Millisecond,
		Margin: time.Duration(c.MarginMS) * time.Millisecond,
	}
}

// KillAt is when a process that works under the claim gets KILL, if it gets TERM now: after two thirds of the margin, so that it
// is gone before anybody else can hold the lock. TERM is due at Until, or as soon as the claim is known to be lost.
func (t Trust) KillAt(now time.Duration) time.Duration { return min(now, t.Until) + t.Margin*2/3 }

// Later returns the one of two trusts in the same claim that lasts longer.
func (t Trust) Later(o Trust) Trust {
	if o.Until > t.Until {
		return o
	}
	return t
}
