#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Picket Authors
"""An agent in Python: agent.py HOST PORT TRIVY_REPORT ASSET TASK

It may be frozen or killed at any point: Picket refuses what it writes too late, and the next run resumes."""

import json, pathlib, socket, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "packaging/python"))
import picket


def online(host, port):
    try:
        socket.create_connection((host, port), timeout=5).close()
        return True
    except OSError:
        return False


def findings(report):
    with open(report) as f:
        return [v for result in json.load(f)["Results"] for v in result.get("Vulnerabilities") or []]


def scan(claim, host, port, report):
    if claim.state in ("INIT", "ASSET_OFFLINE"):
        if not online(host, port):
            claim.step("online", "ASSET_OFFLINE")
            return claim.finish("offline")
        claim.step("online", "ASSET_ONLINE", {"port": port})
    if claim.state == "ASSET_ONLINE":
        try:
            claim.step("vuln", "VULN_CHECK_DONE", {"findings": findings(report)})
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:  # no report is not "nothing found"
            claim.fail("vuln", "cannot read the report %s: %r" % (report, e))
            raise
    found = claim.recorded("vuln")["facts"]["findings"]
    critical = sorted({v["VulnerabilityID"] for v in found if v["Severity"] == "CRITICAL"})
    if not critical:
        return claim.finish("nothing critical")
    if claim.state == "VULN_CHECK_DONE":
        claim.step("assess", "HIGH_RISK_FOUND", {"critical": critical})
    if claim.state == "HIGH_RISK_FOUND":
        claim.notify("Critical on " + claim.ticket["asset"], "\n".join(critical), "critical", wait="10s")
    claim.finish(", ".join(critical))


if len(sys.argv) != 6:
    print("usage: agent.py HOST PORT TRIVY_REPORT ASSET TASK", file=sys.stderr)
    sys.exit(64)
host, port, report, asset, task = sys.argv[1:]
try:
    with picket.Client().claim(asset, task, wait="30s") as claim:
        if not claim.done:
            scan(claim, host, int(port), report)
except picket.ClaimLost as e:
    print(e, file=sys.stderr)
    sys.exit(124)
