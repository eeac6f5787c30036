#!/usr/bin/env bash
# vcpkg_test.sh SOURCE WORK: installs the port of packaging/vcpkg by vcpkg (whose checkout VCPKG_ROOT names), builds a program with it and runs that
# on the emulator. The small libraries are the system's, by empty ports in their place, so that nothing is fetched; the release form alone is built.
# CTest counts it as skipped where there is no vcpkg.
set -euo pipefail
source=$1 work=$2
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "$*" >&2; exit 1; }
command -v vcpkg >/dev/null || skip "vcpkg is not installed"
command -v patchelf >/dev/null || skip "patchelf, which vcpkg would fetch, is not installed"
[ -e "${VCPKG_ROOT:-}/.vcpkg-root" ] || skip "VCPKG_ROOT names no checkout of vcpkg"
mkdir -p "$work/triplets"
export VCPKG_FORCE_SYSTEM_BINARIES=1 VCPKG_DISABLE_METRICS=1

# The manifest as vcpkg itself would write it.
cp "$source/packaging/vcpkg/vcpkg.json" "$work/formatted.json"
vcpkg format-manifest "$work/formatted.json" >"$work/format.log"
diff "$source/packaging/vcpkg/vcpkg.json" "$work/formatted.json" || fail "vcpkg format-manifest would change vcpkg.json"

for port in cli11 nlohmann-json spdlog xxhash zstd zlib; do
  mkdir -p "$work/system/$port"
  printf '{ "name": "%s", "version-string": "system" }\n' $port >"$work/system/$port/vcpkg.json"
  echo 'set(VCPKG_POLICY_EMPTY_PACKAGE enabled)' >"$work/system/$port/portfile.cmake"
done
printf '%s\n' 'include("$ENV{VCPKG_ROOT}/triplets/x64-linux.cmake")' 'set(VCPKG_BUILD_TYPE release)' >"$work/triplets/x64-linux.cmake"
installed=$work/installed
(cd "$work" && vcpkg install flydsl --overlay-ports="$source/packaging/vcpkg" --overlay-ports="$work/system" --overlay-triplets="$work/triplets" \
  --triplet=x64-linux --host-triplet=x64-linux --x-install-root="$installed" --x-buildtrees-root="$work/buildtrees" --x-packages-root="$work/packages" \
  --binarysource=clear --classic) >"$work/install.log" 2>&1 || fail "$(tail -40 "$work/install.log")"
! grep -iE '^warning' "$work/install.log" || fail "vcpkg finds fault with the package"

cmake -S "$source/tests/package/consumer" -B "$work/consumer" --fresh -G Ninja -DCMAKE_BUILD_TYPE=Release -DVCPKG_INSTALLED_DIR="$installed" \
  -DVCPKG_TARGET_TRIPLET=x64-linux -DVCPKG_MANIFEST_MODE=OFF -DCMAKE_TOOLCHAIN_FILE="$VCPKG_ROOT/scripts/buildsystems/vcpkg.cmake" >"$work/configure.log"
cmake --build "$work/consumer" --target app kernels_app >"$work/build.log" || fail "$(tail -40 "$work/build.log")"
for program in app kernels_app; do
  [ "$("$work/consumer/$program" | tail -1)" = PASS ] || fail "$program did not pass"
done
"$installed/x64-linux/tools/flydsl/fly-layout" 'size((4,8))' | grep -q 32 || fail "fly-layout does not run"
echo "installed and used by two programs"
