// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"errors"
	"os/user"
	"strconv"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/notifier"
	"github.com/picketd/picket/sockapi/client"
)

// adminGID is the group whose members are admins. Without the group there is root alone; that a configured one is missing was an
// error of the configuration.
func (d *Daemon) adminGID() *uint32 {
	if d.config.AdminGroup == "" {
		return nil
	}
	g, err := user.LookupGroup(d.config.AdminGroup)
	if err != nil {
		return nil
	}
	n, err := strconv.ParseUint(g.Gid, 10, 32)
	if err != nil {
		return nil
	}
	gid := uint32(n)
	return &gid
}

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
