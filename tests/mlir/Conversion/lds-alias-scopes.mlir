// RUN: fly-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(fly-lds-alias-scopes))' | FileCheck %s

// Two stages of 4096 bytes, in which each of 256 threads has 16. What reads and writes a stage is in its scope.
gpu.module @stages {
  llvm.mlir.global external @lds() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<8192 x i8>
  // CHECK-LABEL: gpu.func @known
  gpu.func @known(%rsrc: !llvm.ptr<8>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %base = llvm.mlir.addressof @lds : !llvm.ptr<3>
    %i0 = arith.constant 0 : i32
    %size = arith.constant 16 : i32
    %id = gpu.thread_id x
    %t = arith.index_cast %id : index to i32
    %bytes = arith.muli %t, %size : i32
    %c255 = arith.constant 255 : i32
    %mirror = arith.subi %c255, %t : i32
    %two = llvm.getelementptr %base[4096] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %to = llvm.getelementptr %two[%bytes] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    // CHECK: rocdl.raw.ptr.buffer.load.lds {{.*}}alias_scopes = [#[[SECOND:[a-z_0-9]+]]], noalias_scopes = [#[[FIRST:[a-z_0-9]+]]]
    rocdl.raw.ptr.buffer.load.lds %rsrc, %to, %size, %bytes, %i0, %i0, %i0
    %from = llvm.getelementptr %base[%mirror] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf32>
    // CHECK: llvm.load {{.*}}alias_scopes = [#[[FIRST]]], {{.*}}noalias_scopes = [#[[SECOND]]]
    %v = llvm.load %from : !llvm.ptr<3> -> vector<4xf32>
    // CHECK: llvm.store {{.*}}alias_scopes = [#[[FIRST]]], {{.*}}noalias_scopes = [#[[SECOND]]]
    llvm.store %v, %from : vector<4xf32>, !llvm.ptr<3>
    gpu.return
  }
}

// -----

// The last thread's 16 bytes reach into the second stage; the accesses stay as they are. So do those at a stage that is not known,
// and those of a variable whose address goes elsewhere.
gpu.module @overlapping {
  llvm.mlir.global external @lds() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<8192 x i8>
  // CHECK-LABEL: gpu.func @touching
  // CHECK-NOT: alias_scopes
  gpu.func @touching(%rsrc: !llvm.ptr<8>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %base = llvm.mlir.addressof @lds : !llvm.ptr<3>
    %i0 = arith.constant 0 : i32
    %size = arith.constant 16 : i32
    %id = gpu.thread_id x
    %t = arith.index_cast %id : index to i32
    %bytes = arith.muli %t, %size : i32
    %two = llvm.getelementptr %base[4092] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    rocdl.raw.ptr.buffer.load.lds %rsrc, %two, %size, %bytes, %i0, %i0, %i0
    %from = llvm.getelementptr %base[%bytes] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %v = llvm.load %from : !llvm.ptr<3> -> vector<4xf32>
    gpu.return
  }
  // CHECK-LABEL: gpu.func @computed
  // CHECK-NOT: alias_scopes
  gpu.func @computed(%rsrc: !llvm.ptr<8>, %stage: i32) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %base = llvm.mlir.addressof @lds : !llvm.ptr<3>
    %i0 = arith.constant 0 : i32
    %size = arith.constant 16 : i32
    %to = llvm.getelementptr %base[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4096 x i8>
    rocdl.raw.ptr.buffer.load.lds %rsrc, %to, %size, %i0, %i0, %i0, %i0
    %v = llvm.load %base : !llvm.ptr<3> -> vector<4xf32>
    gpu.return
  }
  // CHECK-LABEL: gpu.func @escaping
  // CHECK-NOT: alias_scopes
  gpu.func @escaping(%rsrc: !llvm.ptr<8>) kernel {
    %base = llvm.mlir.addressof @lds : !llvm.ptr<3>
    %i0 = arith.constant 0 : i32
    %size = arith.constant 16 : i32
    %two = llvm.getelementptr %base[4096] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    rocdl.raw.ptr.buffer.load.lds %rsrc, %two, %size, %i0, %i0, %i0, %i0
    %v = llvm.load %base : !llvm.ptr<3> -> vector<4xf32>
    %generic = llvm.addrspacecast %base : !llvm.ptr<3> to !llvm.ptr
    llvm.store %v, %generic : vector<4xf32>, !llvm.ptr
    gpu.return
  }
}
