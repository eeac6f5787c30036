#!/usr/bin/env bash
# conan_test.sh SOURCE WORK: `conan create` of packaging/conan, which builds the package and a program that uses it, and runs that on the
# emulator; and what the recipe refuses. The small libraries are the system's, so that no server is asked. CTest counts it as skipped where there is no Conan 2.
set -euo pipefail
source=$1 work=$2
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "$*" >&2; exit 1; }
command -v conan >/dev/null || skip "conan is not installed"
[[ "$(conan --version)" == *" version 2."* ]] || skip "the recipe is for Conan 2, this is $(conan --version)"
mkdir -p "$work"
export CONAN_HOME=$work/home
options=(--no-remote -o 'flydsl/*:system_libraries=True' -c tools.cmake.cmaketoolchain:generator=Ninja
  -c "tools.cmake.cmake_layout:test_folder=$work/test") # not in the source tree
conan profile detect --force >/dev/null 2>&1

# refuses TEXT SETTING: the recipe says the text of a machine or a compiler that it is not for.
refuses() {
  local said
  said=$(conan create "$source/packaging/conan" "${options[@]}" -s "$2" 2>&1) && fail "the recipe takes $2"
  grep -q -- "$1" <<<"$said" || fail "of $2 the recipe says: $said"
}
refuses 'Linux on x86_64, not for Linux on armv8' arch=armv8
refuses 'gcc 12 or clang 16 and later, not for gcc 11' compiler.version=11

conan create "$source/packaging/conan" "${options[@]}" >"$work/create.log" 2>&1 || fail "$(tail -40 "$work/create.log")"
[ "$(grep -c '^PASS$' "$work/create.log")" = 2 ] || fail "the package's programs did not pass: $(tail -40 "$work/create.log")"
echo "created, used by two programs: $(conan list 'flydsl/*:*' 2>/dev/null | grep -m1 -o 'flydsl/[0-9.]*')"
