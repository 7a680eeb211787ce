// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/picketd/picket/agent/assets"
)

const (
	maxAsset = 256 // bytes
	maxTask  = 128 // bytes
)

// Asset is an asset's id in its canonical form.
type Asset string

// ParseAsset checks and canonicalises an asset id, so that one machine has one lock however it is written. An IP address
// takes its shortest form, without brackets and without the IPv6 wrapping of an IPv4 address; a zone stays. A host-like name
// (labels of ASCII letters, digits and hyphens, with at least one dot) is lower-cased and loses a final dot. Anything else is
// taken as is. Beside control characters the two line separators of Unicode are refused, for they too break a line in two, and
// so are invisible characters, with which two machines' names look like one.
//
// Its error is an ErrInvalidAsset.
func ParseAsset(s string) (Asset, error) {
	if i := strings.IndexFunc(s, assets.IsInvisible); i >= 0 {
		r, _ := utf8.DecodeRuneInString(s[i:])
		return "", fmt.Errorf("%w: it must not have an invisible character, such as %U", ErrInvalidAsset, r)
	}
	return parseAsset(s)
}

// parseAsset is ParseAsset for what was recorded, maybe before invisible characters were refused.
func parseAsset(s string) (Asset, error) {
	if err := checkAsset(s); err != nil {
		return "", err
	}
	canonical := assets.Canonical(s)
	// A canonical address can be longer than what was written, or end in a space that stood before the bracket.
	if err := checkAsset(canonical); err != nil {
		return "", err
	}
	return Asset(canonical), nil
}

func checkAsset(s string) error {
	first, _ := utf8.DecodeRuneInString(s)
	last, _ := utf8.DecodeLastRuneInString(s)
	switch {
	case s == "" || len(s) > maxAsset:
		return fmt.Errorf("%w: it must have 1 to %d bytes", ErrInvalidAsset, maxAsset)
	case !utf8.ValidString(s):
		return fmt.Errorf("%w: it must be UTF-8", ErrInvalidAsset)
	case strings.ContainsFunc(s, assets.BreaksLine):
		return fmt.Errorf("%w: it must not have control characters or line separators", ErrInvalidAsset)
	case unicode.IsSpace(first) || unicode.IsSpace(last):
		return fmt.Errorf("%w: it must not begin or end with a space", ErrInvalidAsset)
	case s == "." || s == "..":
		return fmt.Errorf("%w: it must not be . or .., which a path cannot carry", ErrInvalidAsset)
	}
	return nil
}

// isPlain says whether a rune may stand in a task id, and as itself in a key.
func isPlain(r rune) bool { return assets.IsAlphanumeric(r) || r == '.' || r == '_' || r == '-' }

// IsReport reports whether an asset is a list's report.
func (a Asset) IsReport() bool { return strings.HasPrefix(string(a), assets.ReportPrefix) }

// ReportName is the name of the report that an asset is.
func (a Asset) ReportName() string { return strings.TrimPrefix(string(a), assets.ReportPrefix) }

// ReportAsset is the asset of the report of that name. Its error is an ErrInvalidAsset.
func ReportAsset(name string) (Asset, error) {
	if wrong := assets.CheckReport(name); wrong != "" {
		return "", fmt.Errorf("%w: a report's name %s", ErrInvalidAsset, wrong)
	}
	return Asset(assets.ReportPrefix + name), nil
}

// Enc is the asset percent-encoded to [A-Za-z0-9._-], as it stands in keys. Hexadecimal digits are upper-case.
func (a Asset) Enc() string {
	if !strings.ContainsFunc(string(a), func(r rune) bool { return !isPlain(r) }) {
		return string(a)
	}
	var b strings.Builder
	for _, c := range []byte(a) {
		if isPlain(rune(c)) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// DecodeEnc is the inverse of Enc. What Enc does not make of a canonical asset is an ErrInvalidAsset.
func DecodeEnc(enc string) (Asset, error) {
	s, err := url.PathUnescape(enc)
	if err != nil {
		return "", fmt.Errorf("%w: its percent-encoding must be complete", ErrInvalidAsset)
	}
	a, err := parseAsset(s)
	if err != nil {
		return "", err
	}
	if a.Enc() != enc {
		return "", fmt.Errorf("%w: it must be canonical, with all but A-Z a-z 0-9 . _ - percent-encoded in upper case",
			ErrInvalidAsset)
	}
	return a, nil
}

// ParseTask checks a task id. Its error is an ErrInvalidTask.
func ParseTask(s string) (string, error) {
	switch {
	case s == "" || len(s) > maxTask:
		return "", fmt.Errorf("%w: it must have 1 to %d bytes", ErrInvalidTask, maxTask)
	case strings.ContainsFunc(s, func(r rune) bool { return !isPlain(r) }):
		return "", fmt.Errorf("%w: it must consist of A-Z a-z 0-9 . _ -", ErrInvalidTask)
	case s == "." || s == "..":
		return "", fmt.Errorf("%w: it must not be . or .., which a path cannot carry", ErrInvalidTask)
	}
	return s, nil
}

// TicketID names a ticket.
type TicketID struct {
	Asset Asset
	Task  string
}

// ID is the ticket of an asset and a task.
func ID(a Asset, task string) TicketID { return TicketID{a, task} }

// String is the ticket's id, ASSET/TASK.
func (id TicketID) String() string { return string(id.Asset) + "/" + id.Task }

// ParseTicketID reads ASSET/TASK. An asset may have slashes, a task has none, so the last one parts them. Its error is an
// ErrInvalidAsset or an ErrInvalidTask.
func ParseTicketID(s string) (TicketID, error) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return TicketID{}, fmt.Errorf("%w: a ticket's id must be ASSET/TASK", ErrInvalidTask)
	}
	asset, err := parseAsset(s[:i])
	if err != nil {
		return TicketID{}, err
	}
	task, err := ParseTask(s[i+1:])
	if err != nil {
		return TicketID{}, err
	}
	return TicketID{Asset: asset, Task: task}, nil
}

// Key is the idempotency key of a ticket's run: ENC/TASK, from run 2 on ENC/TASK~RUN.
func (id TicketID) Key(run int64) string {
	key := id.Asset.Enc() + "/" + id.Task
	if run >= 2 {
		key += "~" + strconv.FormatInt(run, 10)
	}
	return key
}
