#!/bin/sh
# Ends processes whose threads compile, each after another time: each ends soon and with its own status.
#   exits_of_threads.sh program processes
program=$1 processes=$2
out=$(mktemp)
trap 'rm -f "$out"' EXIT
i=0
while [ "$i" -lt "$processes" ]; do
  delay=$((i * 37 % 400))
  # exit() waits five seconds at most for work that can't be stopped; a machine that is busy takes a while besides.
  timeout $((30 * ${TIMES_LONGER:-1})) "$program" threads "$delay" >"$out" 2>&1
  status=$?
  [ "$status" = 7 ] || { echo "after $delay ms: status $status"; cat "$out"; exit 1; }
  i=$((i + 1))
done
exit 0
