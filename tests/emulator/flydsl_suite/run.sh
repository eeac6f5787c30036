#!/bin/bash
# Runs FlyDSL's own tests, of its Python package, on the emulator, and compares what passes with known.tsv.
#
#   FLYDSL_SUITE_SOURCE=checkout run.sh EMULATOR_LIBRARY CLANG WORK_FOLDER PAGE [target ...]
#
# FLYDSL_SUITE_SOURCE is a checkout of FlyDSL's repository, which has the tests; the package comes from PyPI into a
# virtual environment in WORK_FOLDER (with PyTorch, about 7 GB).
# The target is gfx942 unless others are named; gfx950, whose convolutions are large, takes hours.
# PAGE is written anew: docs/flydsl-suite.md. What is
# missing skips the test (exit 77) with a sentence. FLYDSL_SUITE_FILES, a shell pattern, chooses files;
# FLYDSL_SUITE_VERSION is the package's version, which should be that of the checkout.
# FLYDSL_SUITE_SECONDS is how long a test may take (300). With FLYDSL_SUITE_CONTINUE=1 a run that was stopped goes on: what
# WORK_FOLDER has of finished files stays.
set -u
here=$(cd "$(dirname "$0")" && pwd)
library=$1 clang=$2 work=$3 page=$4
shift 4
targets=${*:-gfx942}
# The package that the tests of known.tsv are of; the two go together.
version=${FLYDSL_SUITE_VERSION:-0.3.4.1}
seconds=${FLYDSL_SUITE_SECONDS:-300}

skip() {
  echo "SKIPPED: $1"
  exit 77
}

source=${FLYDSL_SUITE_SOURCE:-}
[ -n "$source" ] || skip "FLYDSL_SUITE_SOURCE names no checkout of FlyDSL's repository, which has the tests"
[ -f "$source/tests/pytest.ini" ] || skip "$source has no tests/pytest.ini: it is no checkout of FlyDSL's repository"
source=$(cd "$source" && pwd)
command -v python3 > /dev/null || skip "there is no python3"
linker=$("$clang" -print-prog-name=ld.lld)
[ -x "$linker" ] || skip "$clang has no ld.lld beside it, by which FlyDSL links kernels"
mkdir -p "$work" && work=$(cd "$work" && pwd) || skip "$work cannot be made"

# The Python side: FlyDSL's package, PyTorch, and what the tests import.
python=$work/venv/bin/python
if ! [ -f "$work/venv/ready-$version" ]; then
  free=$(df -k --output=avail "$work" | tail -n 1)
  [ "$free" -gt 12000000 ] || skip "$work has less than 12 GB free, which PyTorch takes while it is installed"
  python3 -m venv "$work/venv" || skip "python3 makes no virtual environment (python3-venv)"
  "$python" -m pip install -q --no-cache-dir "flydsl==$version" torch numpy pandas pytest pytest-timeout hypothesis einops ||
    skip "flydsl==$version and PyTorch cannot be installed from PyPI"
  touch "$work/venv/ready-$version"
fi

