// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/agent/verdict"
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

// catalogues are the files of threat intelligence, indexed once.
type catalogues struct {
	kev  *findings.KEV
	epss *findings.EPSS
	old  []string // which of them are older than oldCatalogue
}

// oldCatalogue is the age from which a catalogue is warned about: CISA adds to its own several times a week, FIRST publishes
// scores daily.
const oldCatalogue = 7 * 24 * time.Hour

// openCatalogues reads what is configured. What is older than max_age is an ErrConfig.
func openCatalogues(c IntelConfig, now time.Time, log *slog.Logger) (catalogues, error) {
	var k catalogues
	var wrong strict.Error
	var err error
	if c.KEV != "" {
		if k.kev, err = findings.OpenKEV(c.KEV); err == nil {
			err = k.age("kev", c.KEV, k.kev.Date(), c, now, log)
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("step.intel.kev: %v", err))
		}
	}
	if c.EPSS != "" {
		if k.epss, err = findings.OpenEPSS(c.EPSS); err == nil {
			err = k.age("epss", c.EPSS, k.epss.Date(), c, now, log)
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("step.intel.epss: %v", err))
		}
	}
	if len(wrong) > 0 {
		return k, wrong
	}
	return k, nil
}

func (k *catalogues) age(key, path string, date time.Time, c IntelConfig, now time.Time, log *slog.Logger) error {
	age := now.Sub(date)
	if c.MaxAge > 0 && age > time.Duration(c.MaxAge) {
		return fmt.Errorf("%s is of %s, which is older than max_age (%s): fetch a newer one", path, date.Format(time.DateOnly), c.MaxAge)
	}
	if age > oldCatalogue {
		k.old = append(k.old, key)
		log.Warn("a catalogue of threat intelligence is old", "key", key, "file", path, "date", date.Format(time.DateOnly))
	}
	return nil
}

// ask looks a CVE up and notes in f what is known of it.
func (k catalogues) ask(f *verdict.IntelFacts, id string) (exploited bool, score float64) {
	if k.kev != nil && k.kev.Has(id) {
		exploited, f.KEV = true, true
		if !slices.Contains(f.KEVIDs, id) && len(f.KEVIDs) < 100 {
			f.KEVIDs = append(f.KEVIDs, id)
		}
	}
	if k.epss != nil {
		score, _ = k.epss.Score(id)
		if score > f.EPSS {
			f.EPSS, f.EPSSID = score, id
		}
	}
	return exploited, score
}
