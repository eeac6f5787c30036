// Loads see stores and copies between them; what only allocates goes where nobody uses it.
// RUN: fly-opt %s -cse -canonicalize | FileCheck %s

!atom = !fly.copy_atom<!fly.universal_copy<32>, 32>
!reg = !fly.memref<f32, register, 4:1>

// CHECK-LABEL: @loads
func.func @loads(%p: !fly.ptr<f32, global>, %q: !fly.ptr<f32, global>, %v: f32) -> (f32, f32, f32) {
  // CHECK: %[[A:.*]] = fly.ptr.load
  // CHECK-NOT: fly.ptr.load
  // CHECK: fly.ptr.store
  // CHECK: %[[B:.*]] = fly.ptr.load
  // CHECK: return %[[A]], %[[A]], %[[B]]
  %0 = fly.ptr.load(%p) : (!fly.ptr<f32, global>) -> f32
  %1 = fly.ptr.load(%p) : (!fly.ptr<f32, global>) -> f32
  fly.ptr.store(%v, %q) : (f32, !fly.ptr<f32, global>) -> ()
  %2 = fly.ptr.load(%p) : (!fly.ptr<f32, global>) -> f32
  return %0, %1, %2 : f32, f32, f32
}

// CHECK-LABEL: @copies
func.func @copies(%a: !atom, %m: !reg, %n: !reg) -> (vector<4xf32>, vector<4xf32>) {
  // CHECK: %[[A:.*]] = fly.memref.load_vec
  // CHECK: fly.copy
  // CHECK: %[[B:.*]] = fly.memref.load_vec
  // CHECK: return %[[A]], %[[B]]
  %0 = fly.memref.load_vec(%m) : (!reg) -> vector<4xf32>
  fly.copy(%a, %n, %m) : (!atom, !reg, !reg) -> ()
  %1 = fly.memref.load_vec(%m) : (!reg) -> vector<4xf32>
  return %0, %1 : vector<4xf32>, vector<4xf32>
}

// CHECK-LABEL: @unused
// CHECK-NEXT: return
func.func @unused(%l: !fly.layout<4:1>, %p: !fly.ptr<f32, global>) {
  %0 = fly.make_ptr() {dictAttrs = {allocSize = 4 : i64}} : () -> !fly.ptr<f32, register>
  %1 = fly.make_fragment_like(%l, f32) : (!fly.layout<4:1>) -> !reg
  %2 = fly.memref.alloca(%l) : (!fly.layout<4:1>) -> !reg
  %3 = fly.ptr.load(%p) : (!fly.ptr<f32, global>) -> f32
  return
}

// Two allocations are two memories.
// CHECK-LABEL: @distinct
func.func @distinct() -> (!fly.ptr<f32, register>, !fly.ptr<f32, register>) {
  // CHECK: %[[A:.*]] = fly.make_ptr
  // CHECK: %[[B:.*]] = fly.make_ptr
  // CHECK: return %[[A]], %[[B]]
  %0 = fly.make_ptr() {dictAttrs = {allocSize = 4 : i64}} : () -> !fly.ptr<f32, register>
  %1 = fly.make_ptr() {dictAttrs = {allocSize = 4 : i64}} : () -> !fly.ptr<f32, register>
  return %0, %1 : !fly.ptr<f32, register>, !fly.ptr<f32, register>
}

// In registers a call is a function of its operands.
// CHECK-LABEL: @pure_call
func.func @pure_call(%a: !atom, %v: vector<1xf32>) -> (vector<1xf32>, vector<1xf32>) {
  // CHECK: %[[A:.*]] = fly.copy_atom_call_ssa
  // CHECK-NEXT: return %[[A]], %[[A]]
  %0 = fly.copy_atom_call_ssa(%a, %v) {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (!atom, vector<1xf32>) -> vector<1xf32>
  %1 = fly.copy_atom_call_ssa(%a, %v) {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (!atom, vector<1xf32>) -> vector<1xf32>
  return %0, %1 : vector<1xf32>, vector<1xf32>
}
