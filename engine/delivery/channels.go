// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Severities from the mildest to the worst.
var Severities = []string{"info", "low", "medium", "high", "critical"}

// ErrUnknownChannel is for a channel that there is not, or that is not in question.
var ErrUnknownChannel = errors.New("unknown channel")

// ChannelError says why a decision about a notification finds no channel, in words that are fit for anybody. It is an
// ErrUnknownChannel.
type ChannelError struct{ Why string }

func (e *ChannelError) Error() string        { return e.Why }
func (e *ChannelError) Is(target error) bool { return target == ErrUnknownChannel }

// Choose finds the channels that a request names, or those that match its severity and a flow. Errors: ErrUnknownChannel.
func (c *Courier) Choose(flow string, r Request) ([]Channel, error) {
	var chosen []Channel
	for _, ch := range c.config.Channels {
		named := slices.Contains(r.Channels, ch.Name)
		matches := slices.Index(Severities, r.Severity) >= slices.Index(Severities, ch.MinSeverity) &&
			(len(ch.Flows) == 0 || slices.Contains(ch.Flows, flow))
		if named || len(r.Channels) == 0 && matches {
			chosen = append(chosen, ch)
		}
	}
	for _, name := range r.Channels {
		if !slices.Contains(names(chosen), name) {
			return nil, fmt.Errorf("%w: the configured ones are: %s", ErrUnknownChannel, c.channelNames())
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("%w: none matches severity %s and flow %s; the configured ones are: %s", ErrUnknownChannel,
			r.Severity, flow, c.channelNames())
	}
	return chosen, nil
}

func (c *Courier) channelNames() string {
	if len(c.config.Channels) == 0 {
		return "none"
	}
	return strings.Join(names(c.config.Channels), ", ")
}

func names(channels []Channel) []string {
	all := []string{}
	for _, ch := range channels {
		all = append(all, ch.Name)
	}
	return all
}

// channel is the configured channel of that name and type, or nil.
func (c *Courier) channel(name, kind string) *Channel {
	i := slices.IndexFunc(c.config.Channels, func(ch Channel) bool { return ch.Name == name && ch.Type == kind })
	if i < 0 {
		return nil
	}
	return &c.config.Channels[i]
}

// Deliverable names channels with their types: who has the same can deliver the same.
func Deliverable(channels []Channel) string {
	list := make([]string, len(channels))
	for i, ch := range channels {
		list[i] = ch.Name + ":" + ch.Type
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}
