// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Command bench measures figures of the daemon beside their floors, in one run on the machine at hand, and prints a table for
// BENCHMARKS.md. Run it from the root of the repository with make bench, which builds the daemon first.
//
// It starts a redis-server, bin/picket daemon, and a floor: this same program, serving the same calls with the same Redis work
// (redsync, the same Lua scripts with the same arguments) behind handlers that do nothing else. The same client calls both, in
// turns, A B B A, so that what else the machine does meets both alike. Only the ratios mean something.
package main
