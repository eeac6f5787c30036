// RUN: fly-opt %s --fly-convert-atom-call-to-ssa-form --fly-promote-regmem-to-vectorssa=pieces=true --split-input-file | FileCheck %s

// A store to part of a register fragment, in a loop and behind a branch: the whole fragment is carried.
// CHECK-LABEL: gpu.func @through_control_flow
// CHECK-NOT: register
// CHECK: %[[INIT:.*]] = arith.constant dense<0.0
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
// CHECK: %[[KEPT:.*]] = ub.poison : vector<4xf32>
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

// -----

// What was stored is read back as it is, or as a part of it; only what reaches over two such pieces needs them joined.
// CHECK-LABEL: gpu.func @pieces
// CHECK-SAME: (%[[A:.*]]: vector<4xf32>, %[[B:.*]]: vector<4xf32>, %[[X:.*]]: f32, %[[OUT:.*]]: !fly.ptr
// CHECK-NOT: vector.insert
// CHECK: fly.ptr.store(%[[B]], %[[OUT]])
// CHECK: %[[PART:.*]] = vector.extract_strided_slice %[[A]] {offsets = [2], sizes = [2], strides = [1]}
// CHECK: fly.ptr.store(%[[PART]], %[[OUT]])
// CHECK: %[[FIRST:.*]] = vector.insert_strided_slice %[[A]], %{{.*}} {offsets = [0], strides = [1]}
// CHECK: %[[BOTH:.*]] = vector.insert_strided_slice %[[B]], %[[FIRST]] {offsets = [4], strides = [1]}
// CHECK: %[[MIDDLE:.*]] = vector.extract_strided_slice %[[BOTH]] {offsets = [2], sizes = [4], strides = [1]}
// CHECK: fly.ptr.store(%[[MIDDLE]], %[[OUT]])
// CHECK: fly.ptr.store(%[[X]], %[[OUT]])
// CHECK: %[[ALL:.*]] = vector.insert %[[X]], %[[BOTH]] [2]
// CHECK: fly.ptr.store(%[[ALL]], %[[OUT]])
gpu.module @m {
  gpu.func @pieces(%a: vector<4xf32>, %b: vector<4xf32>, %x: f32, %out: !fly.ptr<f32, global>) kernel {
    %reg = fly.make_ptr() {dictAttrs = {allocSize = 8 : i64}} : () -> !fly.ptr<f32, register>
    %two = fly.make_int_tuple() : () -> !fly.int_tuple<2>
    %four = fly.make_int_tuple() : () -> !fly.int_tuple<4>
    %second = fly.add_offset(%reg, %four) : (!fly.ptr<f32, register>, !fly.int_tuple<4>) -> !fly.ptr<f32, register>
    %inner = fly.add_offset(%reg, %two) : (!fly.ptr<f32, register>, !fly.int_tuple<2>) -> !fly.ptr<f32, register>
    fly.ptr.store(%a, %reg) : (vector<4xf32>, !fly.ptr<f32, register>) -> ()
    fly.ptr.store(%b, %second) : (vector<4xf32>, !fly.ptr<f32, register>) -> ()
    %r0 = fly.ptr.load(%second) : (!fly.ptr<f32, register>) -> vector<4xf32>
    fly.ptr.store(%r0, %out) : (vector<4xf32>, !fly.ptr<f32, global>) -> ()
    %r1 = fly.ptr.load(%inner) : (!fly.ptr<f32, register>) -> vector<2xf32>
    fly.ptr.store(%r1, %out) : (vector<2xf32>, !fly.ptr<f32, global>) -> ()
    %r2 = fly.ptr.load(%inner) : (!fly.ptr<f32, register>) -> vector<4xf32>
    fly.ptr.store(%r2, %out) : (vector<4xf32>, !fly.ptr<f32, global>) -> ()
    fly.ptr.store(%x, %inner) : (f32, !fly.ptr<f32, register>) -> ()
    %r3 = fly.ptr.load(%inner) : (!fly.ptr<f32, register>) -> f32
    fly.ptr.store(%r3, %out) : (f32, !fly.ptr<f32, global>) -> ()
    %r4 = fly.ptr.load(%reg) : (!fly.ptr<f32, register>) -> vector<8xf32>
    fly.ptr.store(%r4, %out) : (vector<8xf32>, !fly.ptr<f32, global>) -> ()
    gpu.return
  }
}
