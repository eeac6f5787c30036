// RUN: fly-opt %s --fly-convert-atom-call-to-ssa-form --fly-promote-regmem-to-vectorssa --split-input-file | FileCheck %s

// A store to part of a register fragment, in a loop and behind a branch: the whole fragment is carried.
// CHECK-LABEL: gpu.func @through_control_flow
// CHECK-NOT: register
// CHECK: %[[INIT:.*]] = vector.insert_strided_slice %{{.*}}, %{{.*}} {offsets = [0], strides = [1]} : vector<4xf32> into vector<4xf32>
// CHECK: %[[LOOP:.*]] = scf.for {{.*}} iter_args(%[[STATE:.*]] = %[[INIT]]) -> (vector<4xf32>)
// CHECK:   %[[BRANCH:.*]] = scf.if {{.*}} -> (vector<4xf32>)
// CHECK:     %[[NEXT:.*]] = vector.insert %{{.*}}, %[[STATE]] [2] : f32 into vector<4xf32>
// CHECK:     scf.yield %[[NEXT]]
// CHECK:   } else {
// CHECK:     scf.yield %[[STATE]]
// CHECK:   scf.yield %[[BRANCH]]
// CHECK: vector.extract %[[LOOP]][2]
gpu.module @m {
  gpu.func @through_control_flow(%out: !fly.ptr<f32, global>, %n: index, %c: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %one = arith.constant 1.0 : f32
    %reg = fly.make_ptr() {dictAttrs = {allocSize = 4 : i64}} : () -> !fly.ptr<f32, register>
    %two = fly.make_int_tuple() : () -> !fly.int_tuple<2>
    %slot = fly.add_offset(%reg, %two) : (!fly.ptr<f32, register>, !fly.int_tuple<2>) -> !fly.ptr<f32, register>
    fly.ptr.store(%zero, %reg) : (vector<4xf32>, !fly.ptr<f32, register>) -> ()
    scf.for %i = %c0 to %n step %c1 {
      scf.if %c {
        %x = fly.ptr.load(%slot) : (!fly.ptr<f32, register>) -> f32
        %y = arith.addf %x, %one : f32
        fly.ptr.store(%y, %slot) : (f32, !fly.ptr<f32, register>) -> ()
      }
    }
    %r = fly.ptr.load(%slot) : (!fly.ptr<f32, register>) -> f32
    fly.ptr.store(%r, %out) : (f32, !fly.ptr<f32, global>) -> ()
    gpu.return
  }
}

// -----

// A copy under a predicate keeps what the registers had: the call takes it as its destination.
// CHECK-LABEL: gpu.func @predicated_copy
// CHECK: %[[KEPT:.*]] = vector.extract_strided_slice
// CHECK: fly.copy_atom_call_ssa(%{{.*}}, %{{.*}}, %[[KEPT]], %{{.*}}) {{.*}} -> vector<4xf32>
gpu.module @m {
  gpu.func @predicated_copy(%src: !fly.ptr<f32, global>, %out: !fly.ptr<f32, global>, %c: i1) kernel {
    %four = fly.make_int_tuple() : () -> !fly.int_tuple<4>
    %one = fly.make_int_tuple() : () -> !fly.int_tuple<1>
    %l4 = fly.make_layout(%four, %one) : (!fly.int_tuple<4>, !fly.int_tuple<1>) -> !fly.layout<4:1>
    %l1 = fly.make_layout(%one, %one) : (!fly.int_tuple<1>, !fly.int_tuple<1>) -> !fly.layout<1:1>
    %reg = fly.make_ptr() {dictAttrs = {allocSize = 4 : i64}} : () -> !fly.ptr<f32, register>
    %preg = fly.make_ptr() {dictAttrs = {allocSize = 1 : i64}} : () -> !fly.ptr<i1, register>
    fly.ptr.store(%c, %preg) : (i1, !fly.ptr<i1, register>) -> ()
    %from = fly.make_view(%src, %l4) : (!fly.ptr<f32, global>, !fly.layout<4:1>) -> !fly.memref<f32, global, 4:1>
    %to = fly.make_view(%reg, %l4) : (!fly.ptr<f32, register>, !fly.layout<4:1>) -> !fly.memref<f32, register, 4:1>
    %pred = fly.make_view(%preg, %l1) : (!fly.ptr<i1, register>, !fly.layout<1:1>) -> !fly.memref<i1, register, 1:1>
    %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<128>, 32>
    fly.copy_atom_call(%atom, %from, %to, %pred) : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, global, 4:1>, !fly.memref<f32, register, 4:1>, !fly.memref<i1, register, 1:1>) -> ()
    %v = fly.ptr.load(%reg) : (!fly.ptr<f32, register>) -> vector<4xf32>
    fly.ptr.store(%v, %out) : (vector<4xf32>, !fly.ptr<f32, global>) -> ()
    gpu.return
  }
}

// -----

// Registers that are read as other elements stay in memory.
// CHECK-LABEL: gpu.func @recast
// CHECK: fly.make_ptr
// CHECK: fly.recast_iter
// CHECK: fly.ptr.load
gpu.module @m {
  gpu.func @recast(%out: !fly.ptr<i32, global>) kernel {
    %x = arith.constant 1.0 : f32
    %reg = fly.make_ptr() {dictAttrs = {allocSize = 1 : i64}} : () -> !fly.ptr<f32, register>
    fly.ptr.store(%x, %reg) : (f32, !fly.ptr<f32, register>) -> ()
    %as = fly.recast_iter(%reg) : (!fly.ptr<f32, register>) -> !fly.ptr<i32, register>
    %y = fly.ptr.load(%as) : (!fly.ptr<i32, register>) -> i32
    fly.ptr.store(%y, %out) : (i32, !fly.ptr<i32, global>) -> ()
    gpu.return
  }
}

// -----

// A loop that counts up to an unsigned bound still does.
// CHECK-LABEL: func.func @unsigned_bound
// CHECK: scf.for unsigned {{.*}} iter_args({{.*}}) -> (vector<1xf32>)
func.func @unsigned_bound(%n: i32, %out: !fly.ptr<f32, global>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1.0 : f32
  %reg = fly.make_ptr() {dictAttrs = {allocSize = 1 : i64}} : () -> !fly.ptr<f32, register>
  fly.ptr.store(%one, %reg) : (f32, !fly.ptr<f32, register>) -> ()
  scf.for unsigned %i = %c0 to %n step %c1 : i32 {
    %x = fly.ptr.load(%reg) : (!fly.ptr<f32, register>) -> f32
    %y = arith.addf %x, %one : f32
    fly.ptr.store(%y, %reg) : (f32, !fly.ptr<f32, register>) -> ()
  }
  %r = fly.ptr.load(%reg) : (!fly.ptr<f32, register>) -> f32
  fly.ptr.store(%r, %out) : (f32, !fly.ptr<f32, global>) -> ()
  return
}
