// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package ui serves pages about the fleet on loopback: what picket ui shows. It is a client of the daemon's socket like any other, with
// the rights of whoever started it, and knows nothing of the daemon's inside.
//
// # Who may look, and act
//
// Other users of this host can connect to a port on loopback, and so can every page that is open in the browser. What keeps them out
// (guard.go; a test a line):
//
//	listens on                 an address of loopback, and on nothing else
//	Host                       a name or address of loopback, against DNS that is bound anew; else 403
//	the first address          has a secret of 128 bits or more, becomes a cookie (HttpOnly, SameSite=Strict) by a redirect that takes it
//	                           out of the address
//	every other request        has the cookie; else 403, for styles and scripts too
//	POST                       comes from the page's own origin, and has the page's token
//	Content-Security-Policy    scripts and styles from here alone, none inline; no frames around or within; forms go here alone.
//	                           A report has no script, and its one style is known by its digest
//	other headers              no referrer, no sniffing, nothing stored, no other origin may embed or open it
//	what is shown              escaped by html/template; signs that nobody can see are written out (visible.go)
//	header, body, time         16 KiB, 16 KiB, 10 s to arrive, a minute to be answered, 64 connections
//
// Cookies know no ports, so a server on another port of loopback gets the cookie of whoever opens its pages in the same browser. It can
// then look, and act, through this port. Whoever opens pages of such servers uses another browser profile for them.
//
// # What is shown
//
// Each page asks the daemon anew, and keeps nothing. Times are told from Redis' clock. The script (files/page.js) fetches the page
// again, puts in its live part what came, and says since when what is shown is old if nothing came. Without the script all is usable.
//
// # The files
//
//	server.go, guard.go          listening, limits; who is let in
//	pages.go, visit.go           the table of pages, and what is posted; what all of them ask and show
//	fleet.go, tasks.go, tickets.go, ticket.go, waiting.go, claims.go, reports.go    one page each; files/NAME.html beside it
//	flow.go, timeline.go         a ticket's flow as a drawing; its history as rows with a lane for each claim
//	act.go                       what administrators decide: every decision is a row
//	show.go, visible.go          times, states, signs
package ui
