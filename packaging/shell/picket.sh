# SPDX-License-Identifier: Apache-2.0
# Copyright The Picket Authors
#
# Functions for agents in POSIX shell, over the command picket. A script begins with
#
#   . /usr/share/picket/picket.sh
#   picket_claim "$asset" "$task" "$@"
#
# and runs from there on under a claim: picket exec holds it while the script lives, and ends the script, with all that it
# started, when the claim is lost.

# picket_claim ASSET TASK [ARG…] runs the script again under a claim, with ARG… as its arguments, unless it has one already.
# It waits PICKET_WAIT (30s) for an asset that another holds, then ends with 75. A finished ticket ends it with 0.
picket_claim() {
  [ -z "${PICKET_CLAIM:-}" ] || return 0
  picket_asset=$1 picket_task=$2
  shift 2
  exec picket exec --wait "${PICKET_WAIT:-30s}" "$picket_asset" "$picket_task" -- "$0" "$@"
}

# picket_state prints the ticket's state now; PICKET_STATE is what it was at the start.
picket_state() {
  picket ticket show "$PICKET_ASSET" "$PICKET_TASK" | sed -n 's/^state *//p' | head -n 1
}

# picket_once STEP STATE COMMAND [ARG…] records what COMMAND prints, a JSON object, as the step's facts, unless the step is
# recorded already. When COMMAND, which may be a function and runs in a subshell, fails, that is recorded as the step's failure.
picket_once() (
  step=$1 state=$2
  shift 2
  picket done "$step" && exit 0
  code=$?
  [ "$code" -eq 1 ] || exit "$code"
  facts=$(mktemp) || exit 1
  trap 'rm -f "$facts"' EXIT
  picket_check "$step" "$@" >"$facts" || exit
  picket step "$step" "$state" --facts "$facts" >&2
)

# picket_check STEP COMMAND [ARG…] runs COMMAND in a subshell. When it fails, the last line of its errors is recorded as the
# step's failure. Its code is COMMAND's.
picket_check() (
  step=$1
  shift
  errors=$(mktemp) || exit 1
  trap 'rm -f "$errors"' EXIT
  "$@" 2>"$errors" && code=0 || code=$?
  cat "$errors" >&2
  [ "$code" -eq 0 ] || picket fail "$step" "$1 ended with $code: $(tail -n 1 "$errors" | cut -c 1-1000)" >&2
  exit "$code"
)

# picket_facts STEP prints the facts that are recorded of a step; it needs jq.
picket_facts() {
  picket ticket show --json "$PICKET_ASSET" "$PICKET_TASK" | jq -e --arg step "$1" '.steps[$step].facts'
}

# picket_retry N COMMAND [ARG…] runs COMMAND until it succeeds, N times at most, with a pause that doubles from one second.
picket_retry() (
  left=$1 pause=1
  shift
  until "$@"; do
    code=$?
    left=$((left - 1))
    [ "$left" -gt 0 ] || exit "$code"
    sleep "$pause"
    pause=$((pause * 2))
  done
)
