#!/bin/sh
# fly-run: a call, what it shows, and what it refuses.
#   fly_run.sh FLY_RUN MODULES
set -eu
run=$1 modules=$2
fail() { echo "fly_run.sh: $1" >&2; exit 1; }
expect() { # expect TEXT STATUS COMMAND...
  text=$1 status=$2; shift 2
  got=0; out=$("$@" 2>&1) || got=$?
  [ $got -eq "$status" ] || fail "status $got, not $status, of: $* ($out)"
  case $out in *"$text"*) ;; *) fail "no '$text' in the output of: $* ($out)";; esac
}

add="$run $modules/vector_add.mlir"
expect 'vector_add(!fly.memref<f32, global, ?:1>, ' 0 $add --list
expect 'arg 2: 0.5 1.5 2.5 3.5' 0 $add --arg 'f32[100]:iota' --arg 'f32[100]:value,0.5' --arg 'f32[100]:zero=>show,4' --arg i32:100
expect 'arg 1: 9 8 7' 0 "$run" "$modules/reverse.mlir" --arg 'i32[10]:iota' --arg 'i32[10]:zero=>show,3' --arg i32:10
expect 'fly-run: vector_add takes 4 --arg, and 3 were given: (!fly.memref<f32, global, ?:1>, ' 1 $add --arg 'f32[4]:iota' --arg 'f32[4]:iota' --arg 'f32[4]:iota'
expect 'vector_add takes 4 --arg, and 5 were given' 1 $add --arg 'f32[4]:iota' --arg 'f32[4]:iota' --arg 'f32[4]:iota' --arg i32:4 --arg i32:4
# No message names a line of the tool.
expect 'fly-run: vector_add: argument 0 ' 1 $add --arg 'i32[4]:iota' --arg 'f32[4]:iota' --arg 'f32[4]:iota' --arg i32:4
expect 'fly-run: shape (4) and strides (1,2) differ' 1 $add --arg 'f32[4:1x2]:iota'
expect 'elements of f32 are expected' 1 $add --arg 'i32[4]:iota' --arg 'f32[4]:iota' --arg 'f32[4]:iota' --arg i32:4
expect "has no function 'add'" 1 $add --function add
expect "'f33' is no element type" 2 $add --arg 'f33[4]:iota'
expect "'noise' is no source" 2 $add --arg 'f32[4]:noise'
expect "can't be read" 1 "$run" "$modules/nothing.mlir"
