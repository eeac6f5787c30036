#!/bin/sh
# Fails if a library exports anything but FlyDSL's public API, needs a shared LLVM, or can't be loaded at run time.
#   exported_symbols.sh library [any-llvm]
library=$1
symbols=$(nm -DC --defined-only "$library") || exit 1
count=$(printf '%s\n' "$symbols" | grep -c 'flydsl::v1::')
[ "$count" -gt 100 ] || { echo "only $count symbols of the API"; exit 1; }
others=$(printf '%s\n' "$symbols" | grep -vE ' (flydsl::v1::|(typeinfo|typeinfo name|vtable|guard variable) for flydsl::v1::|flydsl_)')
others=$(printf '%s\n' "$others" | grep -vE '^[0-9a-f]* . (std::|[^(]*<)?[^(]*flydsl::v1::')
if [ -n "$others" ]; then
  echo "$library exports what is not the public API:"
  printf '%s\n' "$others" | head -20
  exit 1
fi
if [ "$2" != any-llvm ] && ldd "$library" | grep -iE 'LLVM|MLIR'; then
  echo "$library needs a shared LLVM"
  exit 1
fi
# Such a library can't be loaded by a program that runs: Python's ctypes, plug-ins of engines.
if readelf -d "$library" | grep -q STATIC_TLS; then
  echo "$library has storage of threads in the static part (a thread_local with the model initial-exec)"
  exit 1
fi
echo "$count symbols of the API, no others; $(stat -Lc %s "$library") bytes"
