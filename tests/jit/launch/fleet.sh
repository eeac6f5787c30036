#!/bin/bash
# Runs the guide's program as machines of a fleet, each with a disk of its own, that share a Redis server.
#   fleet.sh PROGRAM REDIS-SERVER
program=$1 server=$2
there=$(mktemp -d)
"$server" --port 0 --unixsocket "$there/sock" --save '' --dir "$there" --requirepass word >"$there/log" 2>&1 &
redis=$!
trap 'kill -9 $redis; wait $redis 2>/dev/null; rm -rf "$there"' EXIT
export FLYDSL_RUNTIME_KIND=emulator FLYDSL_RUNTIME_REMOTE_CACHE=redis+unix://$there/sock
export FLYDSL_RUNTIME_REMOTE_CACHE_PASSWORD_FILE=$there/word FLYDSL_RUNTIME_REMOTE_CACHE_KEY_FILE=$there/key
unset FLYDSL_EMULATOR_CHECK FLYDSL_RUNTIME_ENABLE_CACHE FLYDSL_AUTOTUNE
(umask 077; echo word >"$there/word"; echo "a key of the fleet's" >"$there/key")
fail() { echo "$1"; cat "$there/out" "$there/err"; exit 1; }
# machine NAME: runs the program on a machine with that disk.
machine() {
  FLYDSL_RUNTIME_CACHE_DIR=$there/$1/cache FLYDSL_AUTOTUNE_CACHE_DIR=$there/$1/autotune "$program" >"$there/out" 2>"$there/err"
}
expect() { grep -qxF "$2" "$there/out" || fail "$1: expected '$2'"; }
for _ in $(seq 500); do [ -S "$there/sock" ] && break; sleep 0.01; done

# The first machine compiles its kernel and the two of the search, and gives them and the winner to the others.
machine one || fail "one: ended with $?"
expect one "kernel: compiled"
grep -q "^winner: .*searched" "$there/out" || fail "one: did not search"
expect one "compiled 3, of the fleet 0, given to it 4, rejected 0, failures 0"
winner=$(grep ^winner "$there/out" | sed 's/, searched//')

# The second compiles and searches nothing; afterwards it has all on its own disk.
machine two || fail "two: ended with $?"
expect two "kernel: remote"
expect two "$winner, known"
expect two "compiled 0, of the fleet 2, given to it 0, rejected 0, failures 0"
kill -STOP $redis
FLYDSL_RUNTIME_REMOTE_CACHE_TIMEOUT=100 machine two || fail "two, without the server: ended with $?"
expect "two, without the server" "kernel: disk"
expect "two, without the server" "compiled 0, of the fleet 0, given to it 0, rejected 0, failures 0"

# A third machine with a server that hangs compiles for itself, and says once why.
FLYDSL_RUNTIME_REMOTE_CACHE_TIMEOUT=100 machine three || fail "three: ended with $?"
expect three "kernel: compiled"
[ "$(grep -c event=remote_down "$there/err")" = 1 ] || fail "three: one line says that the server is down"
kill -CONT $redis

# RUN_ONLY takes the fleet's kernels and compiles nothing.
FLYDSL_RUNTIME_RUN_ONLY=1 machine four || fail "four: ended with $?"
expect four "compiled 0, of the fleet 2, given to it 0, rejected 0, failures 0"
FLYDSL_RUNTIME_RUN_ONLY=1 FLYDSL_RUNTIME_REMOTE_CACHE_PREFIX=empty machine five && fail "five: a miss must be an error"
grep -q "RUN_ONLY: kernel 'scale' .*redis+unix://" "$there/out" || fail "five: the server is not named"

# Wrong configurations are refused before anything is compiled.
refused() {
  machine six && fail "$1 must be refused"
  grep -qF -- "$2" "$there/out" || fail "$1: expected '$2'"
}
FLYDSL_RUNTIME_REMOTE_CACHE=redis://me:word@cache refused "a password in the URL" "FLYDSL_RUNTIME_REMOTE_CACHE_PASSWORD_FILE"
FLYDSL_RUNTIME_REMOTE_CACHE_TTL=soon refused "a time to live" "FLYDSL_RUNTIME_REMOTE_CACHE_TTL=soon: expected a whole number"
chmod o+r "$there/key"
refused "a key that everybody may read" "chmod o-r"
exit 0
