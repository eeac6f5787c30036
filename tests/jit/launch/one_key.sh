#!/bin/sh
# A kernel has one key whatever compiler built the program that traces it.
#   one_key.sh source include folder-of-the-library compiler compiler
set -e
source=$1 include=$2 library=$3
shift 3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
FLYDSL_RUNTIME_CACHE_DIR=$scratch/cache
export FLYDSL_RUNTIME_CACHE_DIR
for compiler in "$@"; do
  "$compiler" -std=c++20 -I"$include" "$source" -o "$scratch/program" -L"$library" -lflydsl -Wl,-rpath,"$library"
  "$scratch/program" >"$scratch/keys"
  [ "$(wc -l <"$scratch/keys")" = 4 ] || { echo "$compiler: four keys, not $(cat "$scratch/keys")"; exit 1; }
  [ ! -f "$scratch/first" ] || cmp "$scratch/first" "$scratch/keys" || { echo "$compiler gives other keys"; exit 1; }
  cp "$scratch/keys" "$scratch/first"
done
