// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import "strings"

// link finds the grants, and to which each call belongs.
func (s *story) link() {
	asked := map[string]int64{} // by whom, under which name: since when
	for _, c := range s.calls {
		if c.kind != toClaim {
			continue
		}
		sent := c.sent
		if c.in.Request != "" {
			name := strings.Join([]string{c.host, c.ticket(), c.in.Request}, " ")
			if first, ok := asked[name]; ok {
				sent = first
			}
			asked[name] = sent
		}
		if told := c.out.Claim; c.ok() && told != nil {
			s.told(c, told, sent)
		}
	}
	commands, listed := s.commands(), map[string]claim{}
	for _, c := range s.calls {
		for _, k := range c.out.Claims {
			listed[k.ID] = k
		}
		if k, ok := listed[c.claimID]; ok {
			c.asset, c.task, c.token = k.Asset, k.Task, k.Token
		}
		g := s.byClaim[c.claimID]
		if g == nil && c.claimID != "" {
			if g = commands[c.pid]; g != nil {
				g.id, s.byClaim[c.claimID] = c.claimID, g
			}
		}
		if told := c.out.Claim; c.kind == toClaim && c.ok() && told != nil {
			g = s.byClaim[told.ID]
		}
		if g != nil {
			c.asset, c.task, c.token = g.asset, g.task, g.token
			g.calls = append(g.calls, c)
		}
	}
	for _, g := range s.grants {
		s.byAsset[g.asset] = append(s.byAsset[g.asset], g)
	}
	s.histories = s.recalled()
}

// told notes the claim that a call was answered with.
func (s *story) told(c *call, told *claim, sent int64) {
	if g := s.byClaim[told.ID]; g != nil { // asked for again, and answered as before
		if c.came < g.came {
			g.claimed, g.n, g.came = c, c.m, c.came
		}
		return
	}
	g := &grant{
		id: told.ID, host: c.host, asset: told.Asset, task: told.Task, token: told.Token, claimed: c, n: c.m, sent: sent, came: c.came,
		holder: c.pid, hold: told.MaxHoldMS,
	}
	if told.PID != nil {
		g.pid = *told.PID
	}
	if told.HeartbeatMS != nil {
		g.heartbeat = *told.HeartbeatMS
	}
	s.grants, s.byClaim[g.id] = append(s.grants, g), g
}

// commands notes the claims of picket exec, which its commands tell of, by the commands' processes.
func (s *story) commands() map[int]*grant {
	type name struct {
		asset string
		token int64
	}
	byPID, known := map[int]*grant{}, map[name]*grant{}
	begun := map[string]process{} // the last picket exec of a host
	for _, p := range s.processes {
		n := name{canonical(p.Asset), p.Token}
		switch {
		case p.Kind == "exec" && !p.End:
			begun[p.Host] = p
		case p.Kind == "command" && known[n] != nil:
			byPID[p.PID] = known[n]
		case p.Kind == "command":
			exec := begun[p.Host]
			g := &grant{
				host: p.Host, asset: n.asset, task: p.Task, token: p.Token, n: p.n, sent: exec.at, came: p.at,
				holder: exec.PID, pid: exec.PID, command: p.PID,
			}
			s.grants, known[n], byPID[p.PID] = append(s.grants, g), g, g
		}
	}
	return byPID
}
