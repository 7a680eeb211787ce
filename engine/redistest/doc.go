// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package redistest starts real redis-servers for tests: one, a Cluster, a Sentinel set, and a proxy that puts faults
// between a client and a server.
//
// Everything listens on loopback or on Unix sockets in a folder of its own, keeps nothing on disk unless asked to, and
// ends with its test, also when the test process is killed. Without redis-server in PATH a test fails and says what to
// install; it is not skipped, because the promises of this project cannot be tested without Redis.
//
// The package is for tests only. It imports nothing but the standard library, go-redis and golang.org/x/sys.
package redistest
