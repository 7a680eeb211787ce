// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/picketd/picket/agent/accept"
	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/agent/verdict"
)

// shelf has what some files say, as they are now: a run may last a night, and they are replaced meanwhile.
type shelf[T any] struct {
	what  string   // they are, for people
	paths []string // none is empty
	open  func() (T, error)
	log   *slog.Logger

	mu   sync.Mutex // guards what follows
	read T
	seen string    // the files that it was read from
	bad  string    // those that could not be read since
	last time.Time // when they could not
}

// tryAgain is how long files that could not be read are left alone, unless they change: a right that was missing may be there then.
const tryAgain = 10 * time.Second

// newShelf reads the files for the first time.
func newShelf[T any](what string, open func() (T, error), log *slog.Logger, paths ...string) (*shelf[T], error) {
	s := &shelf[T]{what: what, paths: slices.DeleteFunc(paths, func(path string) bool { return path == "" }), open: open, log: log}
	s.seen = s.look() // before they are read: what is replaced meanwhile is read again
	var err error
	s.read, err = open()
	return s, err
}

// current returns what the files say. When one has changed, they are read again; while that cannot be done, what was read before is
// kept, which was whole, and it is tried again.
func (s *shelf[T]) current() T {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.look()
	if now == s.seen || now == s.bad && time.Since(s.last) < tryAgain {
		return s.read
	}
	read, err := s.open()
	if err == nil {
		s.read, s.seen, s.bad = read, now, ""
		return read
	}
	if now != s.bad {
		s.log.Warn("cannot read "+s.what+" that has changed: the one before is used", "error", err)
	}
	s.bad, s.last = now, time.Now()
	return s.read
}

// look tells the files apart.
func (s *shelf[T]) look() string {
	text := ""
	for _, path := range s.paths {
		if info, err := os.Stat(path); err == nil {
			text += fmt.Sprintln(path, info.Size(), info.ModTime().UnixNano())
		} else {
			text += fmt.Sprintln(path, err)
		}
	}
	return text
}

// files is what the files say that a configuration names.
type files struct {
	intel    *shelf[catalogues]
	accepted *shelf[*accept.List]
}

// openFiles reads all files for the first time. Its error is a strict.Error with a line for each thing that is wrong.
func openFiles(c Config, log *slog.Logger) (*files, error) {
	i, a := c.Step.Intel, c.Step.Assess
	intel, err := newShelf("a catalogue", func() (catalogues, error) { return openCatalogues(i, time.Now(), log) }, log, i.KEV, i.EPSS)
	accepted, err2 := newShelf("a file of accepted risks", func() (*accept.List, error) { return accept.Open(a.Accepted, a.VEX) }, log,
		slices.Concat(a.Accepted, a.VEX)...)
	var wrong strict.Error
	for _, err := range []error{err, err2} {
		if bad, ok := errors.AsType[strict.Error](err); ok {
			wrong = append(wrong, bad...)
		} else if err != nil {
			return nil, err
		}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return &files{intel, accepted}, nil
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
	err := tooOld(path, date, c, now)
	if err == nil && now.Sub(date) > oldCatalogue {
		k.old = append(k.old, key)
		log.Warn("a catalogue of threat intelligence is old", "key", key, "file", path, "date", date.Format(time.DateOnly))
	}
	return err
}

// check refuses what has become older than max_age since it was read.
func (k catalogues) check(c IntelConfig, now time.Time) (err error) {
	if k.kev != nil {
		err = tooOld(c.KEV, k.kev.Date(), c, now)
	}
	if err == nil && k.epss != nil {
		err = tooOld(c.EPSS, k.epss.Date(), c, now)
	}
	return err
}

func tooOld(path string, date time.Time, c IntelConfig, now time.Time) error {
	if c.MaxAge > 0 && now.Sub(date) > time.Duration(c.MaxAge) {
		return fmt.Errorf("%s is of %s, which is older than max_age (%s): fetch a newer one", path, date.Format(time.DateOnly), c.MaxAge)
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