# HIP's library and a ROCm's folders, as far as FlyDSL looks at them: the linker, the device library.
mkdir -p "$work/lib" "$work/rocm/llvm/bin" "$work/rocm/amdgcn/bitcode"
ln -sf "$library" "$work/lib/libamdhip64.so.7"
ln -sf "$library" "$work/lib/libamdhip64.so.6"
ln -sf "$linker" "$work/rocm/llvm/bin/ld.lld"
for folder in "${ROCM_PATH:-/opt/rocm}/amdgcn/bitcode" /usr/lib/x86_64-linux-gnu/amdgcn/bitcode; do
  if [ -f "$folder/ockl.bc" ]; then
    ln -sf "$folder"/*.bc "$work/rocm/amdgcn/bitcode/"
    break
  fi
done
[ -e "$work/rocm/amdgcn/bitcode/ockl.bc" ] || skip "ROCm's device library (rocm-device-libs) is not installed"
for row in 90a:9010 942:9402 950:9500 1100:11000 1200:12000 1201:12001 1250:12500; do
  "$clang" -x cl -cl-std=CL2.0 --target=amdgcn-amd-amdhsa "-mcpu=gfx${row%%:*}" -nogpulib "-DISA_VERSION=${row##*:}" -emit-llvm \
    -c "$here/../hip/isa_version.cl" -o "$work/rocm/amdgcn/bitcode/oclc_isa_version_${row%%:*}.bc" || exit 1
done
torch=$("$python" -c 'import torch, os; print(os.path.dirname(torch.__file__))') || exit 1
# clang++ has clang's version in its name, or, in LLVM's own folder, none.
compiler=${clang%/*}/$(basename "$clang" | sed 's/^clang/clang++/')
[ -x "$compiler" ] || compiler=${clang%/*}/clang++
"$compiler" -std=c++20 -O1 -fPIC -shared ${FLYDSL_SUITE_GRANULE:+-DFLYDSL_SUITE_GRANULE=$FLYDSL_SUITE_GRANULE} \
  "$here/allocator.cpp" "-I$torch/include" "-L$torch/lib" -lc10 -o "$work/lib/allocator.so" || exit 1

export LD_LIBRARY_PATH=$work/lib ROCM_PATH=$work/rocm PYTHONPATH=$here:$source FLYDSL_SUITE_ALLOCATOR=$work/lib/allocator.so
export FLYDSL_EMULATOR_HIP=7 HIP_LAUNCH_BLOCKING=1 FLYDSL_EMULATOR_CHECK=${FLYDSL_EMULATOR_CHECK:-all}
export FLYDSL_AUTOTUNE=0 FLYDSL_RUN_QUANT=1 FLYDSL_PERFTEST_USE_EVENTS=1 FLYDSL_DEBUG_ENABLE_DEBUG_INFO=1
export FLYDSL_RUNTIME_CACHE_DIR=$work/cache
cd "$source" || exit 1

for target in $targets; do
  export FLYDSL_EMULATOR_ARCH=$target FLYDSL_GPU_ARCH=$target
  results=$work/$target.parts
  [ "${FLYDSL_SUITE_CONTINUE:-0}" = 1 ] || rm -rf "$work/cache" "$results" "$work/$target.log"
  mkdir -p "$results"
  # A process for each file of kernels, and for each of the other folders.
  for part in $(ls -d tests/extension tests/language tests/system tests/unit tests/kernels/test_*.py); do
    # shellcheck disable=SC2254 # a pattern is meant
    case $part in ${FLYDSL_SUITE_FILES:-*}) ;; *) continue ;; esac
    export FLYDSL_SUITE_RESULTS=$results/$(echo "${part%.py}" | tr / .).jsonl
    touch "$FLYDSL_SUITE_RESULTS"
    for _ in $(seq 100); do # a test that loses the device or crashes ends the process
      grep -q '"finished"' "$FLYDSL_SUITE_RESULTS" && break
      timeout -k 5 $((12 * seconds)) "$python" -m pytest -p emulated_torch -p no:logging -p no:cacheprovider -s --tb=short --continue-on-collection-errors \
        -m "not large_shape and not multi_gpu and not benchmark" --timeout=$seconds --timeout-method=thread "$part" >> "$work/$target.log" 2>&1
      code=$?
      grep -q '"test"' "$FLYDSL_SUITE_RESULTS" || break
    done
    grep -q '"finished"' "$FLYDSL_SUITE_RESULTS" ||
      echo "{\"test\": \"$part\", \"outcome\": \"crashed\", \"why\": \"pytest ended with $code\"}" >> "$FLYDSL_SUITE_RESULTS"
  done
  cat "$results"/*.jsonl > "$work/$target.jsonl"
done
"$python" "$here/report.py" "$work" "$here/known.tsv" "$page" "$version" "$(git -C "$source" log -1 --format=%h 2> /dev/null)" $targets
