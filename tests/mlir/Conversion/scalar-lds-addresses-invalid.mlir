// RUN: fly-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(fly-scalar-lds-addresses))'

gpu.module @kernels {
  // Padded: the lanes' destinations are 20 bytes apart, their data have 16.
  gpu.func @padded(%rsrc: !llvm.ptr<8>, %lds: !llvm.ptr<3>, %n: i32) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %id = gpu.thread_id x
    %tid = arith.index_cast %id : index to i32
    %i0 = arith.constant 0 : i32
    %pitch = arith.constant 20 : i32
    %size = arith.constant 16 : i32
    %behind = arith.muli %tid, %pitch : i32
    %at = arith.addi %behind, %n : i32
    %to = llvm.getelementptr %lds[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    // expected-error@+1 {{a load into LDS writes each lane's 16 bytes after those of the lane before, so those of lane 1 lie 16 bytes after those of lane 0; its destination is 20 bytes after it}}
    rocdl.raw.ptr.buffer.load.lds %rsrc, %to, %size, %i0, %i0, %i0, %i0
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // Two columns: lane 32 begins the second one, which has a gap before it.
  gpu.func @columns(%rsrc: !llvm.ptr<8>, %lds: !llvm.ptr<3>) kernel attributes {known_block_size = array<i32: 64, 2, 1>} {
    %id = gpu.thread_id x
    %tid = arith.index_cast %id : index to i32
    %i0 = arith.constant 0 : i32
    %i4 = arith.constant 4 : i32
    %i32 = arith.constant 32 : i32
    %column = arith.constant 33 : i32
    %row = arith.remui %tid, %i32 : i32
    %number = arith.divui %tid, %i32 : i32
    %first = arith.muli %number, %column : i32
    %at = arith.addi %first, %row : i32
    %to = llvm.getelementptr %lds[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    // expected-error@+1 {{those of lane 32 lie 128 bytes after those of lane 0; its destination is 132 bytes after it}}
    rocdl.raw.ptr.buffer.load.lds %rsrc, %to, %i4, %i0, %i0, %i0, %i0
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // In turn, one address for all, and places that nobody can tell.
  gpu.func @right(%rsrc: !llvm.ptr<8>, %lds: !llvm.ptr<3>, %n: i32, %from: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %id = gpu.thread_id x
    %tid = arith.index_cast %id : index to i32
    %i0 = arith.constant 0 : i32
    %i2 = arith.constant 2 : i32
    %i4 = arith.constant 4 : i32
    %behind = arith.shli %tid, %i2 : i32
    %stage = arith.muli %n, %n : i32
    %at = arith.addi %behind, %stage : i32
    %in_turn = llvm.getelementptr %lds[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    rocdl.raw.ptr.buffer.load.lds %rsrc, %in_turn, %i4, %i0, %i0, %i0, %i0
    %one = llvm.getelementptr %lds[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    rocdl.raw.ptr.buffer.load.lds %rsrc, %one, %i4, %i0, %i0, %i0, %i0
    %loaded = llvm.load %from : !llvm.ptr<1> -> i32
    %far = arith.muli %loaded, %tid : i32
    %unknown = llvm.getelementptr %lds[%far] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    rocdl.raw.ptr.buffer.load.lds %rsrc, %unknown, %i4, %i0, %i0, %i0, %i0
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // Rows of 16 threads: the lanes of a wave differ in y too, and nothing is said.
  gpu.func @rows(%rsrc: !llvm.ptr<8>, %lds: !llvm.ptr<3>) kernel attributes {known_block_size = array<i32: 16, 16, 1>} {
    %id = gpu.thread_id x
    %tid = arith.index_cast %id : index to i32
    %i0 = arith.constant 0 : i32
    %i4 = arith.constant 4 : i32
    %to = llvm.getelementptr %lds[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    rocdl.raw.ptr.buffer.load.lds %rsrc, %to, %i4, %i0, %i0, %i0, %i0
    gpu.return
  }
}
