// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// shelf has the catalogues as they are now: a run may last a night, and they are fetched meanwhile.
type shelf struct {
	config IntelConfig
	log    *slog.Logger

	mu   sync.Mutex // guards what follows
	k    catalogues
	seen string // the files that k was read from, or that could not be read since
}

// openShelf reads the catalogues for the first time.
func openShelf(c IntelConfig, log *slog.Logger) (*shelf, error) {
	s := &shelf{config: c, log: log}
	s.seen = s.look() // before they are read: what is replaced meanwhile is read again
	var err error
	s.k, err = openCatalogues(c, time.Now(), log)
	return s, err
}

// current returns the catalogues. One whose file has changed is read again; while it cannot be, the one before is kept, which
// was whole.
func (s *shelf) current() catalogues {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.look()
	if now == s.seen {
		return s.k
	}
	s.seen = now
	if k, err := openCatalogues(s.config, time.Now(), s.log); err != nil {
		s.log.Warn("cannot read a catalogue that has changed: the one before is used", "error", err)
	} else {
		s.k = k
	}
	return s.k
}

// look tells the files apart.
func (s *shelf) look() string {
	text := ""
	for _, path := range []string{s.config.KEV, s.config.EPSS} {
		if info, err := os.Stat(path); path != "" && err == nil {
			text += fmt.Sprintln(path, info.Size(), info.ModTime().UnixNano())
		}
	}
	return text
}
