// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"errors"
	"net/http"
	"net/url"
	"os"
)

// Direct as a channel's proxy means none, whatever the environment says.
const Direct = "none"

// through finds the proxy that a request takes: the channel's own, or what the environment says (HTTPS_PROXY, HTTP_PROXY, NO_PROXY;
// never to loopback). hidden is what may not be shown of it.
func through(own string) (proxy func(*http.Request) (*url.URL, error), hidden []string, err error) {
	switch own {
	case Direct:
		return nil, nil, nil
	case "":
		for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
			hidden = append(hidden, loginOf(os.Getenv(name))...)
		}
		return http.ProxyFromEnvironment, hidden, nil
	}
	if err := CheckProxy(own); err != nil {
		return nil, nil, err
	}
	u, _ := url.Parse(own)
	return http.ProxyURL(u), loginOf(own), nil
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

// CheckProxy says what is wrong with a channel's proxy, without repeating it.
func CheckProxy(s string) error {
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
