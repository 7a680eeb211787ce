// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"io"
)

// RunEmbeddedRedis serves an in-memory Redis on addr (host:port or unix:///path) behind password until ctx is done. It keeps
// nothing. It is meant for a process of its own, so that a frozen daemon does not freeze it.
func RunEmbeddedRedis(ctx context.Context, addr, password string) error { panic("contract") }

// Dev is where a daemon for trying things out keeps its files, in a folder of its own that only this user can enter.
type Dev struct {
	Dir           string // of everything below; remove it at the end
	Config        Config // socket in Dir, state in Dir, Redis at RedisAddr, a channel "terminal" of type log
	RedisAddr     string // unix:///path, for RunEmbeddedRedis
	RedisPassword string // for RunEmbeddedRedis; never on a command line
}

// NewDev makes the folder, under $XDG_RUNTIME_DIR or else the folder for temporary files, and a configuration for it.
func NewDev() (Dev, error) { panic("contract") }

// PrintBanner says what this daemon is and that it keeps nothing, with three lines to try.
func (d Dev) PrintBanner(w io.Writer) { panic("contract") }
