#!/bin/sh
# IR that a program dumps is compiled by fly-compile, and the program then finds its kernel in the cache:
# with FLYDSL_RUNTIME_RUN_ONLY=1 a miss would be an error. A wrong file does not stop the others.
#   fly_compile.sh program kernel fly-compile fly-opt
program=$1 kernel=$2 fly_compile=$3 fly_opt=$4
there=$(mktemp -d)
trap 'rm -rf "$there"' EXIT
cd "$there" || exit 1
fail() { echo "$1"; cat out err; exit 1; }

FLYDSL_DUMP_IR=1 FLYDSL_DUMP_DIR=dump FLYDSL_RUNTIME_ENABLE_CACHE=0 "$program" >out 2>err || fail "the program failed"
dump=dump/$kernel/00_origin.mlir
arch=$(sed -n 's/^\(gfx[0-9a-f]*\).*/\1/p' out | head -n 1)
[ -n "$arch" ] || fail "the program does not name its device"
# The device's own features, as the miss without the compile names them.
FLYDSL_RUNTIME_RUN_ONLY=1 FLYDSL_RUNTIME_CACHE_DIR=cache "$program" >out 2>err && fail "the program ran on an empty cache"
target=$(sed -n "s/.*for \($arch[^ ,]*\), key.*/\1/p" out err | head -n 1)

"$fly_compile" --dir cache --arch "$target,gfx950" -o objects "$dump" >out 2>err || fail "fly-compile failed"
[ "$(grep -c "$dump for gfx.*, compiled, " err)" = 2 ] || fail "no line of progress for each compile"
grep -q "^2 compiled, 0 were there, 0 failed" out || fail "not two compiles"
for object in "$kernel.$target" "$kernel.gfx950"; do
  [ -s "objects/$object.hsaco" ] || { ls objects; fail "no code object $object"; }
done
FLYDSL_RUNTIME_RUN_ONLY=1 FLYDSL_RUNTIME_CACHE_DIR=cache "$program" >out 2>err || fail "the kernel is not in the cache"

# Bytecode is the same module; a wrong one and one that is not there are named and stop no other.
"$fly_opt" --emit-bytecode "$dump" -o bytes.mlirbc || exit 1
echo 'module { fly.nonsense }' >wrong.mlir
FLYDSL_RUNTIME_CACHE_DIR=cache "$fly_compile" --quiet --arch "$target" wrong.mlir none.mlir bytes.mlirbc >out 2>err
[ $? = 1 ] || fail "a module that fails must be an exit status of 1"
grep -q "^0 compiled, 1 were there, 2 failed" out || fail "bytecode is not the same kernel"
grep -q "wrong.mlir:1: .*fly.nonsense" err || fail "the wrong line is not named"
grep -q "none.mlir: it can't be read" err || fail "the missing file is not named"
grep -q "^compiling" err && fail "--quiet shows progress"
# So are a module that crashes MLIR's parser, ones that nest without end, and damaged bytecode.
echo 'module attributes {x = array<index: 0>} { }' >crash.mlir
awk 'BEGIN { for (i = 0; i < 10000; i++) printf "module { "; for (i = 0; i < 10000; i++) printf "} " }' >deep.mlir
awk 'BEGIN { printf "module attributes {x = "; for (i = 0; i < 10000; i++) printf "[" }' >brackets.mlir
head -c 300 bytes.mlirbc >short.mlirbc
FLYDSL_RUNTIME_CACHE_DIR=cache "$fly_compile" --quiet --arch "$target" crash.mlir deep.mlir brackets.mlir short.mlirbc bytes.mlirbc \
  >out 2>err
[ $? = 1 ] || fail "damaged modules must be an exit status of 1"
grep -q "^0 compiled, 1 were there, 4 failed" out || fail "damaged modules stop another, or count wrongly"
grep -q "^fly-compile: crash.mlir for .*MLIR crashed while reading it" err || fail "the crash is not named"
grep -q "^fly-compile: deep.mlir for .*deep.mlir:1: brackets nest deeper than 512" err || fail "nested modules are not named"
grep -q "^fly-compile: brackets.mlir for .*brackets nest deeper than 512" err || fail "nested brackets are not named"
grep -q "^fly-compile: short.mlirbc for .*bytecode" err || fail "damaged bytecode is not named"
FLYDSL_RUNTIME_CACHE_DIR=cache "$fly_compile" --quiet --trusted --arch "$target" bytes.mlirbc >out 2>err || fail "--trusted"
"$fly_compile" --max-registers none "$dump" >out 2>err
[ $? = 2 ] || fail "a wrong option must be an exit status of 2"
# Hints make another kernel of the same module, and wrong ones none.
FLYDSL_RUNTIME_CACHE_DIR=cache "$fly_compile" --quiet --arch "$target" --attribute amdgpu-memory-bound=true \
  --llvm-option enable-misched=false "$dump" >out 2>err || fail "hints for LLVM"
grep -q "^1 compiled, 0 were there, 0 failed" out || fail "hints for LLVM are not part of the key"
FLYDSL_RUNTIME_CACHE_DIR=cache "$fly_compile" --quiet --arch "$target" --llvm-option no-such-option=1 "$dump" >out 2>err
grep -q "LLVM has no option no-such-option" err || fail "the wrong option of LLVM is not named"
"$fly_compile" --attribute amdgpu-memory-bound "$dump" >out 2>err
[ $? = 2 ] || fail "an attribute without a value must be an exit status of 2"
"$fly_compile" --dir err --arch gfx942 "$dump" >out 2>told && fail "a file is a cache"
grep -q "^fly-compile: --dir err: it is no directory" told || { cat told; fail "the file is not named"; }
"$fly_compile" --dir /proc/none --arch gfx942 --max-registers 77 "$dump" >out 2>err && fail "a cache in /proc is filled"
grep -q "^fly-compile: --dir /proc/none: nothing could be kept there" err || fail "the cache that can't be made is not named"
"$fly_compile" --dir cache --waves-per-eu many "$dump" >out 2>err && fail "a hint that is no number"
grep -q "Value many not in range 1 to 65535" err || fail "the range of a hint is not named"
exit 0
