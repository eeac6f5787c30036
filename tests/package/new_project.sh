#!/usr/bin/env bash
# new_project.sh PREFIX DIRECTORY: fly-new of the package that is installed in PREFIX makes a project that builds and passes its test, and refuses
# what it can't make.
set -euo pipefail
prefix=$1 directory=$2
rm -rf "$directory"
new=$prefix/bin/fly-new

"$new" first-kernel --in "$directory"
cd "$directory/first-kernel"
cmake -S . -B build -G Ninja -DCMAKE_CXX_COMPILER=g++ "-DCMAKE_PREFIX_PATH=$prefix" >/dev/null
cmake --build build
ctest --test-dir build --output-on-failure
FLYDSL_RUNTIME_KIND=emulator build/first-kernel | grep -q 'y\[0\] = '
test -f .gitignore
if grep -r '@NAME@' --exclude-dir=build .; then exit 1; fi

# refuses STATUS TEXT ARGUMENTS...: the tool ends with the status and says the text.
refuses() {
  local status=$1 text=$2 said; shift 2
  said=$("$new" "$@" 2>&1) && { echo "fly-new $* is accepted"; exit 1; } || test $? = "$status"
  grep -q -- "$text" <<<"$said" || { echo "fly-new $*: $said"; exit 1; }
}
cd ..
refuses 1 'exists already' first-kernel
refuses 1 'begins with a letter' ../outside
refuses 1 'begins with a letter' 1st
refuses 1 "a target 'test' already" test
refuses 1 'Not a directory' second --in first-kernel/main.cpp
refuses 2 'NAME is required'
