#!/bin/sh
# A wrong value of an environment variable is refused with a list of the valid values.
#   wrong_environment.sh cache_key program-of-the-emulator-alone
program=$1 alone=$2
there=$(mktemp -d)
trap 'rm -rf "$there"' EXIT
cd "$there" || exit 1
FLYDSL_RUNTIME_KIND=emulator FLYDSL_RUNTIME_ENABLE_CACHE=0 FLYDSL_AUTOTUNE_CACHE_DIR=$there/winners
export FLYDSL_RUNTIME_KIND FLYDSL_RUNTIME_ENABLE_CACHE FLYDSL_AUTOTUNE_CACHE_DIR
fail() { echo "$1"; cat out err; exit 1; }
refused() { # variable, what it takes
  env "$1=garbage" "$program" autotune >out 2>err && fail "$1=garbage is accepted"
  grep -q "$1=garbage: expected .*$2" err || fail "$1=garbage is refused without what it takes"
}
refused FLYDSL_EMULATOR_COUNTERS "1 or 0"
refused FLYDSL_EMULATOR_LOG "off, error, notice, info or debug"
refused FLYDSL_EMULATOR_DEVICES "from 0 to 64"
refused FLYDSL_DEBUG_LOG_LEVEL "off, error, warn, info, debug"
refused FLYDSL_COMPILE_TIMEOUT "from 0 to 1000000"
refused FLYDSL_AUTOTUNE "1 or 0"

# By the emulator alone, for a program that has no libflydsl: it reports no device and says why.
FLYDSL_EMULATOR_COUNTERS=2 "$alone" >out 2>err && fail "the emulator takes 2 for a flag"
grep -q "FLYDSL_EMULATOR_COUNTERS=2: expected 1 or 0" err || fail "the emulator does not name the variable"

# Counters are a report, not an error.
FLYDSL_RUNTIME_KIND=emulator FLYDSL_EMULATOR_COUNTERS=1 "$program" autotune >out 2>err || fail "the search failed"
grep -q "^flydsl emulator: counters of axpy_tuned" err || fail "no report of counters"
grep -q "error: counters" err && fail "the report calls itself an error"
exit 0
