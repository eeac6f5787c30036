// Two branches whose buffer loads differ in their cache policies stay two: the policy has to be a constant.
// RUN: fly-opt %s --pass-pipeline='builtin.module(gpu.module(convert-scf-to-cf,fly-pin-immediates,convert-vector-to-llvm,convert-gpu-to-rocdl{chipset=gfx942}))' | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: @policies
  // CHECK-DAG: %[[NONE:.*]] = llvm.mlir.constant(0 : i32)
  // CHECK-DAG: %[[STREAM:.*]] = llvm.mlir.constant(2 : i32)
  // CHECK: rocdl.raw.ptr.buffer.load %{{.*}}, %{{.*}}, %[[NONE]], %[[STREAM]]
  // CHECK: rocdl.raw.ptr.buffer.load %{{.*}}, %{{.*}}, %[[NONE]], %[[NONE]]
  gpu.func @policies(%first: i1, %memory: !llvm.ptr<8>, %result: !llvm.ptr<1>, %place: i32) kernel {
    %none = arith.constant 0 : i32
    %stream = arith.constant 2 : i32
    %value = scf.if %first -> (i32) {
      %loaded = rocdl.raw.ptr.buffer.load %memory, %place, %none, %stream : i32
      scf.yield %loaded : i32
    } else {
      %loaded = rocdl.raw.ptr.buffer.load %memory, %place, %none, %none : i32
      scf.yield %loaded : i32
    }
    llvm.store %value, %result : i32, !llvm.ptr<1>
    gpu.return
  }

  // Branches that do the same become one still.
  // CHECK-LABEL: @same
  // CHECK: rocdl.raw.ptr.buffer.load
  // CHECK-NOT: rocdl.raw.ptr.buffer.load
  gpu.func @same(%first: i1, %memory: !llvm.ptr<8>, %result: !llvm.ptr<1>, %place: i32, %other: i32) kernel {
    %none = arith.constant 0 : i32
    %value = scf.if %first -> (i32) {
      %loaded = rocdl.raw.ptr.buffer.load %memory, %place, %none, %none : i32
      scf.yield %loaded : i32
    } else {
      %loaded = rocdl.raw.ptr.buffer.load %memory, %other, %none, %none : i32
      scf.yield %loaded : i32
    }
    llvm.store %value, %result : i32, !llvm.ptr<1>
    gpu.return
  }
}
