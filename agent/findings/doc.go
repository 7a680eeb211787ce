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
// like, and no finding of it is returned. One thing cannot be seen: nuclei's JSON Lines have no end, so a file of them that was cut exactly between
// two lines reads as a shorter scan, and an empty one as a scan that matched nothing. The exit code must tell (OKExit).
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
//	                                                                                             FAIL, licences, modified findings
//	grype     vulnerability's; unknown: its related    cvss of it and its related                ignoredMatches
//	nmap      from the score, else the risk factor     vulners', those of the vulns library      ports not open, scripts that
//	                                                                                             report no vulnerability
//	osv       database_specific.severity, Ubuntu's     vectors, else the group's max_severity    licence violations
//	findings  severity, else from the score            cvss, epss                                –
//	sarif     from the score, else a word in its       security-severity of result or rule,      suppressed, kind not fail,
//	          place, else level, else the rule's       else cvssv3_baseScore                     baselineState absent
//	          level, else warning
//
// Trivy's misconfigurations and secrets are findings; what a secret says is not taken. A policy without metadata has its
// namespace for an id. OSV-Scanner's groups are one finding each. What its call analysis found uncalled is a finding all the
// same. nmap's open ports are findings with severity info and the id "open-port"; vulners and scripts that use NSE's vulns
// library add theirs, at whatever depth their tables stand, or from the text where there are none.
//
// Of SARIF, each location of a result is a finding, and fingerprints do not count. A rule is found by the result's id; an index
// counts only where it leads to a rule of that id, or where there is no id. CVEs in "cve" and "tags" of the properties are names
// of a finding; where these and the rule's ids have none, so are those in brackets at the beginning of a text of the rule, or
// the only one in it. A run that ended well, but found nothing and has a notification of level error, is an error; with
// findings, executionSuccessful alone decides, for tools report a file that they cannot read as an error, too.
//
// Scores are CVSS base scores, computed where only a vector is given: the highest of versions 3.x and 4.0, and version 2
// where there is nothing newer. A number outside 0 to 10 is no score. Severities are understood in any case and under other
// names (moderate, important, negligible, warning, a number); without one, the score decides by the scale of CVSS 3.1; what
// is neither is "unknown". A malicious package (MAL-…) is critical.
//
// The id is the first CVE among a finding's names, in capitals, else the scanner's own id; the other names are aliases. KEV
// and EPSS should be asked for id and aliases. Findings of one id, package and location are merged, and the worst of each
// field is kept; where the id is no CVE, the title must be the same too, for one rule may find several things. What SARIF and
// Trivy's policies find is told apart by its message as well: two packages of an image have one location.
//
// KEV and EPSS are refused when their date is more than a day ahead of this host's clock.
//
// # Limits
//
// Input is read as a stream and may be of any size. One value in it may have 16 MiB; there may be 200,000 findings with 64 MiB
// of text; what is skipped may be nested 200 deep, XML 64. Past a limit is an error. Titles are cut to 200 bytes, ids to 128,
// packages and locations to 512, aliases to 64; each is one line without control and formatting characters.
package findings
