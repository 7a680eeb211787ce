// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	leastSecret = 6 // bytes; what is shorter is common in sentences
	piece       = 8 // so many bytes of a secret in a row are as much of it as may not be shown
	hidden      = "[secret]"
)

// secrets is what must not be shown: in whatever letters, whole or in pieces, and in the forms that receivers write it in.
type secrets struct {
	forms  []string            // all of them
	whole  []string            // those that are shorter than piece, or hold common words: only all of it is hidden
	pieces map[string]struct{} // every piece of the others
	long   int                 // bytes of the longest form
}

// secretsOf are the parts of a URL that may be secrets, and others, in case a receiver's answer or an error repeats them.
func secretsOf(from string, others ...string) secrets {
	var s secrets
	u, err := url.Parse(from)
	if err != nil {
		return blank(append(others, from)...)
	}
	s.add(others...)
	s.addWhole(u.String(), u.RequestURI(), u.Path)
	s.add(userinfo(u)...)
	for _, values := range u.Query() {
		s.add(values...)
	}
	for _, part := range strings.Split(u.Path, "/") {
		if len(part) < 2*piece { // such as services, open-apis
			s.addWhole(part)
		} else {
			s.add(part)
		}
	}
	return s
}

// userinfo is what a URL logs in with, as it is and as Basic authentication sends it.
func userinfo(u *url.URL) []string {
	if u.User == nil {
		return nil
	}
	password, both := u.User.Password()
	if !both {
		return []string{u.User.Username(), inBase64(u.User.Username() + ":")}
	}
	return []string{u.User.Username(), password, inBase64(u.User.Username() + ":" + password)}
}

func inBase64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// blank makes secrets of parts.
func blank(parts ...string) (s secrets) {
	s.add(parts...)
	return s
}

func (s *secrets) add(parts ...string)      { s.take(true, parts) }
func (s *secrets) addWhole(parts ...string) { s.take(false, parts) }

func (s *secrets) take(inPieces bool, parts []string) {
	for _, p := range parts {
		if len(p) >= leastSecret {
			for _, form := range forms(p) {
				s.keep(form, inPieces)
			}
		}
	}
}

func (s *secrets) keep(form string, inPieces bool) {
	form = fold(form)
	s.forms, s.long = append(s.forms, form), max(s.long, len(form))
	if !inPieces || len(form) < piece {
		s.whole = append(s.whole, form)
		return
	}
	if s.pieces == nil {
		s.pieces = map[string]struct{}{}
	}
	for i := 0; i+piece <= len(form); i++ {
		s.pieces[form[i:i+piece]] = struct{}{}
	}
}

// forms are a secret as it is, quoted, escaped, and within something in base64, where it begins at any of three places.
func forms(p string) []string {
	quoted, _ := json.Marshal(p)
	inJSON := strings.Trim(string(quoted), `"`)
	escaped := url.QueryEscape(p)
	percents := ""
	for i := range len(p) {
		percents += "%" + hex.EncodeToString([]byte{p[i]})
	}
	all := []string{
		p, inJSON, strings.ReplaceAll(inJSON, "/", `\/`), strings.Trim(strconv.QuoteToASCII(p), `"`), html.EscapeString(p),
		escaped, url.PathEscape(p), url.QueryEscape(escaped), percents, hex.EncodeToString([]byte(p)),
	}
	if plain, err := url.QueryUnescape(p); err == nil {
		all = append(all, plain)
	}
	for skip := range 3 {
		coded := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00"[:skip] + p))
		if coded = coded[(skip*8+5)/6 : len(coded)-min(1, (skip+len(p))%3)]; len(coded) >= leastSecret { // without what its neighbours have a part in
			all = append(all, coded, strings.NewReplacer("+", "-", "/", "_").Replace(coded), url.QueryEscape(coded))
		}
	}
	return all
}

// fold makes small letters of ASCII's capitals, and keeps every byte's place.
func fold(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// longest is how many bytes a secret has at most, in any form.
func (s secrets) longest() int { return s.long }

// Replace hides every secret, and every piece of one.
func (s secrets) Replace(text string) string {
	low := fold(text)
	covered := make([]bool, len(text))
	cover := func(from, n int) {
		for i := range n {
			covered[from+i] = true
		}
	}
	for i := range len(low) {
		if i+piece <= len(low) {
			if _, ok := s.pieces[low[i:i+piece]]; ok {
				cover(i, piece)
			}
		}
		for _, w := range s.whole {
			if strings.HasPrefix(low[i:], w) {
				cover(i, len(w))
			}
		}
	}
	var b strings.Builder
	for i := range len(text) {
		switch {
		case !covered[i]:
			b.WriteByte(text[i])
		case i == 0 || !covered[i-1]:
			b.WriteString(hidden)
		}
	}
	return b.String()
}

// hideCut hides secrets in a text whose rest is missing: what begins like a secret at its end is cut, and again in what is left,
// where the cut may have gone through another.
func (s secrets) hideCut(text string) string {
	low := fold(text)
	for i := max(0, len(low)-s.long); i < len(low); i++ {
		if slices.ContainsFunc(s.forms, func(form string) bool { return strings.HasPrefix(form, low[i:]) }) {
			return s.hideCut(text[:i])
		}
	}
	return s.Replace(text)
}

const secretPrefix = "whsec_"

// parseSecret reads a Standard Webhooks secret, whsec_ and standard base64, as it stands in a file: one final newline is cut.
// Its error says which other form was found, and never holds the secret.
func parseSecret(b []byte) ([]byte, error) {
	s := string(bytes.TrimSuffix(b, []byte("\n")))
	refuse := func(found string) ([]byte, error) {
		return nil, errors.New("a secret must be whsec_ followed by standard base64, on one line; " + found)
	}
	switch rest, ok := strings.CutPrefix(s, secretPrefix); {
	case s == "":
		return refuse("this one is empty")
	case strings.ContainsAny(s, "\r\n"):
		return refuse("this one has another line end")
	case strings.TrimSpace(s) != s:
		return refuse("this one has a space at its start or end")
	case !ok && strings.HasPrefix(s, "whsk_"), !ok && strings.HasPrefix(s, "whpk_"):
		return refuse("this one is a key of the asymmetric kind")
	case !ok:
		return refuse("this one does not start with whsec_")
	case rest == "":
		return refuse("this one has nothing after whsec_")
	case strings.ContainsAny(rest, "-_"):
		return refuse("this one is in base64url, with - and _ instead of + and /")
	default:
		key, err := base64.StdEncoding.Strict().DecodeString(rest)
		if err != nil && len(strings.TrimRight(rest, "="))%4 != 0 && len(rest)%4 != 0 {
			return refuse("this one lacks characters or its padding with =")
		}
		if err != nil {
			return refuse("this one has characters that base64 has not")
		}
		return key, nil
	}
}
