// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"time"

	"github.com/picketd/picket/notifier/channel"
)

// gate is a configured channel, and what an attempt on it must pass.
type gate struct {
	*channel.Channel
	breaker breaker
	rates   rates
	line    line // before the rates
}

func newGate(ch *channel.Channel) *gate {
	g := &gate{Channel: ch}
	for _, r := range ch.Rates {
		g.rates = append(g.rates, &rate{Rate: r})
	}
	return g
}

// admit asks whether the channel may be used now; if not, wait is positive, and inLine tells that w's turn comes then. What is not
// used after all is given back with withdraw.
func (g *gate) admit(now time.Time, w waiting) (wait time.Duration, inLine bool) {
	if wait = g.breaker.admit(now); wait > 0 {
		return wait, false
	}
	if wait, inLine = g.line.admit(now, g.rates, w); wait > 0 {
		g.breaker.withdraw()
	}
	return wait, inLine
}

func (g *gate) withdraw() {
	g.breaker.withdraw()
	g.rates.withdraw()
}
