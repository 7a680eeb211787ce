// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// The names of what lets somebody in: in the first address, and in every form.
const (
	secretName = "secret"
	tokenName  = "token"
)

// headers are those of every answer.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
		"base-uri 'none'; frame-ancestors 'none'",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Cache-Control":                "no-store",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
}

// guard lets in the browser that knows the secret.
type guard struct {
	secret  string // in the first address
	session string // the cookie's value
	cookie  string // its name: that of no other server on this host
	token   string // in every form
}

func newGuard() guard {
	return guard{secret: rand.Text(), session: rand.Text(), token: rand.Text(), cookie: "picket_" + rand.Text()[:8]}
}

// guarded lets through to next what comes from the browser that was let in, and what its pages send.
func (g guard) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		switch {
		case !isLoopback(hostOf(r.Host)):
			http.Error(w, "These pages are for addresses of loopback, such as 127.0.0.1, alone.", http.StatusForbidden)
		case r.Method == http.MethodGet && r.URL.Path == "/" && same(r.URL.Query().Get(secretName), g.secret):
			g.enter(w, r)
		case !g.knows(r):
			http.Error(w, "Open the address that picket ui has printed. If you have just come from there by a link, load this page again.",
				http.StatusForbidden)
		case r.Method == http.MethodPost && !g.isOwn(r):
			http.Error(w, "This form is not from a page of this run of picket ui: load the page again, and send it from there.", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// enter gives the cookie, and leads to the address without the secret.
func (g guard) enter(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: g.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// knows says whether a request has the cookie.
func (g guard) knows(r *http.Request) bool {
	cookie, err := r.Cookie(g.cookie)
	return err == nil && same(cookie.Value, g.session)
}

// isOwn says whether a form comes from a page of this server.
func (g guard) isOwn(r *http.Request) bool {
	if http.NewCrossOriginProtection().Check(r) != nil {
		return false
	}
	// Browsers say null where a page has no referrer, as these pages have none.
	if origin := r.Header.Get("Origin"); origin != "" && origin != "null" {
		if from, err := url.Parse(origin); err != nil || from.Host != r.Host {
			return false
		}
	}
	return same(r.PostFormValue(tokenName), g.token)
}

// same compares in a time that does not tell where two texts differ.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// hostOf is a Host without its port and brackets.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// isLoopback says whether a host is this one by its name or by an address of loopback.
func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.Zone() == "" && address.Unmap().IsLoopback()
}
