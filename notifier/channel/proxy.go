// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"errors"
	"net/http"
	"net/url"
	"os"
)

// Direct as a channel's proxy means none, whatever the environment says.
const Direct = "none"

// ownProxy is the channel's, from the file if it is in one.
func ownProxy(o *opening) string {
	if u, err := url.Parse(o.Proxy); err == nil {
		o.demand(u.User == nil, "proxy", "holds a login: write all of it into a file, and that as proxy_file")
	}
	return o.either("proxy", o.Proxy, o.ProxyFile, checkProxy)
}

// through finds the proxy that a request takes: the channel's own, or what the environment says (HTTPS_PROXY, HTTP_PROXY, NO_PROXY;
// never to loopback). hidden is what may not be shown of it.
func through(own string) (proxy func(*http.Request) (*url.URL, error), hidden []string) {
	switch own {
	case Direct:
		return nil, nil
	case "":
		for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
			hidden = append(hidden, loginOf(os.Getenv(name))...)
		}
		return http.ProxyFromEnvironment, hidden
	}
	u, _ := url.Parse(own) // checkProxy has looked at it
	return http.ProxyURL(u), loginOf(own)
}

// loginOf is what a proxy's URL logs in with; of one that cannot be parsed it is all of it.
func loginOf(proxy string) []string {
	u, err := url.Parse(proxy)
	switch {
	case err != nil:
		return []string{proxy}
	case u.User == nil:
		return nil
	}
	return append(userinfo(u), u.User.String())
}

// checkProxy says what is wrong with a channel's proxy, without repeating it.
func checkProxy(s string) error {
	u, err := url.Parse(s)
	switch {
	case s == Direct:
		return nil
	case err != nil || u.Hostname() == "" || u.Path != "" && u.Path != "/" ||
		u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" && u.Scheme != "socks5h":
		return errors.New("is no proxy: write one like http://proxy.example.com:3128, or none")
	}
	return nil
}
