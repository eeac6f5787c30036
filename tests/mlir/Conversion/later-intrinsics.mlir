// Intrinsics of later versions of LLVM, where this version can do the same.
// RUN: fly-opt %s --split-input-file --fly-lower-later-intrinsics="chipset=gfx950" | FileCheck %s --check-prefixes=CHECK,GFX950
// RUN: fly-opt %s --split-input-file --fly-lower-later-intrinsics="chipset=gfx1250" | FileCheck %s --check-prefixes=CHECK,GFX1250

// An asynchronous load is an ordinary one. The marks are not counted: a wait is for all loads.
// CHECK-LABEL: @async
func.func @async(%b: !llvm.ptr<8>, %g: !llvm.ptr<1>, %s: !llvm.ptr<3>, %i: i32) {
  // CHECK-NEXT: constant
  // CHECK-NEXT: llvm.call_intrinsic "llvm.amdgcn.raw.ptr.buffer.load.lds"
  rocdl.raw.ptr.buffer.load.async.lds %b, %s, %i, %i, %i, %i, 0
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.global.load.lds"
  rocdl.global.load.async.lds %g, %s, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.load.to.lds"
  rocdl.load.async.to.lds %g, %s, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  // CHECK-NOT: asyncmark
  rocdl.asyncmark
  // GFX950: rocdl.s.waitcnt 3952
  // GFX1250: rocdl.s.wait.asynccnt 0
  // GFX1250-NEXT: rocdl.s.wait.tensorcnt 0
  rocdl.wait.asyncmark 1
  return
}

// -----

// The fifth group of a descriptor is gone, and with zeros in the third and fourth the short form is used.
// CHECK-LABEL: @tensors
// CHECK-SAME: (%[[A:.*]]: vector<4xi32>, %[[B:.*]]: vector<8xi32>)
func.func @tensors(%a: vector<4xi32>, %b: vector<8xi32>) {
  %zero4 = arith.constant dense<0> : vector<4xi32>
  %zero8 = arith.constant dense<0> : vector<8xi32>
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.tensor.load.to.lds.d2"(%[[A]], %[[B]], %{{.*}}) : (vector<4xi32>, vector<8xi32>, i32) -> ()
  rocdl.tensor.load.to.lds %a, %b, %zero4, %zero4, %zero8, 0 : vector<4xi32>, vector<8xi32>
  // Groups three and four of a gather are the numbers of rows.
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.tensor.store.from.lds"(%[[A]], %[[B]], %[[A]], %{{.*}}, %{{.*}}) : (vector<4xi32>, vector<8xi32>, vector<4xi32>, vector<4xi32>, i32) -> ()
  rocdl.tensor.store.from.lds %a, %b, %a, %zero4, %zero8, 0 : vector<4xi32>, vector<8xi32>
  return
}

// -----

// CHECK-LABEL: @scalar
func.func @scalar(%b: !llvm.ptr<8>, %i: i32) -> vector<4xi32> {
  // CHECK: %[[R:.*]] = llvm.ptrtoint %{{.*}} : !llvm.ptr<8> to i128
  // CHECK-NEXT: %[[W:.*]] = llvm.bitcast %[[R]] : i128 to vector<4xi32>
  // CHECK-NEXT: llvm.call_intrinsic "llvm.amdgcn.s.buffer.load"(%[[W]], %{{.*}}, %{{.*}})
  %0 = rocdl.ptr.s.buffer.load %b, %i, 0 : vector<4xi32>
  return %0 : vector<4xi32>
}
