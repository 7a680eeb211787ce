// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"strconv"
	"strings"
)

// Keys makes the names of all keys below a prefix; docs/schema.md says what stands in each. Those of an asset share one hash tag, so
// that on Cluster they are in one slot and a script may touch them together.
type Keys struct{ prefix string }

func (k Keys) asset(a Asset, rest string) string { return k.prefix + ":{" + a.Enc() + "}:" + rest }

// Lock is the key of an asset's lock.
func (k Keys) Lock(a Asset) string { return k.asset(a, "lock") }

// Grant is the key of an asset's newest grant.
func (k Keys) Grant(a Asset) string { return k.asset(a, "grant") }

// Tickets is the key of the list of an asset's tickets.
func (k Keys) Tickets(a Asset) string { return k.asset(a, "tickets") }

// Ticket is the key of a ticket's hash.
func (k Keys) Ticket(id TicketID) string { return k.asset(id.Asset, "ticket:"+id.Task) }

// Log is the key of a ticket's accepted writes.
func (k Keys) Log(id TicketID) string { return k.asset(id.Asset, "log:"+id.Task) }

// ticketAt is the ticket whose key this is, if it is one.
func (k Keys) ticketAt(key string) (id TicketID, ok bool) {
	enc, task, _ := strings.Cut(strings.TrimPrefix(key, k.Assets()), "}:ticket:")
	a, err := DecodeEnc(enc)
	id = TicketID{a, task}
	return id, err == nil && k.Ticket(id) == key
}

// logOf is the key of the log of the ticket at a key.
func logOf(ticket string) string {
	asset, task, _ := strings.Cut(ticket, "}:ticket:")
	return asset + "}:log:" + task
}

// Refused is the key of a ticket's refused writes.
func (k Keys) Refused(id TicketID) string { return k.asset(id.Asset, "refused:"+id.Task) }

// all is the KEYS of every script, as lua/common.lua names them.
func (k Keys) all(id TicketID) []string {
	of := k.asset(id.Asset, "")
	return []string{of + "lock", of + "grant", of + "ticket:" + id.Task, of + "log:" + id.Task, of + "refused:" + id.Task, of + "tickets"}
}

// Index is the key of a set of the index, of a task or of all.
func (k Keys) Index(part, set string) string { return k.prefix + ":index:{" + part + "}:" + set }

// Tasks is the key of the tasks that there are.
func (k Keys) Tasks() string { return k.Index(all, "tasks") }

// Lists is the key of the lists that are worked on under a task, and Marks that of the chunks of lists whose tickets are all terminal.
func (k Keys) Lists(task string) string { return k.prefix + ":lists:{" + task + "}" }

// Marks is beside Lists.
func (k Keys) Marks(task string) string { return k.prefix + ":marks:{" + task + "}" }

// list is the key of a list's assets.
func (k Keys) list(digest string) string { return k.prefix + ":list:" + digest }

// report is the key of what is noted of a report.
func (k Keys) report(id TicketID) string {
	return k.prefix + ":report:{" + id.Task + "}:" + id.Asset.ReportName()
}

// Undelivered is the key of a part (shardOf) of the tickets that a daemon answers for.
func (k Keys) Undelivered(daemon string, shard int) string {
	return k.prefix + ":undelivered:" + daemon + ":{" + shardTags[shard] + "}"
}

// fleet is the key of something about the daemons. They share one hash tag, too.
func (k Keys) fleet(rest string) string { return k.prefix + ":fleet:{fleet}:" + rest }

// Signs is the key of the daemons' signs of life, and Left of the last ones of those that are gone and answer for nothing.
func (k Keys) Signs() string { return k.fleet("signs") }

// Left is beside Signs.
func (k Keys) Left() string { return k.fleet("left") }

// turns is the key of who looks after which daemon that is gone.
func (k Keys) turns() string { return k.fleet("turns") }

// Host is the key of what is known of a daemon.
func (k Keys) Host(daemon string) string { return k.fleet("host:" + daemon) }

// Incarnation is the key of the incarnation of a master's data; the number makes it land there.
func (k Keys) Incarnation(n int) string { return k.Incarnations() + strconv.Itoa(n) }

// Incarnations is how those keys begin.
func (k Keys) Incarnations() string { return k.prefix + ":store:" }

// Assets is how the keys of assets begin.
func (k Keys) Assets() string { return k.prefix + ":{" }

func (k Keys) walk() string    { return k.prefix + ":walk" }
func (k Keys) walking() string { return k.prefix + ":walking" }
func (k Keys) walked() string  { return k.Index(all, "walked") }
func (k Keys) owed() string    { return k.Index(all, "owed") }

// holder is the channel of the daemons that have a label.
func (k Keys) holder(host string) string { return k.prefix + ":holder:" + host }

// freed is the asset whose lock has this name.
func (k Keys) freed(lock string) (Asset, error) {
	return DecodeEnc(strings.TrimSuffix(strings.TrimPrefix(lock, k.Assets()), "}:lock"))
}

func (k Keys) reopening(task string) string { return k.prefix + ":reopening:{" + task + "}" }
