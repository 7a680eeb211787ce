#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The Picket Authors
#
# An agent in ten lines. It resumes where an earlier one ended, and picket exec ends it when its claim is lost:
#   picket exec web-01 w48 -- examples/agent.sh HOST PORT TRIVY_REPORT
set -eu
if ! picket done vuln; then
  timeout 5 bash -c ': < "/dev/tcp/$0/$1"' "$1" "$2" 2> /dev/null || { picket step online ASSET_OFFLINE; exec picket finish; }
  picket step online ASSET_ONLINE --fact port:="$2"
fi
found=$(grep -o '"Severity" *: *"CRITICAL"' "$3") || [ $? = 1 ] || { picket fail vuln "cannot read the report $3"; exit 1; }
picket done vuln || picket step vuln VULN_CHECK_DONE --facts "$3"
[ "$found" ] || exec picket step assess FINISHED
critical=$(echo "$found" | wc -l)
picket done assess || picket step assess HIGH_RISK_FOUND --fact critical:="$critical"
picket done notify || picket notify --severity critical --title "Critical on $PICKET_ASSET" --text "$critical findings"
picket finish --summary "$critical critical findings"
