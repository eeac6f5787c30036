#!/bin/sh
# Two builds of the library share a cache directory. Neither uses the other's entries, and both keep
# their own.
#   two_builds.sh program fly-cache folder-of-one-build folder-of-the-other
program=$1 fly_cache=$2 one=$3 other=$4
FLYDSL_RUNTIME_CACHE_DIR=$(mktemp -d)
export FLYDSL_RUNTIME_CACHE_DIR
trap 'rm -rf "$FLYDSL_RUNTIME_CACHE_DIR"' EXIT
expect() { # tier, folder
  found=$(LD_LIBRARY_PATH=$2 "$program")
  [ "$found" = "$1" ] || { echo "build in $2: the kernel is $found, not $1"; exit 1; }
}
expect compiled "$one"
expect compiled "$other"
expect disk "$one"
expect disk "$other"
entries=$("$fly_cache" list | grep -c shift)
[ "$entries" = 2 ] || { echo "$entries entries, not 2"; exit 1; }
