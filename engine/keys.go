// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import "strconv"

// keyspace makes the names of all keys. Those of an asset share one hash tag, so that on Cluster they are in one slot and a
// script may touch them together.
type keyspace struct{ prefix string }

func (k keyspace) asset(a Asset, rest string) string { return k.prefix + ":{" + a.Enc() + "}:" + rest }

func (k keyspace) lock(a Asset) string    { return k.asset(a, "lock") }
func (k keyspace) grant(a Asset) string   { return k.asset(a, "grant") }
func (k keyspace) tickets(a Asset) string { return k.asset(a, "tickets") }

func (k keyspace) ticket(id TicketID) string  { return k.asset(id.Asset, "ticket:"+id.Task) }
func (k keyspace) log(id TicketID) string     { return k.asset(id.Asset, "log:"+id.Task) }
func (k keyspace) refused(id TicketID) string { return k.asset(id.Asset, "refused:"+id.Task) }

// all is the KEYS of every script, as lua/common.lua names them.
func (k keyspace) all(id TicketID) []string {
	of := k.asset(id.Asset, "")
	return []string{of + "lock", of + "grant", of + "ticket:" + id.Task, of + "log:" + id.Task, of + "refused:" + id.Task, of + "tickets"}
}

func (k keyspace) index() string                { return k.prefix + ":tickets" }
func (k keyspace) undelivered(id string) string { return k.prefix + ":undelivered:" + id }

func (k keyspace) hosts() string         { return k.prefix + ":hosts" }
func (k keyspace) host(id string) string { return k.prefix + ":host:" + id }

// store is the incarnation of a master's data; the number makes the key land there.
func (k keyspace) store(n int) string { return k.prefix + ":store:" + strconv.Itoa(n) }

// walk is held by the daemon that walked last, for as long as no other shall.
func (k keyspace) walk() string { return k.prefix + ":walk" }

// released is the channel on which every release is published; the message is the asset, encoded.
func (k keyspace) released() string { return k.prefix + ":released" }
