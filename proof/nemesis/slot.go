// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package nemesis

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/picketd/picket/proof/stage"
)

// move is a slot of a Cluster on its way from one master to another.
type move struct {
	from, to     *stage.Node
	fromID, toID any
	slot         any
}

// moveSlot moves a slot that has keys. For as long as the fault lasts half of them are there already.
func moveSlot(ctx context.Context, j job) error {
	give, taken := j.take(roles)
	if !taken {
		return nil
	}
	defer give()
	masters := j.masters(ctx)
	if len(masters) < 2 {
		return nil
	}
	a, b := j.Pick%uint64(len(masters)), j.Pick/7%uint64(len(masters)-1)
	m := move{from: masters[a], to: append(masters[:a:a], masters[a+1:]...)[b]}
	if err := m.choose(ctx); err != nil {
		return nil //nolint:nilerr // it has no key, or is away
	}
	return j.strike(ctx, blow{
		target: m.from.Name, detail: fmt.Sprint("slot ", m.slot, " to ", m.to.Name),
		begin: m.begin,
		end:   m.finish,
	})
}

func (m *move) choose(ctx context.Context) (err error) {
	key, err := m.from.Do(ctx, "RANDOMKEY")
	if err != nil || key == nil {
		return errors.Join(err, errors.New("there is no key"))
	}
	var failed [3]error
	m.slot, failed[0] = m.from.Do(ctx, "CLUSTER", "KEYSLOT", key)
	m.fromID, failed[1] = m.from.Do(ctx, "CLUSTER", "MYID")
	m.toID, failed[2] = m.to.Do(ctx, "CLUSTER", "MYID")
	return errors.Join(failed[:]...)
}

func (m *move) begin(ctx context.Context) error {
	if _, err := m.to.Do(ctx, "CLUSTER", "SETSLOT", m.slot, "IMPORTING", m.fromID); err != nil {
		return err
	}
	if _, err := m.from.Do(ctx, "CLUSTER", "SETSLOT", m.slot, "MIGRATING", m.toID); err != nil {
		return err
	}
	keys, err := m.keys(ctx)
	if err != nil {
		return err
	}
	return m.migrate(ctx, keys[:len(keys)/2])
}

// finish moves what is left, and tells the two masters. The others hear of it from these.
func (m *move) finish(ctx context.Context) error {
	for {
		keys, err := m.keys(ctx)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			break
		}
		if err := m.migrate(ctx, keys); err != nil {
			return err
		}
	}
	for _, n := range []*stage.Node{m.to, m.from} {
		if _, err := n.Do(ctx, "CLUSTER", "SETSLOT", m.slot, "NODE", m.toID); err != nil {
			return err
		}
	}
	return nil
}

func (m *move) keys(ctx context.Context) ([]any, error) {
	reply, err := m.from.Do(ctx, "CLUSTER", "GETKEYSINSLOT", m.slot, 1000)
	keys, _ := reply.([]any)
	return keys, err
}

func (m *move) migrate(ctx context.Context, keys []any) error {
	if len(keys) == 0 {
		return nil
	}
	host, port, err := net.SplitHostPort(m.to.Addr)
	if err != nil {
		return err
	}
	_, err = m.from.Do(ctx, append([]any{"MIGRATE", host, port, "", 0, 2000, "REPLACE", "KEYS"}, keys...)...)
	return err
}
