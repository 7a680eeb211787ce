// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package daemon makes one process of the parts: it reads the configuration, wires Redis, outbox, engine, notifier and socket
// API to each other, starts and stops them in order, and tells systemd.
//
// The order is outbox, engine, notifier, socket API; a start that fails in the middle stops what it started, in the order
// that Stop uses. Redis is not needed to start: until it answers with settings that are safe, the daemon is not ready and
// answers STORE_UNAVAILABLE. The outbox is not needed either to keep locks: a damaged file is set aside, and one that cannot
// be opened at all is an error at start, because a daemon without an identity answers for nothing.
package daemon
