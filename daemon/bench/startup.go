// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

const (
	readyIntents = 100_000
	stagers      = 2000 // at once, so that they share their fsyncs
	starts       = 5
	roomForAll   = 1024 // MiB
	startMost    = time.Second
)

// fullOutbox is P7: the first answer of a daemon whose outbox holds what waits for a channel that was long away, and which sends
// it from then on.
func (h *host) fullOutbox(ctx context.Context) []row {
	r := newReceiver(nil)
	defer r.server.Close()
	const name = "full"
	path := filepath.Join(h.dir, name, "outbox.db")
	fill(path)
	p := h.newPassed(name, fmt.Sprintf("[outbox]\nmax_size_mib = %d\n%s", roomForAll, r.channel()))
	var took, opened, checked []time.Duration
	for range starts {
		check(timed(&opened, 1, func() error {
			return must(bbolt.Open(path, 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType})).Close()
		}))
		check(timed(&checked, 1, func() error { return openOutbox(path).Close() }))
		took = append(took, p.firstAnswer(ctx))
	}
	picket, floor := median(took), median(opened)
	return []row{{
		"P7", fmt.Sprintf("start with %d ready intents → first answer; floor: bbolt opens the file", readyIntents),
		milliseconds(picket), milliseconds(floor), times(picket.Seconds() / floor.Seconds()), "< 1 s", picket < startMost,
	}, {figure: "of which: the outbox opened, and all its keys read", picket: milliseconds(median(checked))}}
}

// fill makes an outbox of intents that may be sent.
func fill(path string) {
	check(os.Mkdir(filepath.Dir(path), 0o700))
	box := openOutbox(path)
	defer box.Close()
	content := must(json.Marshal(notification))
	work := make([]func() error, stagers)
	for i := range work {
		work[i] = func() error {
			for range readyIntents / stagers {
				if err := makeReady(box, newAsset(), content); err != nil {
					return err
				}
			}
			return nil
		}
	}
	check(together(work))
}

func makeReady(box *outbox.Store, asset string, content []byte) error {
	in := outbox.Intent{
		Ref: outbox.Ref{Ticket: asset + "/" + task, ID: "intent-of-" + asset}, Asset: asset, Task: task, Run: 1, Key: asset + "/" + task,
		At: time.Now(), Severity: notification.Severity, Content: content, Token: time.Now().UnixMilli(), Nonce: "nonce", Agent: "1/0",
		Channels: map[string]outbox.Delivery{"ops": {Type: "webhook", Body: content}},
	}
	if err := box.Stage(in); err != nil {
		return err
	}
	return box.Commit(in.Ref)
}

func openOutbox(path string) *outbox.Store {
	return must(outbox.Open(path, outbox.Options{MaxSize: roomForAll << 20}))
}

// firstAnswer starts a daemon, asks it at once how it is, and kills it when it has said so.
func (p *passed) firstAnswer(ctx context.Context) time.Duration {
	c := client.New(p.path)
	defer c.CloseIdleConnections()
	begun := time.Now()
	cmd := p.start(ctx)
	status, err := c.Status(ctx)
	took := time.Since(begun)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	check(err)
	if status.Outbox.Ready < readyIntents*9/10 {
		check(fmt.Errorf("cannot go on: the outbox has %d ready intents", status.Outbox.Ready))
	}
	return took
}
