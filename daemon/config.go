// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/notifier/channel"
)

// Duration is a time.Duration that stands in the file as a string with a unit, such as "15s".
type Duration = strict.Duration

// ErrConfig is any error in the configuration: of the file, of its values, of the secret files that it names.
var ErrConfig = strict.ErrConfig

type problem = strict.Problem

// The modes of Redis.
const (
	Standalone = "standalone"
	Sentinel   = "sentinel"
	Cluster    = "cluster"
)

// What follows when too few replicas have a write in time.
const (
	Refuse = "refuse"
	GoOn   = "go_on"
)

// Config is the configuration file.
type Config struct {
	Host       string       `toml:"host"`        // a label for people. Defaults to the machine's host name
	StateDir   string       `toml:"state_dir"`   // of outbox.db. Defaults to $STATE_DIRECTORY, else /var/lib/picket
	AdminGroup string       `toml:"admin_group"` // whose members are admins, beside root; empty: nobody else. Defaults to picket-admin
	Socket     SocketConfig `toml:"socket"`
	Redis      RedisConfig  `toml:"redis"`
	Lock       LockConfig   `toml:"lock"`
	Claims     ClaimsConfig `toml:"claims"`
	Tickets    TicketConfig `toml:"tickets"`
	Outbox     OutboxConfig `toml:"outbox"`
	Channels   []Channel    `toml:"channel"`

	path          string // of the file that it was read from
	adminGroupSet bool   // it stands in the file: its lack is an error, not a warning
}

// SocketConfig is [socket].
type SocketConfig struct {
	Path  string `toml:"path"`  // unused under socket activation. Defaults to /run/picket/picket.sock
	Mode  string `toml:"mode"`  // octal. Defaults to 0660
	Group string `toml:"group"` // empty: the daemon's own. Defaults to picket

	groupSet bool // it stands in the file: its lack is an error, not a warning
}

// RedisConfig is [redis].
type RedisConfig struct {
	Addrs        []string   `toml:"addrs"`         // host:port or unix:///path. Defaults to 127.0.0.1:6379
	Mode         string     `toml:"mode"`          // standalone, sentinel or cluster. Defaults to standalone
	Master       string     `toml:"master"`        // the name that Sentinel knows it by; sentinel only
	Username     string     `toml:"username"`      // Defaults to none
	PasswordFile string     `toml:"password_file"` // Defaults to none
	DB           int        `toml:"db"`            // Defaults to 0
	Sentinel     RedisLogin `toml:"sentinel"`      // to the Sentinels themselves
	TLS          *TLSConfig `toml:"tls"`           // Defaults to none; an empty table is TLS with the system's authorities
	Prefix       string     `toml:"prefix"`        // of all keys. Defaults to picket
	WaitReplicas int        `toml:"wait_replicas"` // how many replicas a grant and NOTIFYING wait for. Defaults to 0
	WaitTimeout  Duration   `toml:"wait_timeout"`  // how long. Defaults to 1s
	WaitElse     string     `toml:"wait_else"`     // then: refuse, or go_on and tell the audit. Defaults to refuse
}

// RedisLogin is a user and where its password is.
type RedisLogin struct {
	Username     string `toml:"username"`      // Defaults to none
	PasswordFile string `toml:"password_file"` // Defaults to none
}

// TLSConfig is redis.tls.
type TLSConfig struct {
	CAFile     string `toml:"ca_file"`     // Defaults to the system's authorities
	CertFile   string `toml:"cert_file"`   // Defaults to none
	KeyFile    string `toml:"key_file"`    // Defaults to none
	ServerName string `toml:"server_name"` // Defaults to the address' host
}

// LockConfig is [lock].
type LockConfig struct {
	TTL Duration `toml:"ttl"` // 1s to 10m. Defaults to 15s
}

// ClaimsConfig is [claims].
type ClaimsConfig struct {
	MaxHold      Duration `toml:"max_hold"`       // when a claim asks for none. Defaults to 1h
	MaxHoldLimit Duration `toml:"max_hold_limit"` // what a claim may ask for at most. Defaults to 24h
	MaxPerUID    int      `toml:"max_per_uid"`    // Defaults to 10000
}

// TicketConfig is [tickets].
type TicketConfig struct {
	Keep       Duration `toml:"keep"`        // terminal tickets, and unfinished ones from their last write. Defaults to 720h
	KeepGrants Duration `toml:"keep_grants"` // Defaults to 2160h
}

// OutboxConfig is [outbox].
type OutboxConfig struct {
	MaxSizeMiB int      `toml:"max_size_mib"` // Defaults to 256
	RetryFirst Duration `toml:"retry_first"`  // doubles, with jitter, up to RetryMax. Defaults to 1s
	RetryMax   Duration `toml:"retry_max"`    // Defaults to 5m
	GiveUp     Duration `toml:"give_up"`      // then a channel is dead. Defaults to 24h
}

// Channel is a [[channel]]: one way to notify.
type Channel = channel.Config

// DefaultConfig is the configuration of an empty file.
func DefaultConfig() Config {
	host, _ := os.Hostname() // an empty one is told by Validate
	state, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":")
	return Config{
		Host:       host,
		StateDir:   cmp.Or(state, "/var/lib/picket"),
		AdminGroup: "picket-admin",
		Socket:     SocketConfig{Path: "/run/picket/picket.sock", Mode: "0660", Group: "picket"},
		Redis:      RedisConfig{Addrs: []string{"127.0.0.1:6379"}, Mode: Standalone, Prefix: "picket", WaitTimeout: Duration(time.Second), WaitElse: Refuse},
		Lock:       LockConfig{TTL: Duration(engine.DefaultTTL)},
		Claims: ClaimsConfig{
			MaxHold:      Duration(time.Hour),
			MaxHoldLimit: Duration(24 * time.Hour),
			MaxPerUID:    10000,
		},
		Tickets: TicketConfig{Keep: Duration(720 * time.Hour), KeepGrants: Duration(2160 * time.Hour)},
		Outbox: OutboxConfig{
			MaxSizeMiB: 256,
			RetryFirst: Duration(time.Second),
			RetryMax:   Duration(5 * time.Minute),
			GiveUp:     Duration(24 * time.Hour),
		},
	}
}

// DefaultChannel is a [[channel]] with nothing in it. It needs a name and a type at least.
func DefaultChannel() Channel { return Channel{}.WithDefaults() }

// String is the configuration as TOML, for logs: without what may be secret in a URL or a command line.
func (c Config) String() string {
	c.Channels = slices.Clone(c.Channels)
	for i := range c.Channels {
		c.Channels[i] = c.Channels[i].Masked()
	}
	doc, err := toml.Marshal(c)
	if err != nil {
		return err.Error()
	}
	return string(doc)
}
