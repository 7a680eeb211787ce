// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"cmp"
	"context"
	"errors"
	"net"
	"time"

	"github.com/picketd/picket/agent/lease"
	"github.com/picketd/picket/agent/reach"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"

	"github.com/picketd/picket/agent/plain"
)

// advance does what is to be done next until nothing is. When the run is to end, no step is begun any more, but what was found
// is told, and what is decided is finished. Its error is a *stepError, a *LostError, a *hostError, errLater, errStopping, or
// of the API.
func (j *job) advance() error {
	if j.ticket.Flow == client.FlowListReport {
		return j.report()
	}
	if err := j.rests(); err != nil {
		return err
	}
	for {
		c := j.a.config.Step
		var err error
		switch j.ticket.State {
		case client.StateInit:
			err = j.perform(client.StepOnline, c.Online.StepConfig, j.online)
		case client.StateAssetOnline:
			err = j.perform(client.StepVuln, c.Vuln.StepConfig, j.vuln)
		case client.StateVulnCheckDone:
			err = j.judge()
		case client.StateHighRiskFound:
			err = j.notify()
		case client.StateAssetOffline, client.StateNotifying, client.StateNotified:
			err = j.finish()
		default:
			return nil
		}
		if err != nil || j.released {
			return err
		}
	}
}

func (j *job) online(ctx context.Context) (verdict.Record, error) {
	if j.a.plan.online != nil {
		out, err := j.ownResult(ctx, j.a.plan.online, j.a.config.Step.Online.OKExit)
		return out, cmp.Or(err, verdict.ToldError(out.Facts))
	}
	c := j.a.config.Step.Online
	// It takes its time-out from when the name is resolved.
	r, err := reach.Ask(j.lease.Context(), net.DefaultResolver.LookupNetIP, reach.Question{TCP: c.TCP, ICMP: c.ICMP, Refused: c.Refused, Timeout: time.Duration(c.Timeout)}, j.ticket.Asset)
	return r, blame(err)
}

// judge asks for intelligence where it is needed and is not recorded, else assesses.
func (j *job) judge() error {
	c := j.a.config.Step
	if _, ok := j.ticket.Steps[client.StepIntel]; !ok && j.a.config.hasIntel() {
		e, err := verdict.EvidenceOf(j.ticket)
		needed := false
		if err == nil {
			needed, _, err = j.needsIntel(e)
		}
		if err != nil {
			return j.fail(j.lease.Context(), client.StepIntel, err)
		}
		if needed {
			return j.perform(client.StepIntel, c.Intel.StepConfig, j.intel)
		}
	}
	return j.perform(client.StepAssess, c.Assess.StepConfig, j.assess)
}

// notify has people told.
func (j *job) notify() error {
	n, err := j.notification()
	if err != nil {
		return j.fail(j.lease.Context(), client.CallNotify, err)
	}
	return j.send(n)
}

// send hands a notification over.
func (j *job) send(n client.NotificationRequest) error {
	var r client.NotificationResponse
	err := j.follow(j.lease.Context(), func(ctx context.Context) (err error) {
		r, err = j.a.client.Notify(ctx, j.claim.ID, n, notifyWait)
		return err
	})
	if _, ok := errors.AsType[*client.Problem](err); ok && !lease.IsLost(err) && !lease.Transient(err) {
		return j.fail(j.lease.Context(), client.CallNotify, err)
	}
	if err != nil {
		return err
	}
	j.take(r.Ticket, nil)
	j.recorded++
	j.log.Info("a notification is accepted", "title", n.Title, "state", r.Ticket.State)
	return nil
}

// finish ends ticket and claim. In NOTIFYING the receipts finish the ticket.
func (j *job) finish() error {
	summary := cmp.Or(j.ticket.Steps[client.StepAssess].Summary, j.ticket.Steps[client.StepGather].Summary)
	if j.ticket.State == client.StateAssetOffline {
		summary = cmp.Or(j.ticket.Steps[client.StepOnline].Summary, "offline")
	}
	var t client.Ticket
	err := j.follow(j.lease.Context(), func(ctx context.Context) (err error) {
		t, err = j.a.client.Finish(ctx, j.claim.ID, plain.Cut(summary, verdict.MaxSummary))
		return err
	})
	if err == nil {
		j.ticket, j.released = t, true
	}
	return err
}

// notifyWait is how long an asset waits for its notification's delivery. What takes longer finishes without it.
const notifyWait = 2 * time.Second
