// The neutral conversion alone: LLVM operations come out, none of a target.
// RUN: fly-opt %s --convert-fly-to-llvm --split-input-file | FileCheck %s --check-prefixes=CHECK,FLAT --implicit-check-not=rocdl --implicit-check-not=amdgcn
// RUN: fly-opt %s --convert-fly-to-llvm=address-spaces=0,1,3,5 --split-input-file | FileCheck %s --check-prefixes=CHECK,GPU --implicit-check-not=rocdl --implicit-check-not=amdgcn
// RUN: fly-opt %s --convert-fly-to-llvm=address-spaces=10,11,12,13 --split-input-file | FileCheck %s --check-prefixes=CHECK,ODD

// Pointers are of the address space that the target gives them.
// CHECK-LABEL: @pointers
// FLAT-SAME: (%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
// GPU-SAME: (%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<3>, %{{.*}}: !llvm.ptr<5>)
// ODD-SAME: (%{{.*}}: !llvm.ptr<10>, %{{.*}}: !llvm.ptr<11>, %{{.*}}: !llvm.ptr<12>, %{{.*}}: !llvm.ptr<13>)
// FLAT: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// GPU: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// ODD: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<11> -> vector<4xf32>
func.func @pointers(%a: !fly.ptr<f32, generic>, %b: !fly.ptr<f32, global, align<16>>, %c: !fly.ptr<f32, shared>, %d: !fly.ptr<f32, register>) -> vector<4xf32> {
  %x = fly.ptr.load(%b) : (!fly.ptr<f32, global, align<16>>) -> vector<4xf32>
  return %x : vector<4xf32>
}

// -----

// Shared memory is a variable of the module, register memory an alloca.
// CHECK-LABEL: gpu.module @memory
// FLAT: llvm.mlir.global external @__shared_alloc_0() {addr_space = 0 : i32, alignment = 16 : i64, dso_local} : !llvm.array<256 x i8>
// GPU: llvm.mlir.global external @__shared_alloc_0() {addr_space = 3 : i32, alignment = 16 : i64, dso_local} : !llvm.array<256 x i8>
// ODD: llvm.mlir.global external @__shared_alloc_0() {addr_space = 12 : i32, alignment = 16 : i64, dso_local} : !llvm.array<256 x i8>
// CHECK: gpu.func @kernel
// FLAT: llvm.alloca %{{.*}} x f32 : (i64) -> !llvm.ptr
// GPU: llvm.alloca %{{.*}} x f32 : (i64) -> !llvm.ptr<5>
// ODD: llvm.alloca %{{.*}} x f32 : (i64) -> !llvm.ptr<13>
// CHECK: gpu.thread_id x
gpu.module @memory {
  gpu.func @kernel(%x: f32) kernel {
    %t = gpu.thread_id x
    %at = arith.index_cast %t : index to i32
    %s = fly.make_ptr() {dictAttrs = {allocBytes = 256 : i64, allocAlign = 16 : i64}} : () -> !fly.ptr<f32, shared, align<16>>
    %r = fly.make_ptr() {dictAttrs = {allocSize = 4 : i64}} : () -> !fly.ptr<f32, register>
    %off = fly.make_int_tuple(%at) : (i32) -> !fly.int_tuple<?>
    %slot = fly.add_offset(%r, %off) : (!fly.ptr<f32, register>, !fly.int_tuple<?>) -> !fly.ptr<f32, register>
    fly.ptr.store(%x, %slot) : (f32, !fly.ptr<f32, register>) -> ()
    fly.ptr.store(%x, %s) : (f32, !fly.ptr<f32, shared, align<16>>) -> ()
    gpu.return
  }
}

// -----

// Universal atoms need no model that a backend attaches.
// CHECK-LABEL: @predicated_copy
// CHECK: scf.if %{{.*}} -> (vector<4xf32>) {
// CHECK:   llvm.load
func.func @predicated_copy(%src: !fly.memref<f32, global, 4:1>, %old: vector<4xf32>, %c: i1) -> vector<4xf32> {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<128>, 32>
  %r = fly.copy_atom_call_ssa(%atom, %src, %old, %c) {operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, global, 4:1>, vector<4xf32>, i1) -> vector<4xf32>
  return %r : vector<4xf32>
}

// -----

// CHECK-LABEL: @atomic
// FLAT: llvm.atomicrmw fadd %{{.*}}, %{{.*}} monotonic : !llvm.ptr, f32
// GPU: llvm.atomicrmw fadd %{{.*}}, %{{.*}} monotonic : !llvm.ptr<1>, f32
func.func @atomic(%x: f32, %dst: !fly.memref<f32, global, 1:1>) {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_atomic<#fly<atomic_op add>, f32>, 32>
  fly.copy_atom_call_ssa(%atom, %x, %dst) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (!fly.copy_atom<!fly.universal_atomic<#fly<atomic_op add>, f32>, 32>, f32, !fly.memref<f32, global, 1:1>) -> ()
  return
}

// -----

// CHECK-LABEL: @fma
// CHECK: math.fma %{{.*}}, %{{.*}}, %{{.*}} : f32
func.func @fma(%a: f32, %b: f32, %c: f32) -> f32 {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly.universal_fma<1x1x1, (f32, f32) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly.universal_fma<1x1x1, (f32, f32) -> f32>>, f32, f32, f32) -> f32
  return %d : f32
}

// -----

// A tensor that scf.for carries, moved by a number known at run time.
// CHECK-LABEL: @loop
// FLAT: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (!llvm.ptr)
// GPU: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (!llvm.ptr<1>)
// CHECK: llvm.getelementptr
func.func @loop(%p: !fly.ptr<f32, global>, %n: index, %step: i32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%q = %p) -> (!fly.ptr<f32, global>) {
    %off = fly.make_int_tuple(%step) : (i32) -> !fly.int_tuple<?>
    %next = fly.add_offset(%q, %off) : (!fly.ptr<f32, global>, !fly.int_tuple<?>) -> !fly.ptr<f32, global>
    scf.yield %next : !fly.ptr<f32, global>
  }
  %x = fly.ptr.load(%end) : (!fly.ptr<f32, global>) -> f32
  return %x : f32
}
