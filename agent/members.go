// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"iter"
	"maps"
	"slices"

	"github.com/picketd/picket/agent/assets"
	"github.com/picketd/picket/sockapi/client"
)

// member is an asset of a report.
type member struct {
	name string
	gone bool // it is in a list of the report before, and in none of this one
}

// errNames says that what is kept of a list is not the list.
var errNames = errors.New("the names of a list are not kept any more, or not all of them")

// members are the assets of all lists of a report, each once, with those that only the report before had. They come in the order that all
// lists have, so that none of them is held as a whole. Of a list that is not kept whole, Lost counts what is missing.
func (f *Feed) members(ctx context.Context) iter.Seq2[member, error] {
	return func(yield func(member, error) bool) {
		var heads []*listHead
		defer func() {
			for _, h := range heads {
				h.stop()
			}
		}()
		open := func(lists map[string]int, before bool) {
			for _, digest := range slices.Sorted(maps.Keys(lists)) {
				h := &listHead{total: lists[digest], before: before}
				h.pull, h.stop = iter.Pull2(f.names(ctx, digest, h.total))
				heads = append(heads, h)
			}
		}
		open(f.Lists, false)
		open(f.Before, true)
		for _, h := range heads {
			if err := f.advance(h); err != nil {
				yield(member{}, err)
				return
			}
		}
		for {
			var first *listHead
			for _, h := range heads {
				if !h.ended && (first == nil || assets.Compare(h.name, first.name) < 0) {
					first = h
				}
			}
			if first == nil {
				return
			}
			m := member{first.name, true}
			for _, h := range heads {
				if h.ended || h.name != m.name {
					continue
				}
				m.gone = m.gone && h.before
				if err := f.advance(h); err != nil {
					yield(member{}, err)
					return
				}
			}
			if !yield(m, nil) {
				return
			}
		}
	}
}

// listHead is where the reading of a list is.
type listHead struct {
	pull   func() (string, error, bool)
	stop   func()
	name   string // the next
	read   int    // how many were
	total  int
	before bool // it is of the report before
	ended  bool
}

// advance goes to the next name of a list. What is missing at the end of one of this report's lists is counted.
func (f *Feed) advance(h *listHead) error {
	name, err, ok := h.pull()
	switch {
	case errors.Is(err, errNames):
		if h.ended = true; !h.before {
			f.Lost += max(h.total-h.read, 1)
		}
		return nil
	case err != nil:
		return err
	}
	h.name, h.ended = name, !ok
	h.read++
	return nil
}

// names are those of a list, in its order. Where what is kept is not all of the list, they end with errNames.
func (f *Feed) names(ctx context.Context, digest string, total int) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if f.Own != nil && f.Own.Len() == total && f.Own.Digest() == digest {
			for i := range f.Own.Len() {
				if !yield(f.Own.At(i).Name, nil) {
					return
				}
			}
			return
		}
		sum, last := sha256.New(), ""
		for part := 0; part*client.PartSize < total; part++ {
			var some []string
			err := f.Call(ctx, func(ctx context.Context) (err error) {
				some, err = f.Client.Part(ctx, digest, part)
				return err
			})
			if err == nil && len(some) != min(client.PartSize, total-part*client.PartSize) {
				err = errNames
			}
			if err != nil {
				yield("", err)
				return
			}
			for _, name := range some {
				if last != "" && assets.Compare(last, name) >= 0 {
					yield("", errNames)
					return
				}
				if last = name; !yield(name, nil) {
					return
				}
				sum.Write([]byte(name + "\n"))
			}
		}
		if hex.EncodeToString(sum.Sum(nil)) != digest {
			yield("", errNames)
		}
	}
}
