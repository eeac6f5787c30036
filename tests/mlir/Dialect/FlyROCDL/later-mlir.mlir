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
  // CHECK-NEXT: rocdl.sched.group.barrier 2048, 1, 0
  rocdl.sched.group.barrier ldsdma, 1, 0
  // CHECK-NEXT: rocdl.sched.barrier 4095
  rocdl.sched.barrier all
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

// Operations that this version does not have are calls of their intrinsics; what is left out of a
// dictionary is 0.
// CHECK-LABEL: @intrinsics
// CHECK-SAME: (%[[I:[a-z0-9]*]]: i32, %[[F:[a-z0-9]*]]: f32, %[[G:[a-z0-9]*]]: !llvm.ptr<1>, %[[S:[a-z0-9]*]]: !llvm.ptr<3>, %[[B:[a-z0-9]*]]: !llvm.ptr<8>
func.func @intrinsics(%i: i32, %f: f32, %g: !llvm.ptr<1>, %s: !llvm.ptr<3>, %b: !llvm.ptr<8>, %h8: vector<8xf16>, %h16: vector<16xf16>, %acc: vector<8xf32>, %v2: vector<2xi32>, %v4: vector<4xi32>, %v8: vector<8xi32>, %p: i1) {
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.asyncmark"() : () -> ()
  rocdl.asyncmark
  // CHECK: %[[N:.*]] = llvm.mlir.constant(2 : i16) : i16
  // CHECK-NEXT: llvm.call_intrinsic "llvm.amdgcn.wait.asyncmark"(%[[N]]) : (i16) -> ()
  rocdl.wait.asyncmark 2
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.wave.id"() : () -> i32
  %0 = rocdl.wave.id : i32
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.wave.id"() : () -> i32
  %1 = rocdl.wave.id range <i32, 0, 8> : i32 loc("a.py":3:1)
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.cluster.workgroup.id.x"() : () -> i32
  %2 = rocdl.cluster.workgroup.id.x : i32
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.wave.barrier"() : () -> ()
  rocdl.wave.barrier
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.load.async.to.lds"(%[[G]], %[[S]], %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr<1>, !llvm.ptr<3>, i32, i32, i32) -> ()
  rocdl.load.async.to.lds %g, %s, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.raw.ptr.buffer.load.async.lds"(%[[B]], %[[S]], %[[I]], %[[I]], %[[I]], %[[I]], %{{.*}}) : (!llvm.ptr<8>, !llvm.ptr<3>, i32, i32, i32, i32, i32) -> ()
  rocdl.raw.ptr.buffer.load.async.lds %b, %s, %i, %i, %i, %i, 0
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.ptr.s.buffer.load"(%[[B]], %[[I]], %{{.*}}) : (!llvm.ptr<8>, i32, i32) -> vector<4xi32>
  %3 = rocdl.ptr.s.buffer.load %b, %i, 0 : vector<4xi32>
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.rsq"(%[[F]]) : (f32) -> f32
  %4 = rocdl.rsq %f f32 -> f32
  // CHECK: %[[NO:.*]] = llvm.mlir.constant(false) : i1
  // CHECK: %[[YES:.*]] = llvm.mlir.constant(true) : i1
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.permlane16.var"(%[[I]], %[[I]], %[[I]], %[[NO]], %[[YES]]) : (i32, i32, i32, i1, i1) -> i32
  %5 = rocdl.permlane16.var %i, %i, %i, false, true : (i32, i32, i32) -> i32
  // CHECK: %[[C:.*]] = llvm.mlir.constant(true) : i1
  // CHECK-NEXT: llvm.call_intrinsic "llvm.amdgcn.sdot4"(%[[I]], %[[I]], %[[I]], %[[C]]) : (i32, i32, i32, i1) -> i32
  %6 = rocdl.sdot4 %i, %i, %i {clamp = true} : (i32, i32, i32) -> i32
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.sudot4"(%{{.*}}, %[[I]], %{{.*}}, %[[I]], %[[I]], %{{.*}}) : (i1, i32, i1, i32, i32, i1) -> i32
  %7 = rocdl.sudot4 %i, %i, %i {clamp = true, signA = true} : (i32, i32, i32) -> i32
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.swmmac.f32.16x16x32.f16"
  %8 = rocdl.swmmac.f32.16x16x32.f16 %h8, %h16, %acc, %i : (vector<8xf16>, vector<16xf16>, vector<8xf32>, i32) -> vector<8xf32>
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.swmmac.i32.16x16x32.iu8"(%{{.*}}) : (i1, vector<2xi32>, i1, vector<4xi32>, vector<8xi32>, i32, i1) -> vector<8xi32>
  %9 = rocdl.swmmac.i32.16x16x32.iu8 %v2, %v4, %v8, %i {signA = true} : (vector<2xi32>, vector<4xi32>, vector<8xi32>, i32) -> vector<8xi32>
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.global.store.async.from.lds.b32"(%[[G]], %[[S]], %{{.*}}, %{{.*}}) : (!llvm.ptr<1>, !llvm.ptr<3>, i32, i32) -> ()
  rocdl.global.store.async.from.lds.b32 %g, %s, 0, 8 {aux = 0 : i32} : !llvm.ptr<1>, !llvm.ptr<3>
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.tensor.load.to.lds"(%{{.*}}) : (vector<4xi32>, vector<8xi32>, vector<4xi32>, vector<4xi32>, vector<8xi32>, i32) -> ()
  rocdl.tensor.load.to.lds %v4, %v8, %v4, %v4, %v8, 8 : vector<4xi32>, vector<8xi32>
  // CHECK: rocdl.tensor.load.to.lds {{.*}} cachepolicy 3 : vector<4xi32>, vector<8xi32>
  rocdl.tensor.load.to.lds %v4, %v8, %v4, %v4 cachepolicy 3 : vector<4xi32>, vector<8xi32>
  // CHECK: rocdl.ballot %{{.*}} : i64
  %10 = gpu.ballot %p : i64
  return
}

