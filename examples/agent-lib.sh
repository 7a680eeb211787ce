#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Picket Authors
#
# An agent with the shell library: agent-lib.sh HOST PORT TRIVY_REPORT ASSET TASK
# It takes its claim itself, and resumes where an earlier one ended.
set -eu
. "$(dirname "$0")/../packaging/shell/picket.sh"
picket_claim "$4" "$5" "$@"
host=$1 port=$2 report=$3

connects() { timeout 5 bash -c ': < "/dev/tcp/$0/$1"' "$host" "$port"; }
facts() { echo "{\"critical\": $n}"; }

case $(picket_state) in INIT | ASSET_OFFLINE)
  picket_retry 2 connects || { picket step online ASSET_OFFLINE; exec picket finish --summary offline; }
  picket step online ASSET_ONLINE --fact port:="$port" ;;
esac
picket_once vuln VULN_CHECK_DONE cat "$report"
ticket=$(picket ticket show --json "$PICKET_ASSET" "$PICKET_TASK") # what is recorded decides: the report may be gone by now
found=$(printf '%s\n' "$ticket" | grep -o '"Severity" *: *"CRITICAL"') || [ $? = 1 ] # 1: none is there
[ "$found" ] || exec picket finish --summary "nothing critical"
n=$(printf '%s\n' "$found" | wc -l)
picket_once assess HIGH_RISK_FOUND facts
picket done notify || picket notify --severity critical --title "Critical on $PICKET_ASSET" --text "$n findings"
picket finish --summary "$n critical findings"
