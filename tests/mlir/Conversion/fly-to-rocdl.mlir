// RUN: fly-opt %s --convert-fly-to-rocdl --split-input-file | FileCheck %s

// The alignment of the pointer's type goes to the access; a swizzle leaves what lies below its base.
// CHECK-LABEL: @alignment
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: llvm.ptrtoint
// CHECK: arith.xori
// CHECK: llvm.inttoptr
// CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
func.func @alignment(%g: !fly.ptr<f32, global, align<16>>, %s: !fly.ptr<f32, shared, align<64>, S<2,3,3>>) -> (vector<4xf32>, vector<2xf32>) {
  %a = fly.ptr.load(%g) : (!fly.ptr<f32, global, align<16>>) -> vector<4xf32>
  %b = fly.ptr.load(%s) : (!fly.ptr<f32, shared, align<64>, S<2,3,3>>) -> vector<2xf32>
  return %a, %b : vector<4xf32>, vector<2xf32>
}

// -----

// A predicated copy reads under the predicate and keeps the old registers otherwise.
// CHECK-LABEL: @predicated_load
// CHECK-SAME: (%[[P:.*]]: !llvm.ptr<1>, %[[OLD:.*]]: vector<4xf32>, %[[C:.*]]: i1)
// CHECK: %[[R:.*]] = scf.if %[[C]] -> (vector<4xf32>) {
// CHECK:   %[[X:.*]] = llvm.load %[[P]] {alignment = 4 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK:   scf.yield %[[X]]
// CHECK: } else {
// CHECK:   scf.yield %[[OLD]]
// CHECK: return %[[R]]
func.func @predicated_load(%src: !fly.memref<f32, global, 4:1>, %old: vector<4xf32>, %c: i1) -> vector<4xf32> {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<128>, 32>
  %r = fly.copy_atom_call_ssa(%atom, %src, %old, %c) {operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, global, 4:1>, vector<4xf32>, i1) -> vector<4xf32>
  return %r : vector<4xf32>
}

// -----

// From memory to memory, the bits go through registers as words.
// CHECK-LABEL: @memory_to_memory
// CHECK: %[[X:.*]] = llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: llvm.store %[[X]], %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
func.func @memory_to_memory(%src: !fly.memref<f16, global, 8:1>, %dst: !fly.memref<f16, shared, 8:1, align<16>>) {
  %atom = fly.make_copy_atom {valBits = 16 : i32} : !fly.copy_atom<!fly.universal_copy<128>, 16>
  fly.copy_atom_call(%atom, %src, %dst) : (!fly.copy_atom<!fly.universal_copy<128>, 16>, !fly.memref<f16, global, 8:1>, !fly.memref<f16, shared, 8:1, align<16>>) -> ()
  return
}

// -----

