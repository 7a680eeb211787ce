// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// account is what a Redis says of itself, since it began or, of two, between them.
type account struct {
	calls  float64       // of commands, those of scripts and those within them
	script time.Duration // spent in scripts
	cpu    time.Duration
	bytes  float64 // that went over its connections, both ways
	memory float64 // bytes that it uses at the moment, for connections too
	at     time.Time
}

// readAccount reads it over a connection of its own, and does not count that.
func readAccount(ctx context.Context, c *redis.Client) account {
	info := map[string]map[string]string{}
	for _, section := range []string{"commandstats", "cpu", "stats", "memory"} { // of Redis 6 INFO takes one
		maps.Copy(info, must(c.InfoMap(ctx, section).Result()))
	}
	a := account{
		cpu:    seconds(info["CPU"]["used_cpu_user"]) + seconds(info["CPU"]["used_cpu_sys"]),
		bytes:  float64(number(info["Stats"]["total_net_input_bytes"]) + number(info["Stats"]["total_net_output_bytes"])),
		memory: float64(number(info["Memory"]["used_memory"])),
		at:     time.Now(),
	}
	for name, figures := range info["Commandstats"] {
		var calls, usec int64
		for figure := range strings.SplitSeq(figures, ",") {
			switch name, value, _ := strings.Cut(figure, "="); name {
			case "calls":
				calls = number(value)
			case "usec":
				usec = number(value)
			}
		}
		switch name {
		case "cmdstat_info": // this
			continue
		case "cmdstat_evalsha", "cmdstat_eval":
			a.script += time.Duration(usec) * time.Microsecond
		}
		a.calls += float64(calls)
	}
	return a
}

// since is what happened from one account to the next.
func (a account) since(b account) account {
	return account{a.calls - b.calls, a.script - b.script, a.cpu - b.cpu, a.bytes - b.bytes, a.memory - b.memory, a.at}
}

func seconds(text string) time.Duration {
	s, _ := strconv.ParseFloat(text, 64)
	return time.Duration(s * float64(time.Second))
}
