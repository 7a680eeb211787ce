// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"errors"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/notifier"
	"github.com/picketd/picket/sockapi/client"
)

// testChannel is for POST /v1/channels/{name}/test. Its error is engine.ErrUnknownChannel when there is no such channel.
func (d *Daemon) testChannel(ctx context.Context, name, severity string) (client.ChannelTest, error) {
	t, err := d.notifier.Test(ctx, name, severity)
	if errors.Is(err, notifier.ErrNoChannel) {
		return client.ChannelTest{}, delivery.ErrUnknownChannel
	}
	return client.ChannelTest{
		Channel: name, Type: t.Type, ID: t.ID, Status: string(t.Result.Status), Error: t.Result.Error,
		RetryAfterMS: t.Result.RetryAfter.Milliseconds(), TookMS: t.Took.Milliseconds(),
	}, err
}
