#!/usr/bin/env bash
# abi_test.sh SOURCE BUILD WORK: programs of the last release run with this build's libraries, and scripts/abi refuses what would break one.
set -euo pipefail
source=$1 build=$2 work=$3
fail() { echo "$*" >&2; exit 1; }
command -v abidiff >/dev/null || { echo "skipped: abidiff (abigail-tools) is not installed"; exit 77; }
cd "$source"
rm -rf "$work"
scripts/abi dump "$build" "$work/same"
scripts/abi compare "$work/same"
scripts/abi compare "$work/same" "$work/same" >"$work/said" || fail "a build is not compatible with itself: $(cat "$work/said")"
grep -q '<function-decl' "$work/same/types.abi" || fail "the dump has no types"

# refused NAME TEXT: the last release is as in folder NAME, and this build would break its programs for the reason TEXT.
refused() {
  scripts/abi compare "$work/same" "$work/$1" >"$work/said" 2>&1 && fail "$1 is accepted"
  grep -q -- "$2" "$work/said" && grep -q 'raise the major version' "$work/said" || fail "$1: $(cat "$work/said")"
}
# A function is gone that the release had.
cp -r "$work/same" "$work/function"
# It has no other name: a constructor may have two, and a dump in which one of them is gone is damaged.
symbol=$(awk -F"'" '/<elf-symbol name=._ZN6flydsl2v1.*func-type/ && !/alias=/ { names[++count] = $2 }
                    match($0, /alias=.[^\x27]*/) { aliased[substr($0, RSTART + 7, RLENGTH - 7)] = 1 }
                    END { for (k = 1; k <= count; ++k) if (!(names[k] in aliased)) { print names[k]; exit } }' "$work/same/libflydsl_runtime.abi")
[ -n "$symbol" ] || fail "the dump of libflydsl_runtime has no function with one name"
sed -i "0,/name='$symbol'/s/name='$symbol'/name='${symbol}gone'/" "$work/function/libflydsl_runtime.abi"
refused function 'Removed'
# A field of a struct has moved.
cp -r "$work/same" "$work/field"
line=$(grep -n -m1 "var-decl name='soft_cap'" "$work/same/types.abi" | cut -d: -f1)
sed -i "$((line - 1))s/offset-in-bits='[0-9]*'/offset-in-bits='8'/" "$work/field/types.abi"
cmp -s "$work/same/types.abi" "$work/field/types.abi" && fail "the planted change is none"
refused field 'offset changed'
# A new SONAME may break them.
cp -r "$work/function" "$work/major"
sed -i "s/soname='libflydsl/soname='old_libflydsl/" "$work/major/libflydsl.abi"
scripts/abi compare "$work/same" "$work/major" >"$work/said" || fail "a new SONAME is refused: $(cat "$work/said")"
echo "additions pass; what is gone or moved is refused"
