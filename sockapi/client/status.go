// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import "time"

// Status answers GET /v1/status.
type Status struct {
	Version   string        `json:"version"`
	Host      string        `json:"host"`
	ID        string        `json:"id" doc:"The daemon's identity, that of its outbox."`
	Run       string        `json:"run" doc:"This run of the daemon."`
	PID       int           `json:"pid"`
	StartedAt time.Time     `json:"started_at"`
	Ready     bool          `json:"ready"`
	Draining  bool          `json:"draining"`
	Admin     bool          `json:"admin" doc:"Whether the caller may make the calls of administrators."`
	Checks    []Check       `json:"checks" doc:"What /readyz looks at."`
	Warnings  []Warning     `json:"warnings" doc:"What a person should look at, though the daemon serves."`
	Claims    int           `json:"claims" doc:"Claims that are held."`
	Users     UserClaims    `json:"claims_per_uid"`
	Outbox    OutboxStatus  `json:"outbox"`
	Channels  []ChannelInfo `json:"channels"`
	LockTTLMS int64         `json:"lock_ttl_ms"`
	Redis     RedisStatus   `json:"redis"`
	Fleet     []Member      `json:"fleet" doc:"The other daemons that Redis knows of."`
}

// Check is one condition of readiness.
type Check struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error string `json:"error" doc:"Why not; empty when ok."`
}

// Warning is what a person should look at, though the daemon serves.
type Warning struct {
	Name    string     `json:"name" enum:"store_reset,store_older,token_back,clock_offset,clock_step,redis_settings,configuration,outbox,outbox_damaged,same_label,other_version,other_layout,other_lock_ttl,other_channels"`
	Alarm   bool       `json:"alarm" doc:"Something went wrong: data were lost, or clocks differ. Otherwise it is unwise."`
	Message string     `json:"message" doc:"What is, what it means, what to do."`
	At      *time.Time `json:"at" doc:"When it happened or began, or null. What happened once is shown for a day."`
}

// Readiness answers GET /readyz?verbose, with 200 or 503.
type Readiness struct {
	Ready    bool      `json:"ready"`
	Checks   []Check   `json:"checks"`
	Warnings []Warning `json:"warnings" doc:"What a person should look at, though the daemon serves."`
}

// UserClaims says how near the users of this host are to the limit of their claims.
type UserClaims struct {
	Most  int `json:"most" doc:"Claims of the user that has the most, those being made too."`
	Limit int `json:"limit"`
}

// OutboxStatus sums up the outbox.
type OutboxStatus struct {
	Staged      int   `json:"staged"`
	Ready       int   `json:"ready" doc:"Committed or adopted, and not settled on every channel."`
	OldestAgeMS int64 `json:"oldest_age_ms" doc:"Age of the oldest of them, 0 when there is none."`
}

// ChannelInfo is a configured channel, without its secrets.
type ChannelInfo struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	MinSeverity string `json:"min_severity"`
	AtMostOnce  bool   `json:"at_most_once"`
	BreakerOpen bool   `json:"breaker_open" doc:"It failed again and again: only a probe goes out every 10 s."`
}

// RedisStatus is what Redis says of itself; a Redis that is away says nothing.
type RedisStatus struct {
	Mode          string   `json:"mode" enum:"standalone,sentinel,cluster"`
	Versions      []string `json:"versions" doc:"Of all masters, each once; empty when it is not to be known."`
	ClockOffsetMS *int64   `json:"clock_offset_ms" doc:"Redis' clock ahead of this host's, of the master that is furthest off; or null."`
	Masters       int      `json:"masters" doc:"How many answered; 0 when it is not to be known."`
	Replicas      int64    `json:"replicas" doc:"Connected to them."`
	MemoryBytes   int64    `json:"memory_bytes" doc:"Of all masters; 0 when it is not to be known."`
	MemoryLimit   int64    `json:"memory_limit_bytes" doc:"Of the masters, the sum; 0 when one has none."`
	WaitReplicas  int      `json:"wait_replicas" doc:"Of the daemon's configuration: how many replicas a grant waits for."`

	Servers   []RedisServer   `json:"servers" doc:"The masters that answered."`
	Cluster   *RedisCluster   `json:"cluster" doc:"Null unless mode is cluster."`
	Sentinels []RedisSentinel `json:"sentinels" doc:"Those of the configuration; empty unless mode is sentinel."`
}

// RedisServer is a server that takes writes. What its ACL does not let the daemon see is null, or 0.
type RedisServer struct {
	Addr          string         `json:"addr"`
	Replicas      []RedisReplica `json:"replicas"`
	MinReplicas   *int           `json:"min_replicas_to_write"`
	AppendOnly    bool           `json:"appendonly"`
	Dumps         *bool          `json:"dumps" doc:"It saves by itself (save)."`
	SaveFailed    string         `json:"save_failed" doc:"What of its last writes to disk failed; empty when nothing did."`
	MemoryUsed    int64          `json:"memory_used" doc:"Bytes."`
	MemoryMost    int64          `json:"memory_most" doc:"Bytes, maxmemory; 0: no limit."`
	RoundTripUSec int64          `json:"round_trip_us" doc:"Microseconds, the least of three."`
}

// RedisReplica is a replica as its master sees it.
type RedisReplica struct {
	Addr   string `json:"addr"`
	State  string `json:"state" doc:"online, or what it waits for."`
	LagS   int64  `json:"lag_s" doc:"Seconds since the master last heard of it."`
	Behind int64  `json:"behind" doc:"Bytes that it has not confirmed."`
}

// RedisCluster is a Cluster as one of its nodes sees it.
type RedisCluster struct {
	State string `json:"state" doc:"ok, fail; empty when the ACL does not let the daemon see it."`
	Slots int    `json:"slots" doc:"How many of 16384 some node serves."`

	Moving []int `json:"moving" doc:"The slots that are between two masters: they move, or a move was broken off."`
}

// RedisSentinel is what one Sentinel says of the master.
type RedisSentinel struct {
	Addr   string `json:"addr"`
	Master string `json:"master" doc:"Its address; empty when this Sentinel does not answer, or does not know it."`
	Known  int    `json:"known" doc:"Sentinels that this one knows, itself too."`
	Quorum int    `json:"quorum" doc:"How many must agree that the master is gone."`
	Error  string `json:"error" doc:"Why it is of no use; empty when it is."`
}

// Member is another daemon.
type Member struct {
	ID    string `json:"id"`
	Host  string `json:"host" doc:"Its label; empty when it gives no sign of life."`
	Lives bool   `json:"lives" doc:"It gave a sign of life in the last 25 s."`
}
