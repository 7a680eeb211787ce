// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
)

// Warnings tell what is allowed and unwise, a sentence each, with the key that it is about.
func (c Config) Warnings() []string {
	var w []string
	warn := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(w, text) {
			w = append(w, text)
		}
	}
	agents := c.agentGroups()
	admins, err := user.LookupGroup(c.AdminGroup)
	if err == nil && slices.Contains(agents, admins.Gid) {
		warn("admin_group: %s is the socket's group too, so every agent is an administrator: name a group of its own", c.AdminGroup)
	}
	if info, err := os.Stat(c.StateDir); err == nil && info.Mode()&0o022 != 0 {
		warn("state_dir: other users may change what is in %s, where the outbox is: chmod go-w it", c.StateDir)
	}
	trusted := c.trusted()
	unchanged := func(key, name string) {
		if path, who := changeable(name, trusted); who != "" {
			warn("%s: %s may change %s, and with it what the daemon reads or runs: let nobody but root write there", key, who, path)
		}
	}
	secret := func(key, name string) {
		if name == "" {
			return
		}
		if who := readers(name, agents); who != "" {
			path, _ := credentialPath(name)
			warn("%s: %s can be read by %s: chmod o-r it, and give it the daemon's group, which no agent is in", key, path, who)
		}
		unchanged(key, name)
	}
	if c.path != "" {
		unchanged(c.path, c.path)
	}
	secret("redis.password_file", c.Redis.PasswordFile)
	secret("redis.sentinel.password_file", c.Redis.Sentinel.PasswordFile)
	if c.Redis.TLS != nil {
		secret("redis.tls.key_file", c.Redis.TLS.KeyFile)
		unchanged("redis.tls.ca_file", c.Redis.TLS.CAFile)
	}
	for i, ch := range c.Channels {
		at := func(key string) string { return fmt.Sprintf("channel[%d].%s", i, key) }
		secret(at("secret_file"), ch.SecretFile)
		secret(at("url_file"), ch.URLFile)
		secret(at("proxy_file"), ch.ProxyFile)
		secret(at("password_file"), ch.PasswordFile)
		unchanged(at("template_file"), ch.TemplateFile)
		if len(ch.Command) > 0 {
			unchanged(at("command"), ch.Command[0])
		}
		if ch.URL != "" && ch.URLIsSecret() {
			warn("%s: the URL of a robot is a secret: write it into a file of its own, and that as url_file", at("url"))
		} else if hasSecret(ch.URL) {
			warn("%s: there is a secret in it: write it into a file of its own, and that as url_file", at("url"))
		}
		if ch.Insecure {
			warn("%s: what goes out on %q can be read by anybody on the way", at("insecure"), ch.Name)
		}
	}
	return w
}

// agentGroups are the ids of the groups whose members may connect: the one that is configured, and the one that the socket has,
// which systemd may have given it.
func (c Config) agentGroups() (gids []string) {
	if g, err := user.LookupGroup(c.Socket.Group); err == nil {
		gids = append(gids, g.Gid)
	}
	if info, err := os.Stat(c.Socket.Path); err == nil && info.Mode()&0o020 != 0 {
		gids = append(gids, groupOf(info))
	}
	return gids
}

// trusted are the uids of who may change what the daemon goes by: root, this process' user, and the daemon's, whose the state is.
func (c Config) trusted() []uint32 {
	uids := []uint32{0, uint32(os.Geteuid())}
	if info, err := os.Stat(c.StateDir); err == nil {
		uids = append(uids, ownerOf(info))
	}
	return uids
}

func ownerOf(info fs.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Uid }

func groupOf(info fs.FileInfo) string {
	return strconv.FormatUint(uint64(info.Sys().(*syscall.Stat_t).Gid), 10)
}

// changeable names a file, or a folder on the way to it, that somebody else may change, and who that is; nothing when there is none,
// or when it cannot be told, which is told where the file is read. In a folder with the sticky bit nobody can replace what is another's.
func changeable(name string, trusted []uint32) (path, who string) {
	path, err := credentialPath(name)
	if name == "" || err != nil {
		return "", ""
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", ""
	}
	for ; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		mode := fs.FileMode(0)
		if err == nil && info.Mode()&fs.ModeSticky == 0 {
			mode = info.Mode()
		}
		switch {
		case err != nil:
			return "", ""
		case mode&0o002 != 0:
			return path, "every user of this host"
		case mode&0o020 != 0 && groupOf(info) != "0":
			return path, "group " + GroupName(groupOf(info))
		case !slices.Contains(trusted, ownerOf(info)):
			return path, "user " + UserName(ownerOf(info))
		case path == "/":
			return "", ""
		}
	}
}

// readers says who beside the daemon may read a secret: everybody, or the agents.
func readers(name string, agents []string) string {
	path, err := credentialPath(name)
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return ""
	case info.Mode()&0o004 != 0:
		return "every user of this host"
	case info.Mode()&0o040 != 0 && slices.Contains(agents, groupOf(info)):
		return "every agent, for " + GroupName(groupOf(info)) + " is the socket's group"
	}
	return ""
}

// secretName is how parameters of a URL that are secrets are called.
var secretName = regexp.MustCompile(`(?i)key|token|secret|passw|sig`)

// hasSecret reports whether a URL has a password in it, or a parameter whose name says that it is a secret.
func hasSecret(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	for name := range u.Query() {
		if secretName.MatchString(name) {
			return true
		}
	}
	return u.User != nil
}

// UserName is a user's name, or the number of one who has none.
func UserName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// GroupName is a group's name, or the number of one that has none.
func GroupName(gid string) string {
	if g, err := user.LookupGroupId(gid); err == nil {
		return g.Name
	}
	return gid
}
