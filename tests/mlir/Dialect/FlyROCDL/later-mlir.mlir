// What later versions of MLIR write in another way is read all the same.
// RUN: fly-opt %s --mlir-print-local-scope | FileCheck %s

// Scheduling masks by name are their numbers.

// CHECK-LABEL: @masks
func.func @masks() {
  // CHECK-NEXT: rocdl.sched.barrier 0
  rocdl.sched.barrier none
  // CHECK-NEXT: rocdl.sched.barrier 18
  rocdl.sched.barrier valu|all_vmem
  // CHECK-NEXT: rocdl.sched.group.barrier 256, 2, 0
  rocdl.sched.group.barrier ds_read, 2, 0
  // CHECK-NEXT: rocdl.sched.group.barrier 8, 1, 0
  rocdl.sched.group.barrier mfma_wmma, 1, 0
  // CHECK-NEXT: rocdl.sched.group.barrier 512, 2, 1
  rocdl.sched.group.barrier 512, 2, 1
  return
}

// Immediates in place of operands are constants.
// CHECK-LABEL: @immediates
// CHECK-SAME: (%[[R:.*]]: !llvm.ptr<8>, %[[O:.*]]: i32, %[[X:.*]]: f32, %[[A:.*]]: vector<8xi32>, %[[C:.*]]: vector<4xf32>)
func.func @immediates(%r: !llvm.ptr<8>, %o: i32, %x: f32, %a: vector<8xi32>, %c: vector<4xf32>) -> (vector<4xf32>, f32) {
  // CHECK: %[[Z:.*]] = llvm.mlir.constant(0 : i32) : i32
  // CHECK-NEXT: %[[L:.*]] = rocdl.raw.ptr.buffer.load %[[R]], %[[O]], %[[O]], %[[Z]] : f32
  %l = rocdl.raw.ptr.buffer.load %r, %o, %o, 0 : f32
  // CHECK: %[[T:.*]] = llvm.mlir.constant(2 : i32) : i32
  // CHECK-NEXT: rocdl.raw.ptr.buffer.store %[[L]], %[[R]], %[[O]], %[[O]], %[[T]] : f32
  rocdl.raw.ptr.buffer.store %l, %r, %o, %o, 2 : f32 loc("a.py":7:3)
  // CHECK-NEXT: rocdl.raw.ptr.buffer.store %[[L]], %[[R]], %[[O]], %[[O]], %[[O]] : f32
  rocdl.raw.ptr.buffer.store %l, %r, %o, %o, %o : f32

  // An atomic operation gives the old value. Two operations may share a line.
  // CHECK: %[[OLD:.*]] = llvm.call_intrinsic "llvm.amdgcn.raw.ptr.buffer.atomic.fadd"(%[[X]], %[[R]], %[[O]], %[[O]], %{{.*}}) : (f32, !llvm.ptr<8>, i32, i32, i32) -> f32
  // CHECK: rocdl.raw.ptr.buffer.atomic.fadd %[[OLD]], %[[R]], %[[O]], %[[O]], %{{.*}} : f32
  %old = rocdl.raw.ptr.buffer.atomic.fadd %x, %r, %o, %o, 0 : f32
  %k = arith.constant 1 : i32 rocdl.raw.ptr.buffer.atomic.fadd %old, %r, %o, %o, 0 : f32

  // Formats by name; the functional type gets the immediates' types.
  // CHECK: %[[F:.*]] = llvm.mlir.constant(4 : i32) : i32
  // CHECK: rocdl.mfma.scale.f32.16x16x128.f8f6f4 %[[A]], %[[A]], %[[C]], %{{.*}}, %[[F]], %{{.*}}, %[[O]], %{{.*}}, %[[O]] : (vector<8xi32>, vector<8xi32>, vector<4xf32>, i32, i32, i32, i32, i32, i32) -> vector<4xf32>
  %m = rocdl.mfma.scale.f32.16x16x128.f8f6f4 %a, %a, %c, fp8_e4m3, fp4_e2m1, 0, %o, 2, %o : (vector<8xi32>, vector<8xi32>, vector<4xf32>, i32, i32) -> vector<4xf32>
  // CHECK: %[[P:.*]] = llvm.mlir.constant(3 : i32) : i32
  // CHECK: rocdl.mfma.f32.4x4x1f32 %[[X]], %[[X]], %[[C]], %{{.*}}, %{{.*}}, %[[P]] : (f32, f32, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
  %p = rocdl.mfma.f32.4x4x1f32 %x, %x, %c, 0, 0, rotate_16_right : (f32, f32, vector<4xf32>) -> vector<4xf32>
  return %m, %old : vector<4xf32>, f32
}
