// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package assets

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxAsset is the API's limit, in bytes.
const maxAsset = 256

// Check says why something cannot be an asset, by those of the daemon's rules that can be told from its letters, or nothing.
func Check(s string) string {
	switch {
	case s == "":
		return "is empty"
	case len(s) > maxAsset, len(s) == maxAsset && len(Canonical(s)) > maxAsset:
		return fmt.Sprintf("is longer than an asset can be, %d bytes", maxAsset)
	case !utf8.ValidString(s):
		return "is not UTF-8"
	case strings.ContainsFunc(s, BreaksLine):
		return "has a control character"
	case strings.ContainsFunc(s, IsInvisible):
		r, _ := utf8.DecodeRuneInString(s[strings.IndexFunc(s, IsInvisible):])
		return fmt.Sprintf("has an invisible character, %U: type the line anew", r)
	case s == "." || s == "..":
		return "is . or .., which no asset can be"
	case strings.HasPrefix(s, ReportPrefix):
		return "begins with " + ReportPrefix + ", as the reports of lists do: name it otherwise"
	}
	return ""
}

// BreaksLine reports whether a character breaks a line in two, or controls how it is shown.
func BreaksLine(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// IsInvisible reports whether nothing of a character is seen: format characters (Cf), those that Unicode has renderers ignore, and
// variation selectors.
func IsInvisible(r rune) bool {
	return r > unicode.MaxASCII && unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Canonical is an asset as the daemon writes it, so that one machine has one lock, and stands in a list once: an IP address in its shortest
// form, without brackets and without the IPv6 wrapping of an IPv4 address; a name with a dot in lower case and without a final
// one; anything else as it is.
func Canonical(s string) string {
	if ip, err := netip.ParseAddr(s); err == nil {
		return ip.Unmap().String()
	}
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		if ip, err := netip.ParseAddr(s[1 : len(s)-1]); err == nil && ip.Is6() {
			return ip.Unmap().String()
		}
	}
	if isHostLike(s) {
		return strings.ToLower(strings.TrimSuffix(s, "."))
	}
	return s
}

// isHostLike reports whether something is a name of labels of ASCII letters, digits and hyphens, with at least one dot.
func isHostLike(s string) bool {
	if !strings.Contains(s, ".") {
		return false
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(s, "."), ".") {
		if label == "" || strings.ContainsFunc(label, func(r rune) bool { return !IsAlphanumeric(r) && r != '-' }) {
			return false
		}
	}
	return true
}

// IsAlphanumeric reports whether a character is an ASCII letter or digit.
func IsAlphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// likeness is the same for assets that are different for the daemon and probably one machine: other case, other spaces, a URL
// with its scheme's port, a slash or a dot at the end.
func likeness(asset string) string {
	s := strings.ToLower(strings.Join(strings.Fields(asset), " "))
	if !strings.Contains(s, "//") { // no URL with a host
	} else if u, err := url.Parse(s); err == nil && u.Host != "" {
		port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
		u.Host = strings.TrimSuffix(u.Host, port)
		s = u.String()
	}
	return strings.TrimRight(s, "/.")
}

// maxNetwork is the most addresses that a network in a list may stand for.
const maxNetwork = 1 << 16

// network returns the addresses for which a network as 10.0.0.0/24 stands, without the two of an IPv4 network that are no
// machine's. is says whether it is one; reason, why it cannot be used.
func network(s string) (addrs []string, is bool, reason string) {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return nil, false, ""
	}
	bits := p.Addr().BitLen() - p.Bits()
	switch {
	case p != p.Masked():
		return nil, true, fmt.Sprintf("is an address within a network: write %s, or %s", p.Masked(), p.Addr())
	case bits > 16:
		return nil, true, fmt.Sprintf("is a network of more than %d addresses: write smaller ones", maxNetwork)
	}
	for a := p.Addr(); p.Contains(a); a = a.Next() {
		addrs = append(addrs, a.Unmap().String())
	}
	if p.Addr().Is4() && bits > 1 {
		addrs = addrs[1 : len(addrs)-1]
	}
	return addrs, true, ""
}

// IsNetwork says whether something is written as a network, which stands for its addresses in a list.
func IsNetwork(s string) bool {
	_, is, _ := network(s)
	return is
}

// ReportPrefix is how the asset begins that a list's report is for; its name follows.
const ReportPrefix = "list:"

var reportForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// CheckReport says why something cannot be a report's name, or nothing.
func CheckReport(name string) string {
	if !reportForm.MatchString(name) || name == "." || name == ".." {
		return "must have 1 to 64 of A-Z a-z 0-9 . _ - and not be . or .."
	}
	return ""
}

var taskForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// CheckTask says why something cannot be a task, by the daemon's rules, or nothing.
func CheckTask(s string) string {
	if !taskForm.MatchString(s) || s == "." || s == ".." {
		return "must have 1 to 128 of A-Z a-z 0-9 . _ - and not be . or .."
	}
	return ""
}
