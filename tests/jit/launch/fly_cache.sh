#!/bin/sh
# Runs fly-cache on a directory with files that no cache wrote, and with names that no kernel should have.
#   fly_cache.sh fly-cache cache_key forge_entries
fly_cache=$1 program=$2 forge=$3
there=$(mktemp -d)
trap 'rm -rf "$there"' EXIT
cd "$there" || exit 1
FLYDSL_RUNTIME_CACHE_DIR=$there/cache FLYDSL_RUNTIME_KIND=emulator
export FLYDSL_RUNTIME_CACHE_DIR FLYDSL_RUNTIME_KIND
unset FLYDSL_EMULATOR_CHECK FLYDSL_RUNTIME_ENABLE_CACHE
fail() { echo "$1"; cat out err 2>/dev/null | cat -v; exit 1; }
escape=$(printf '\033')

"$program" >out 2>err || fail "the program failed"
key=$(cut -d' ' -f1 out)
"$fly_cache" list >out 2>err || fail "list failed"
grep -q "axpy_key" out || fail "the kernel is not listed"

# A name with a terminal's escapes is shown, not obeyed.
"$forge" cache name >/dev/null || fail "nothing was forged"
for command in list "show $key"; do
  # shellcheck disable=SC2086
  "$fly_cache" $command >out 2>err || fail "$command failed"
  grep -q 'evil\\x1b\[2J' out || fail "$command does not show the name"
  grep -q "$escape" out && fail "$command sends an escape to the terminal"
done

# A pipe and a terabyte of holes are two bad entries of three; nothing waits and nothing ends early.
folder=cache/$(echo "$key" | cut -c1-2)
mkfifo "$folder/$(echo "$key" | tr 0-9a-f 1-9a-f0).flyc" || exit 1
: >"$folder/$(echo "$key" | tr 0-9a-f 2-9a-f01).flyc"
truncate -s 1T "$folder/$(echo "$key" | tr 0-9a-f 2-9a-f01).flyc" || exit 1
timeout $((60 * ${TIMES_LONGER:-1})) "$fly_cache" verify >out 2>err
[ $? = 1 ] || fail "verify must end with 1"
grep -q "^1 good, 2 bad" out || fail "not one good and two bad"
grep -q "a pipe" out && grep -q "1099511627776 bytes" out || fail "the reasons are not told"

# Devices and links are written through.
timeout $((60 * ${TIMES_LONGER:-1})) "$fly_cache" export /dev/full >out 2>err && fail "a full device takes an archive"
grep -q "No space left" err || fail "the device's answer is not told"
[ -c /dev/full ] || fail "/dev/full was replaced"
ln -s archive link
timeout $((60 * ${TIMES_LONGER:-1})) "$fly_cache" export link >out 2>err # two entries are left out
[ -L link ] && [ -s archive ] || fail "the link was replaced"
timeout $((60 * ${TIMES_LONGER:-1})) "$fly_cache" --dir copy import link >out 2>err || fail "import failed"
grep -q "^imported 1 entries" out || fail "not one entry in the archive"

# A directory that can't be read or made is told as what it is.
"$fly_cache" --dir /proc/none import link >out 2>err && fail "an import into /proc"
grep -q "making the folder /proc/none" out || fail "the folder that can't be made is not named"
"$fly_cache" --dir nowhere list >out 2>err && fail "a directory that is not there is listed"
grep -q "^fly-cache: --dir nowhere: there is no such directory" err || fail "the missing directory is not named"
exit 0
