#!/bin/sh
# Runs `exits` in each of its modes, several times: it must end with status 0 and print the expected text.
#   exits.sh program
program=$1
out=$(mktemp)
trap 'rm -f "$out"' EXIT
refused='error: the process exits, or this thread has ended: kernels are compiled before'
expect() { # mode times pattern...
  mode=$1 times=$2
  shift 2
  while [ "$times" -gt 0 ]; do
    timeout $((60 * ${TIMES_LONGER:-1})) "$program" "$mode" >"$out" 2>&1
    status=$?
    [ $status = 0 ] || { echo "$mode: status $status"; cat "$out"; exit 1; }
    for pattern in "$@"; do
      grep -q "$pattern" "$out" || { echo "$mode: no '$pattern'"; cat "$out"; exit 1; }
    done
    times=$((times - 1))
  done
}
expect atexit-before 3 '^compiled$' "$refused"
expect atexit-between 3 '^compiled$' "$refused"
expect static 3 '^compiled$' "$refused"
expect atexit-after 3 '^compiled$' "$refused"
expect static-alone 2 '^compiled$'
expect made-meanwhile 2 '^after the compile$'
expect background 8 '^compiled$'
expect launch 20 '^compiled$'
