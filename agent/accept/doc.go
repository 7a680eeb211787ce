// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package accept reads which risks people have accepted, from files of entries and from OpenVEX documents, and says of a ticket's
// findings which of them are. A mistake in a file refuses the whole of it: what was meant to be accepted would be told, or worse, what
// was not would be kept quiet.
//
// # An entry
//
//	[[accept]]
//	id = "CVE-2024-1234"            # or an alias, in any case
//	assets = ["web-*", "10.0.0.0/8"] # names, * for any letters; networks, for assets whose host is an address
//	package = ""                    # its name, or name and version; empty: any
//	until = 2027-01-31              # the last day, in UTC by Redis' clock
//	by = "security"
//	reason = "not reachable from outside"
//
// The first entry of the files that meets a finding and is not over accepts it. One that is over is recorded as ended, if nothing else
// accepts the finding, which counts.
//
// # OpenVEX
//
// A statement with the status not_affected or fixed accepts, one with affected or under_investigation does not. Of all statements that
// meet a finding, in whatever document, that with the latest timestamp decides, its own or else its document's; of equal ones, the
// last. An entry needs no statement, and is not taken back by one.
//
// A statement meets a finding whose id or alias is its vulnerability's name or alias, and one of whose products is
//
//   - the package: a package URL of the package's name, and of its version where the URL has one. Type, architecture and
//     distribution do not count: findings do not have them.
//   - the asset: its name, as identifier; or an image by a package URL of the type oci, with repository_url, and tag or digest
//     where the URL has one. With subcomponents, only in packages that one of them names, as above.
//
// A product that is identified by hashes or CPE alone meets nothing, and so does a package with subcomponents: findings do not tell
// what is within a package.
//
// # Limits
//
// A file has at most 16 MiB, and at most 20,000 entries or statements; a statement, 20,000 products. All files together have at most 200,000
// pairs of statement and product, and entries.
package accept
