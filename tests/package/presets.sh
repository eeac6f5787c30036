#!/bin/sh
# Every preset configures, and so does each part of the project that can be left out; in none of them is a precompiled header used at
# another level of optimization than its own, which Clang refuses. With the name of a preset: it builds, whole.
#   presets.sh source scratch [preset]
source=$1 scratch=$2 preset=$3
rm -rf "$scratch"
mkdir -p "$scratch"
trap 'rm -rf "$scratch"' EXIT
cd "$source" || exit 1

# configure folder arguments
configure() {
  folder=$1
  shift
  cmake "$@" -B "$scratch/$folder" >"$scratch/log" 2>&1 || { cat "$scratch/log"; echo "$folder: it does not configure"; exit 1; }
}

if [ -n "$preset" ]; then
  configure "$preset" --preset "$preset"
  # What the build preset of this name builds.
  [ "$preset" = fuzz ] && target="--target libfuzzers" || target=
  # shellcheck disable=SC2086
  cmake --build "$scratch/$preset" $target >"$scratch/log" 2>&1 || { grep -E "error|FAILED" "$scratch/log" | head -50; tail -5 "$scratch/log"; exit 1; }
  exit 0
fi

# One line for each level at which a precompiled header is made or used: "header level maker|user".
levels() {
  sed -n 's/^ *"command": "\(.*\)",*$/\1/p' "$1/compile_commands.json" | awk '
    /cmake_pch/ {
      level = "-O0"; header = ""; role = "user"
      for (i = 1; i <= NF; ++i) {
        if ($i ~ /^-O/) level = $i
        if ($i ~ /cmake_pch[^ ]*\.pch$/) { header = $i; if ($(i - 1) == "-o") role = "maker" }
      }
      if (header != "") print header, level, role
    }' | sed 's,^[^ ]*/CMakeFiles/,,; s,^CMakeFiles/,,' | sort -u
}

presets=$(cmake --list-presets | sed -n 's/^ *"\([^"]*\)".*/\1/p')
[ -n "$presets" ] || { echo "no presets"; exit 1; }
for preset in $presets; do
  configure "$preset" --preset "$preset"
done
for part in TESTS SAMPLES BENCH; do
  configure "release-without-$part" --preset release "-DFLYDSL_BUILD_$part=OFF"
done
for folder in "$scratch"/*/; do
  levels "$folder" >"$scratch/levels"
  grep -q " maker$" "$scratch/levels" && grep -q " user$" "$scratch/levels" || { echo "$folder: no precompiled header in it"; exit 1; }
  mixed=$(awk '{ print $1, $2 }' "$scratch/levels" | sort -u | awk '{ print $1 }' | uniq -d)
  [ -z "$mixed" ] || { echo "$folder: used at another level of optimization than it was made at: $mixed"; grep -F "$mixed" "$scratch/levels"; exit 1; }
done
exit 0