// Modifiers by name are attributes, and promises that this version can't write are left out.
// CHECK-LABEL: @spelling
func.func @spelling(%a: vector<16xbf16>, %c: vector<8xf32>, %v: vector<8xi32>, %i: i32, %f: f32, %g: !llvm.ptr<1>) {
  // CHECK: rocdl.wmma.f32.16x16x32.bf16 {{.*}} {modC = 1 : i16, reuseA = true} :
  %0 = rocdl.wmma.f32.16x16x32.bf16 %a, %a, %c, modC = neg {reuseA = true} : (vector<16xbf16>, vector<16xbf16>, vector<8xf32>) -> vector<8xf32>
  // CHECK: rocdl.wmma.scale.f32.16x16x128.f8f6f4 {{.*}} {fmtA = 4 : i32, fmtB = 1 : i32, fmtScaleA = 1 : i32, fmtScaleB = 2 : i32, scaleAType = 1 : i32}
  %1 = rocdl.wmma.scale.f32.16x16x128.f8f6f4 %v, %v, %c, %i, %i, fmtA = fp4_e2m1, fmtB = fp8_e5m2, modC = none, scaleAType = row1, fmtScaleA = e5m3, scaleBType = row0, fmtScaleB = e4m3 : (vector<8xi32>, vector<8xi32>, vector<8xf32>, i32, i32) -> vector<8xf32>
  // CHECK: rocdl.global.prefetch %{{.*}}, scope 8
  rocdl.global.prefetch %g, 8 : !llvm.ptr<1>
  // CHECK: gpu.barrier
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  // CHECK-NEXT: llvm.fence syncscope("wavefront") release
  // CHECK-NEXT: llvm.call_intrinsic "llvm.amdgcn.wave.barrier"() : () -> ()
  // CHECK-NEXT: llvm.fence syncscope("wavefront") acquire
  gpu.barrier scope <subgroup>
  // CHECK: arith.extui %{{.*}} : i32 to i64
  %2 = arith.extui %i nneg : i32 to i64
  // CHECK: llvm.fptrunc %{{.*}} : f32 to f16
  %3 = llvm.fptrunc %f fastmath<contract> : f32 to f16
  return
}
