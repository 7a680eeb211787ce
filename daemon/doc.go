// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package daemon makes one process of the parts: it reads the configuration, wires Redis, outbox, engine, notifier and socket
// API to each other, starts and stops them in order, and tells systemd.
//
// They start in this order, and stop in the reverse one; a start that fails in the middle stops what it started:
//
//	start.go startAudit   the queue in front of the journal; it stops last, and so tells of all the others
//	         startRedis   the client, which connects when it is used, and the check of Redis' settings
//	         startOutbox  a damaged file is set aside; one that another daemon has, or that cannot be written, ends the start
//	         startParts   engine and notifier, each of which asks the other
//	         awaitRedis   at most 2 s, and then as long as claims are taken up without a pause of 1 s: what calls meanwhile waits in the
//	                      socket's queue
//	         serve        the socket that systemd passes, or one of our own
//
// A stop is over within 2 s whatever hangs, because agents rely on their claims no longer than the locks live that nobody renews
// meanwhile. First the notifications in flight end, while the socket serves as ever; one whose receiver does not answer in 0.7 s is
// cut off, and is sent again by the next run, or parked on an at_most_once channel. Then the socket drains: a peer that is slow to
// send its request or to read its answer is cut off, and a call that still waits for Redis after 1.25 s is told so. No claim is
// judged silent from the drain on, until the next run serves. What is cut off is as after a crash, and is told in the log.
//
// Redis is not needed to start. Until it has answered for the first time with settings that may be trusted with locks
// (noeviction), and again whenever they are wrong, the daemon is not ready and grants no claim: STORE_UNAVAILABLE. Claims that
// are held go on.
//
// The configuration is read in two passes, because the decoder forgives too much: config_load.go has agent/strict hold the document
// against the type, then the files whose names end in _check ask whether the values make sense. What is wrong is said all at once, a line each,
// with the line of the file and what would be right. Secrets stand in files, never in Config.
//
// The files, from the top down:
//
//	lifecycle.go                      Run, Start and Stop
//	start.go listen.go                what is started, in order
//	reload.go                         SIGHUP: what a restart would change
//	app.go daemon.go                  New; the Daemon, its parts, and how they end
//	status.go admin.go                what the socket API asks the daemon itself
//	about.go                          what the fleet is told of it: a row of its hosts
//	redis_settings.go                 whether Redis may be trusted with locks
//	redis_connect.go                  why Redis refuses a connection: TLS, a password
//	permissions.go                    what Redis' ACL must let the daemon do
//	listen.go systemd.go              the socket's file is there; what systemd is told
//	log.go                            the log, to the journal or to standard error
//	metrics.go version.go             of the process and of the build
//	memory.go                         what a busy time left is given back
//	redis.go secret.go warnings.go    connections, files with secrets, what is unwise
//	config.go config_load.go          the configuration, and its file
//	config_check.go redis_check.go state_check.go
//	dev.go embedded_redis.go          picket dev
//	examine.go                        what the doctor and readers of the audit ask without a daemon
package daemon
