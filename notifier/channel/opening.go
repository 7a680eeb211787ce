// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/picketd/picket/agent/strict"
)

// kind is a type of channel: a row of the table in kinds.go.
type kind struct {
	name    string
	keys    []string                                  // that it understands, of those that are not for all types
	timeout time.Duration                             // when none is configured. Defaults to DefaultTimeout
	attempt func(timeout time.Duration) time.Duration // what an attempt takes at most; nil: the time-out
	workers int                                       // attempts at once. Defaults to DefaultWorkers
	rates   []string                                  // what its receiver bears, when no rate is configured
	secret  bool                                      // its URL is one

	// open makes what sends, and demands on the way what is right. What it returns counts only if nothing is wrong.
	open func(*opening) Sender
}

// Env is what channels need beside their configuration.
type Env struct {
	Files   Files        // may be nil where no channel names a file
	Version string       // for User-Agent
	Output  io.Writer    // where channels of type log write their line; nil: Logger
	Logger  *slog.Logger // of channels of type log
}

// opening is a channel that is being made of its configuration. What is wrong is gathered, so that all is told at once.
type opening struct {
	Config
	Env
	strict.Problems
	unread bool // a file was not looked at
}

// read is what check makes of the file that key names: nothing where there is none, or it is wrong.
func (o *opening) read(key, name string, read func(string) (string, error), check func(string) error) string {
	if name == "" {
		return ""
	}
	text, err := read(name)
	if err == nil {
		err = check(text)
	}
	switch {
	case errors.Is(err, ErrUnread):
		o.unread = true
	case err != nil:
		o.Demand(false, key, "%v", err)
	default:
		return text
	}
	return ""
}

// secret is what is in a file of one line.
func (o *opening) secret(key, name string, check func(string) error) string {
	return o.read(key, name, func(name string) (string, error) { return o.Files.Secret(name) }, check)
}

// either is the value of a key, or what is in the file that key_file names.
func (o *opening) either(key, value, file string, check func(string) error) string {
	o.Demand(value == "" || file == "", key+"_file", "cannot go with %s: write one of them", key)
	if value == "" {
		return o.secret(key+"_file", file, func(s string) error {
			if err := check(s); err != nil {
				return fmt.Errorf("what is in %s %w", file, err)
			}
			return nil
		})
	}
	err := check(value)
	o.Demand(err == nil, key, "%v", err)
	return value
}

// Direct as a channel's proxy means none, whatever the environment says.
const Direct = "none"

// ownProxy is the channel's, from the file if it is in one.
func ownProxy(o *opening) string {
	if u, err := url.Parse(o.Proxy); err == nil {
		o.Demand(u.User == nil, "proxy", "holds a login: write all of it into a file, and that as proxy_file")
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
