// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"errors"
)

// ErrConfig is any error in the configuration: of the file, of its values, of the secret files that it names.
var ErrConfig = errors.New("configuration")

// Config is the configuration file.
type Config struct {
	Host       string       `toml:"host"`        // a label for people. Defaults to the machine's host name
	StateDir   string       `toml:"state_dir"`   // of outbox.db. Defaults to $STATE_DIRECTORY, else /var/lib/picket
	AdminGroup string       `toml:"admin_group"` // whose members may call as an admin, beside root. Defaults to picket-admin
	Socket     SocketConfig `toml:"socket"`
	Redis      RedisConfig  `toml:"redis"`
	Lock       LockConfig   `toml:"lock"`
	Claims     ClaimsConfig `toml:"claims"`
	Tickets    TicketConfig `toml:"tickets"`
	Outbox     OutboxConfig `toml:"outbox"`
	Channels   []Channel    `toml:"channel"`
}

// SocketConfig is [socket].
type SocketConfig struct {
	Path  string `toml:"path"`  // unused under socket activation. Defaults to /run/picket/picket.sock
	Mode  string `toml:"mode"`  // octal. Defaults to 0660
	Group string `toml:"group"` // Defaults to picket
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
type Channel struct {
	Name        string   `toml:"name"`
	Type        string   `toml:"type"`         // webhook, exec or log
	URL         string   `toml:"url"`          // of a webhook
	URLFile     string   `toml:"url_file"`     // where the URL is, when it is the secret
	SecretFile  string   `toml:"secret_file"`  // of a webhook: what signs it. Defaults to none, unsigned
	Command     []string `toml:"command"`      // of an exec
	Timeout     Duration `toml:"timeout"`      // of one attempt. Defaults to 10s
	AtMostOnce  bool     `toml:"at_most_once"` // an attempt with an unknown end is not repeated. Defaults to false
	MinSeverity string   `toml:"min_severity"` // Defaults to info
	Flows       []string `toml:"flows"`        // Defaults to all
	Rate        string   `toml:"rate"`         // such as 20/m. Defaults to no limit
	Insecure    bool     `toml:"insecure"`     // allows http:// to other hosts. Defaults to false
}

// DefaultConfig is the configuration of an empty file.
func DefaultConfig() Config { panic("contract") }

// LoadConfig reads and validates the file at path; an empty path means $PICKET_CONFIG, else /etc/picket/picket.toml. Its error
// is an ErrConfig, a line for each thing that is wrong.
func LoadConfig(path string) (Config, error) { panic("contract") }

// Validate names the keys with bad values and says what would be right, all at once, a line each. Its error is an ErrConfig.
func (c Config) Validate() error { panic("contract") }
