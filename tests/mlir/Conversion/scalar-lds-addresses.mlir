// RUN: fly-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(fly-scalar-lds-addresses))' | FileCheck %s

gpu.module @kernels {
  // The address is computed again from the first thread's id, before the loop where it can be.
  // CHECK-LABEL: gpu.func @loop
  gpu.func @loop(%rsrc: !llvm.ptr<8>, %lds: !llvm.ptr<3>, %n: index) kernel {
    // CHECK: %[[ID:.*]] = gpu.thread_id x
    %id = gpu.thread_id x
    // CHECK: %[[BITS:.*]] = arith.index_cast %[[ID]] : index to i32
    // CHECK: %[[FIRST:.*]] = rocdl.readfirstlane %[[BITS]] : i32
    // CHECK: %[[UNIFORM:.*]] = arith.index_cast %[[FIRST]] : i32 to index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %i0 = arith.constant 0 : i32
    %size = arith.constant 16 : i32
    // CHECK: %[[OWN:.*]] = arith.muli %[[ID]], %{{.*}} : index
    // CHECK: %[[WAVES:.*]] = arith.muli %[[UNIFORM]], %{{.*}} : index
    %offset = arith.muli %id, %c16 : index
    // CHECK: %[[OWN_BITS:.*]] = arith.index_cast %[[OWN]] : index to i32
    // CHECK: %[[WAVE_BITS:.*]] = arith.index_cast %[[WAVES]] : index to i32
    %bytes = arith.index_cast %offset : index to i32
    // CHECK: scf.for
    scf.for %k = %c0 to %n step %c1 {
      %stage = arith.index_cast %k : index to i32
      // CHECK: %[[OWN_AT:.*]] = arith.addi %[[OWN_BITS]], %[[STAGE:.*]] : i32
      // CHECK: %[[WAVE_AT:.*]] = arith.addi %[[WAVE_BITS]], %[[STAGE]] : i32
      %at = arith.addi %bytes, %stage : i32
      // CHECK: %[[OWN_TO:.*]] = llvm.getelementptr %{{.*}}[%[[OWN_AT]]]
      // CHECK: %[[WAVE_TO:.*]] = llvm.getelementptr %{{.*}}[%[[WAVE_AT]]]
      %to = llvm.getelementptr %lds[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
      // The lanes' own addresses are still those of other accesses, and of the buffer.
      // CHECK: rocdl.raw.ptr.buffer.load.lds %{{.*}}, %[[WAVE_TO]], %{{.*}}, %[[OWN_BITS]]
      rocdl.raw.ptr.buffer.load.lds %rsrc, %to, %size, %bytes, %i0, %i0, %i0
      // CHECK: llvm.load %[[OWN_TO]]
      %v = llvm.load %to : !llvm.ptr<3> -> i32
    }
    gpu.return
  }

  // An address that does not come from the thread's id by arithmetic alone stays as it is.
  // CHECK-LABEL: gpu.func @loaded
  gpu.func @loaded(%from: !llvm.ptr<1>, %lds: !llvm.ptr<3>) kernel {
    %at = llvm.load %from : !llvm.ptr<1> -> i32
    // CHECK: %[[TO:.*]] = llvm.getelementptr
    %to = llvm.getelementptr %lds[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    // CHECK-NOT: readfirstlane
    // CHECK: rocdl.global.load.lds %{{.*}}, %[[TO]], 16
    rocdl.global.load.lds %from, %to, 16, 0, 0
    gpu.return
  }
}
