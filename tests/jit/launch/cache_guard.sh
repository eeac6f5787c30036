#!/bin/sh
# Checks what the keys of the cache and of autotuning depend on, and what they do not depend on.
#   cache_guard.sh cache_key forge_entries fake-hip-library folder-of-libflydsl
program=$1 forge=$2 fake=$3 library=$4
there=$(mktemp -d)
trap 'rm -rf "$there"' EXIT
cd "$there" || exit 1
FLYDSL_RUNTIME_CACHE_DIR=$there/cache FLYDSL_AUTOTUNE_CACHE_DIR=$there/winners
export FLYDSL_RUNTIME_CACHE_DIR FLYDSL_AUTOTUNE_CACHE_DIR
unset FLYDSL_EMULATOR_CHECK FLYDSL_RUNTIME_ENABLE_CACHE FLYDSL_RUNTIME_KIND
fail() { echo "$1"; cat err 2>/dev/null; exit 1; }
expect() { # what it is, expected, found
  [ "$2" = "$3" ] || fail "$1: expected '$2', found '$3'"
}

# The emulator's checks change the key where the emulator runs the code, and nowhere else.
plain=$(FLYDSL_RUNTIME_KIND=emulator "$program" 2>err | cut -d' ' -f1)
[ -n "$plain" ] || fail "no key"
expect "a key for a GPU" "$plain" \
  "$(FLYDSL_EMULATOR_CHECK=all FLYDSL_RUNTIME_KIND=hip LD_PRELOAD=$fake "$program" 2>err | cut -d' ' -f1)"
expect "a key for the emulator without checks" "$plain" \
  "$(FLYDSL_EMULATOR_CHECK=none FLYDSL_RUNTIME_KIND=emulator "$program" 2>err | cut -d' ' -f1)"
checked=$(FLYDSL_EMULATOR_CHECK=all FLYDSL_RUNTIME_KIND=emulator "$program" 2>err | cut -d' ' -f1)
[ -n "$checked" ] && [ "$checked" != "$plain" ] || fail "no line tables for the emulator's checks"

# An entry that is whole and does not fit the call is compiled again, once.
FLYDSL_RUNTIME_KIND=emulator
export FLYDSL_RUNTIME_KIND
expect "an entry" "$plain disk" "$("$program" 2>err)"
"$forge" "$there/cache" >/dev/null || fail "nothing was forged"
expect "a forged entry" "$plain compiled" "$("$program" 2>err)"
grep -q "argument 0 has" err || fail "the log does not say why the entry is not used"
expect "the entry that replaced it" "$plain disk" "$("$program" 2>err)"

# Winners depend on the library's contents, not on its time.
mkdir lib
cp -L "$library"/libflydsl.so* lib/ || exit 1
FLYDSL_EMULATOR_LIBRARY=$(ls "$library"/libflydsl_emulator.so | head -n 1)
LD_LIBRARY_PATH=$there/lib
export FLYDSL_EMULATOR_LIBRARY LD_LIBRARY_PATH
expect "the first search" search "$("$program" autotune 2>err)"
expect "the second search" cache "$("$program" autotune 2>err)"
touch -d '2001-02-03' lib/*
expect "a search after a touch of the library" cache "$("$program" autotune 2>err)"
exit 0
