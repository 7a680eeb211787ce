// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import "context"

// HearReleases hands over each asset whose release is published, until the context ends. It is a hint: what is published while nobody
// is connected is not heard.
func (s *Store) HearReleases(ctx context.Context, each func(Asset)) {
	sub := s.c.Redis.Subscribe(ctx, s.Keys.released())
	defer sub.Close()
	messages := sub.Channel()
	for {
		select {
		case m, ok := <-messages:
			if !ok {
				return
			}
			if a, err := DecodeEnc(m.Payload); err == nil {
				each(a)
			}
		case <-ctx.Done():
			return
		}
	}
}
