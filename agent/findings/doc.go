// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package findings turns what scanners print into one form, and reads the files of threat intelligence that say which of
// it matters. It knows nothing of Picket.
//
// # Half a scan is an error
//
// Whoever reads "no findings" takes an asset for clean. So an output counts only when it is whole, by its format: a JSON
// document that is closed, and nothing behind it; XML with nmap's runstats, and a host that was up. One that is empty, cut
// off, damaged, too large, of another scanner, or of a version that is not known is an error that says where and what it looks
// like, and no finding of it is returned. One thing cannot be seen: nuclei's JSON Lines have no end, so a file of them that was
// cut exactly between two lines reads as a shorter scan, and an empty one as a scan that matched nothing. Of these Ended is
// false: the scanner's own end and exit code must tell (OKExit).
//
// A scan that looked at nothing is an error, too: Trivy of an image, a machine or a list of packages in which it found neither
// a system nor a package; nmap of no host that is up, or of no port (-sn); SARIF without runs or results; OSV-Scanner's empty
// output. Grype and nuclei do not tell how much they looked at.
//
// A Report names its targets, so that who asked can see whether it is of the right asset: nmap its hosts by address and name,
// nuclei by host and address, Trivy and Grype an image by its names and digests, trivy k8s the cluster. OSV-Scanner, SARIF,
// "findings" and scans of folders name none. Made is the end of the scan as nmap, nuclei, Trivy, Grype and SARIF tell it.
//
// # Formats
//
//	name      what                                       known versions                           empty output
//	nuclei    -jsonl, or the array of -json-export       2 (early names too) and 3                nothing matched
//	trivy     --format json                              schema 2, the array before it, k8s       error
//	grype     -o json                                    0.x, EPSS and KEV inside or not          error
//	nmap      -oX                                        xmloutputversion 1.x                     error
//	osv       OSV-Scanner's --format json                1 and 2                                  error: it prints nothing when it
//	                                                                                              failed or found no packages
//	sarif     SARIF of any tool                          2.1.0                                    error
//	findings  {"findings": […]}, the form of Finding     –                                        error
//
// Unknown fields are ignored. Only "findings" is written for this reader, so there what would be lost of a severity is an
// error: a word that is not known, a score that is none or out of its range, a name that was meant for one of them as
// "cvss_score". UTF-8 is expected, with a byte order mark or without; UTF-16 needs one.
//
// # What is taken
//
//	          severity                                 score                                     what is no finding
//	nuclei    info.severity                            classification: score, else metrics       matcher-status false
//	trivy     Severity; unknown: worst VendorSeverity  CVSS of all sources                       Status not_affected, checks not
//	                                                                                             FAIL, modified findings
//	grype     vulnerability's; unknown: its related    cvss of it and its related                ignoredMatches
//	nmap      from the score, else the risk factor     vulners', those of the vulns library      ports not open, scripts that
//	                                                                                             report no vulnerability
//	osv       database_specific.severity, Ubuntu's     vectors, else the group's max_severity    –
//	findings  severity, else from the score            cvss, epss                                –
//	sarif     from the score, else a word in its       security-severity of result or rule,      suppressed, kind not fail,
//	          place, else level, else the rule's as    else cvssv3_baseScore                     baselineState absent
//	          overridden, else its own, else warning
//
//	          fixed_in                                 url
//	nuclei    –                                        the first of info.reference, else template-url
//	trivy     FixedVersion                             PrimaryURL, else the first reference; a licence's Link
//	grype     fix.versions                             dataSource, else the first of urls
//	nmap      –                                        vulners' page, the vulns library's first reference
//	osv       events of the package, but no commits    an ADVISORY, else any reference, else its page at osv.dev
//	sarif     "Fixed Version:" in Trivy's messages     the rule's helpUri
//	findings  fixed_in                                 url
//
// A link is an address with http or https and without a user; any other is left out.
//
// Trivy's misconfigurations, secrets and licences are findings; what a secret says is not taken. A policy without metadata has
// its namespace for an id. OSV-Scanner's groups are one finding each. What its call analysis found uncalled is a finding all the
// same, and so is a licence that was not allowed; the id of a licence begins with "license:". nmap's open ports are findings with
// severity info and the id "open-port"; vulners and scripts that use NSE's vulns library add theirs, at whatever depth their
// tables stand, or from the text where there are none. Characters that XML forbids are U+FFFD there: nmap writes what a service
// answers, and whoever runs one could spoil the report.
//
// Of SARIF, each location of a result is a finding, and fingerprints do not count. A rule is found by the result's id; an index
// counts only where it leads to a rule of that id, or where there is no id. CVEs in "cve" and "tags" of the properties are names
// of a finding; where these and the rule's ids have none, so are those in brackets at the beginning of a text of the rule, or
// the only one in it. A message that is an id is looked up in the rule and in its component, and gets its arguments. A run that
// found nothing and has a notification of level error is an error; with findings it is not, for tools report a file that they
// cannot read as an error, too. A run that calls itself unsuccessful (executionSuccessful) is used where it found something and
// its exit code is one of those that Read was given, or is 0 or 1 with no error told: some tools mean that they found something.
// Where the log has no exit code, others than 0 must have been given to Read.
//
// Scores are CVSS base scores, computed where only a vector is given: the highest of versions 3.x and 4.0, and version 2
// where there is nothing newer. A vector may have its metrics in any order and size of letters, no prefix or another version's, and
// signs left over at its ends: the metrics tell the version. One that cannot be read stands in the finding (Vector) where there is
// no score, to be told. A number outside 0 to 10 is no score. Severities are understood in any case and under other
// names (moderate, important, negligible, warning, a number); without one, the score decides by the scale of CVSS 3.1; what
// is neither is "unknown". A malicious package (MAL-…) is critical.
//
// The id is the first CVE among a finding's names, in capitals, else the scanner's own id; the other names are aliases. KEV and
// EPSS should be asked for what CVEs returns: a finding has room for 64 aliases, a report for all. Findings of one id, package
// and location are merged, and the worst of each field is kept; where the id is no CVE, the title must be the same too, for one
// rule may find several things. What SARIF and Trivy's policies find is told apart by its message as well: two packages of an
// image have one location.
//
// In the next scan a finding is the same when id, package and place are, and the place counts without what differs each time
// (Identity): query and fragment of an address, folders for temporary files, UUIDs, digests, random characters, times in seconds.
//
// KEV and EPSS are refused when their date is more than a day ahead of this host's clock.
//
// # Limits
//
// Input is read as a stream and may be of any size; its context ends it. One value in it may have 16 MiB and 400,000 parts; there
// may be 200,000 findings; what is kept of a report while it is read may have 128 MiB, with 256 bytes for each thing beside its
// texts; a tool of SARIF's may have 10,000 extensions, a script of nmap's 10,000 reports; what is skipped may be nested 200 deep,
// XML 64. Past a limit is an error. Titles are cut to 200 bytes, ids to 128,
// packages and locations to 512, aliases to 64; each is one line without control and formatting characters.
//
// # Size
//
// The package has more than 3,000 lines and stays in one piece: a format is a row in parse.go and files of its
// own, and all read through one source and fill one collector, whose limits nobody else may lift.
package findings
