#!/usr/bin/env bash
# debian_test.sh SOURCE WORK [TREE]: makes the Debian packages of the preset `package` (or of a build tree that has its settings), installs
# them in a bare Debian 12 under WORK, and builds and runs programs there, on the emulator. Nothing of the build is in that root, and no LLVM.
# Where debootstrap cannot work it says why, and CTest counts the test as skipped.
set -euo pipefail
source=$1 work=$2 tree=${3:-$2/build}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "$*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || skip "debootstrap needs root"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
unshare -m true 2>/dev/null || skip "this machine lets nobody mount"
mkdir -p "$work"
if [ -z "${3:-}" ]; then
  cmake -S "$source" --preset package -B "$tree" >/dev/null
  cmake --build "$tree" -- -j "$(nproc)"
fi

# The packages. dpkg-shlibdeps found what they need; LLVM is not among it.
rm -rf "$tree/packages"
(cd "$tree" && cpack --config CPackConfig.cmake >"$work/cpack.log" 2>&1) || fail "$(tail "$work/cpack.log")"
packages=("$tree"/packages/*.deb)
names=$(for package in "${packages[@]}"; do dpkg-deb -f "$package" Package; done | sort | xargs)
[ "$names" = "flydsl-redis flydsl-tools libflydsl-dev libflydsl-kernels0 libflydsl0" ] || fail "the packages are $names"
for package in "${packages[@]}"; do
  echo "$(dpkg-deb -f "$package" Package): $(stat -c %s "$package") bytes; $(dpkg-deb -f "$package" Depends)"
  ! dpkg-deb -f "$package" Depends | grep -iE 'llvm|mlir' || fail "$package needs a shared LLVM"
  files=$(dpkg-deb -c "$package")
  for file in copyright changelog.Debian.gz; do
    grep -q "usr/share/doc/.*/$file" <<<"$files" || fail "$package has no $file"
  done
done
if command -v lintian >/dev/null; then
  lintian --no-cfg --fail-on error --allow-root "${packages[@]}"
fi

# A Debian with a compiler and nothing else.
root=$work/root
if [ ! -e "$root/usr/bin/cmake" ]; then
  rm -rf "$root"
  debootstrap --variant=minbase --include=g++,cmake,make bookworm "$root" "$mirror" >"$work/debootstrap.log" 2>&1 ||
    skip "debootstrap cannot fetch Debian 12 from $mirror: $(tail -1 "$work/debootstrap.log")"
fi
rm -rf "$root/packages" "$root/consumer"
mkdir "$root/packages"
cp "${packages[@]}" "$root/packages/"
cp -r "$source/tests/package/consumer" "$root/consumer"
cat >"$root/consumer/try.sh" <<'TRY'
set -eu
export DEBIAN_FRONTEND=noninteractive HOME=/root
apt-get purge -y 'libflydsl*' 'flydsl-*' >/dev/null 2>&1 || true
apt-get update >/dev/null
apt-get install -y --no-install-recommends /packages/*.deb >/dev/null
if find / -xdev -name 'libLLVM*' -o -xdev -name 'libMLIR*' | grep .; then echo "there is an LLVM in the root"; exit 1; fi
# The kernels' program of the consumer calls HIP by itself where HIP's headers are; the others need the packages alone.
cmake -S /consumer -B /consumer/build >/dev/null
cmake --build /consumer/build --target app kernels_app
doc=/usr/share/doc/libflydsl-dev
grep -q '^# ' $doc/guides/README.md
cmake -S $doc/samples -B /consumer/samples >/dev/null
cmake --build /consumer/samples --target 01-vector-add >/dev/null
/consumer/samples/01-vector-add | tail -1
for program in app kernels_app; do /consumer/build/$program | tail -1; done
fly-new first --in /consumer >/dev/null
cmake -S /consumer/first -B /consumer/first/build >/dev/null
cmake --build /consumer/first/build >/dev/null
ctest --test-dir /consumer/first/build | grep 'tests passed'
fly-layout 'size((4,8))' | grep -q 32
fly-kernels list | grep -q gemm
echo 'module {}' | fly-opt - | grep -q module
# Removed without a trace.
apt-get purge -y 'libflydsl*' 'flydsl-*' >/dev/null
if find /usr -name '*flydsl*' -o -name 'fly-*' | grep .; then echo "the packages left files behind"; exit 1; fi
echo "installed, used and removed in a bare $(. /etc/os-release && echo "$PRETTY_NAME")"
TRY
unshare -m sh -ec 'mount -t proc proc "$0/proc"; mount --bind /dev "$0/dev"; cp /etc/resolv.conf "$0/etc/resolv.conf"; exec chroot "$0" sh /consumer/try.sh' "$root"