// CHECK-LABEL: @atomic
// CHECK: llvm.atomicrmw fadd %{{.*}}, %{{.*}} syncscope("agent") monotonic : !llvm.ptr<1>, f32
func.func @atomic(%x: f32, %dst: !fly.memref<f32, global, 1:1>) {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_atomic<#fly<atomic_op add>, f32, "agent">, 32>
  fly.copy_atom_call_ssa(%atom, %x, %dst) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (!fly.copy_atom<!fly.universal_atomic<#fly<atomic_op add>, f32, "agent">, 32>, f32, !fly.memref<f32, global, 1:1>) -> ()
  return
}

// -----

// Each shared allocation has a variable of its own, all dynamic shared memory is one.
// CHECK-LABEL: gpu.module @shared
// CHECK-DAG: llvm.mlir.global external @__shared_alloc_0() {addr_space = 3 : i32, alignment = 16 : i64, dso_local} : !llvm.array<256 x i8>
// CHECK-DAG: llvm.mlir.global external @__shared_alloc_1() {addr_space = 3 : i32, alignment = 128 : i64, dso_local} : !llvm.array<64 x i8>
// CHECK-DAG: llvm.mlir.global external @__dynamic_shared_0() {{.*}} : !llvm.array<0 x i8>
// CHECK-NOT: llvm.mlir.global
gpu.module @shared {
  gpu.func @kernel(%x: f32) kernel {
    %a = fly.make_ptr() {dictAttrs = {allocBytes = 256 : i64, allocAlign = 16 : i64}} : () -> !fly.ptr<f32, shared, align<16>>
    %b = fly.make_ptr() {dictAttrs = {allocBytes = 64 : i64, allocAlign = 128 : i64}} : () -> !fly.ptr<f32, shared>
    %d = fly.get_dyn_shared() : !fly.ptr<i8, shared, align<1024>>
    %e = fly.get_dyn_shared() : !fly.ptr<i8, shared, align<1024>>
    %f = fly.recast_iter(%e) : (!fly.ptr<i8, shared, align<1024>>) -> !fly.ptr<f32, shared, align<1024>>
    fly.ptr.store(%x, %a) : (f32, !fly.ptr<f32, shared, align<16>>) -> ()
    fly.ptr.store(%x, %b) : (f32, !fly.ptr<f32, shared>) -> ()
    fly.ptr.store(%x, %f) : (f32, !fly.ptr<f32, shared, align<1024>>) -> ()
    gpu.return
  }
}

// -----

// Scratch memory is taken once, not every time round a loop.
// CHECK-LABEL: @scratch
// CHECK: llvm.alloca %{{.*}} x f32 : (i64) -> !llvm.ptr<5>
// CHECK: scf.for
// CHECK-NOT: llvm.alloca
func.func @scratch(%n: index, %x: f32, %at: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %reg = fly.make_ptr() {dictAttrs = {allocSize = 4 : i64}} : () -> !fly.ptr<f32, register>
    %off = fly.make_int_tuple(%at) : (i32) -> !fly.int_tuple<?>
    %slot = fly.add_offset(%reg, %off) : (!fly.ptr<f32, register>, !fly.int_tuple<?>) -> !fly.ptr<f32, register>
    fly.ptr.store(%x, %slot) : (f32, !fly.ptr<f32, register>) -> ()
  }
  return
}

// -----

// Truth values have a byte each, so several of them are bytes.
// CHECK-LABEL: @truth_values
// CHECK: %[[BYTES:.*]] = llvm.load %[[P:.*]] {alignment = 4 : i64} : !llvm.ptr<1> -> vector<4xi8>
// CHECK: %[[X:.*]] = arith.trunci %[[BYTES]] : vector<4xi8> to vector<4xi1>
// CHECK: %[[WIDE:.*]] = arith.extui %[[X]] : vector<4xi1> to vector<4xi8>
// CHECK: llvm.store %[[WIDE]], %{{.*}} {alignment = 1 : i64} : vector<4xi8>, !llvm.ptr<3>
func.func @truth_values(%p: !fly.ptr<i1, global, align<4>>, %s: !fly.ptr<i1, shared>) {
  %x = fly.ptr.load(%p) : (!fly.ptr<i1, global, align<4>>) -> vector<4xi1>
  fly.ptr.store(%x, %s) : (vector<4xi1>, !fly.ptr<i1, shared>) -> ()
  return
}

// -----

// Elements of less than a byte lie packed.
// CHECK-LABEL: @packed_elements
// CHECK-SAME: (%[[P:.*]]: !llvm.ptr<1>, %[[N:.*]]: i32)
// CHECK: %[[WIDE:.*]] = arith.extsi %[[N]] : i32 to i64
// CHECK: %[[BITS:.*]] = arith.muli %[[WIDE]], %c4_i64
// CHECK: %[[BYTES:.*]] = arith.shrsi %[[BITS]], %c3_i64
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[P]][%[[BYTES]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
// CHECK: llvm.getelementptr %[[AT]][%c3{{.*}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
func.func @packed_elements(%p: !fly.ptr<f4E2M1FN, global>, %n: i32) -> !fly.ptr<f4E2M1FN, global> {
  %t = fly.make_int_tuple(%n) : (i32) -> !fly.int_tuple<?{div=2}>
  %at = fly.add_offset(%p, %t) : (!fly.ptr<f4E2M1FN, global>, !fly.int_tuple<?{div=2}>) -> !fly.ptr<f4E2M1FN, global>
  %six = fly.make_int_tuple() : () -> !fly.int_tuple<6>
  %next = fly.add_offset(%at, %six) : (!fly.ptr<f4E2M1FN, global>, !fly.int_tuple<6>) -> !fly.ptr<f4E2M1FN, global>
  return %next : !fly.ptr<f4E2M1FN, global>
}
