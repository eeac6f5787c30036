// RUN: fly-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(fly-split-addresses{offset-bits=13}))' | FileCheck %s

gpu.module @kernels {
  // A row of the block, a column of the thread, and a constant that fits the instruction. The row is added to the base as a number, the
  // column in 32 bits, the constant in bytes.
  // CHECK-LABEL: gpu.func @tile
  // CHECK-SAME: (%[[P:.*]]: !llvm.ptr<1>, %[[STRIDE:.*]]: i64)
  gpu.func @tile(%p: !llvm.ptr<1>, %stride: i64) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c8 = arith.constant 8 : i32
    %c3 = arith.constant 3 : i64
    %b = gpu.block_id x
    %block = arith.index_cast %b : index to i64
    %t = gpu.thread_id x
    %thread = arith.index_cast %t : index to i32
    // CHECK: %[[COLUMN:.*]] = arith.muli %{{.*}}, %c8_i32 : i32
    %column = arith.muli %thread, %c8 : i32
    %wide = arith.extui %column : i32 to i64
    // CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %[[STRIDE]] : i64
    %row = arith.muli %block, %stride : i64
    %sum = arith.addi %row, %wide : i64
    %at = arith.addi %sum, %c3 : i64
    %to = llvm.getelementptr %p[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
    // CHECK: %[[START:.*]] = llvm.ptrtoint %[[P]] : !llvm.ptr<1> to i64
    // CHECK: %[[BYTES:.*]] = arith.muli %[[ROW]], %c2_i64 : i64
    // CHECK: %[[ADDRESS:.*]] = arith.addi %[[START]], %[[BYTES]] : i64
    // CHECK: %[[BASE:.*]] = llvm.inttoptr %[[ADDRESS]] : i64 to !llvm.ptr<1>
    // CHECK: %[[LANE:.*]] = llvm.getelementptr %[[BASE]][%[[COLUMN]]] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    // CHECK: %[[TO:.*]] = llvm.getelementptr %[[LANE]][6] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    // CHECK: llvm.load %[[TO]]
    %v = llvm.load %to : !llvm.ptr<1> -> f16
    llvm.store %v, %to : f16, !llvm.ptr<1>
    gpu.return
  }

  // Constants beyond the instruction's range: 8192 is common to the accesses at 4096 and at 12280, and is added to the base.
  // CHECK-LABEL: gpu.func @constants
  gpu.func @constants(%address: i64, %n: i32) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %t = gpu.thread_id x
    %thread = arith.index_cast %t : index to i32
    %p = llvm.inttoptr %address : i64 to !llvm.ptr<1>
    %own = llvm.getelementptr %p[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    // CHECK: %[[LANE:.*]] = llvm.getelementptr %{{.*}}[%[[THREAD:.*]]] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    // CHECK: llvm.load %[[LANE]]
    %a = llvm.load %own : !llvm.ptr<1> -> f32
    %near = llvm.getelementptr %own[1024] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    // CHECK: %[[NEAR:.*]] = arith.addi %{{.*}}, %c8192_i64{{.*}} : i64
    // CHECK: %[[NEAR_BASE:.*]] = llvm.inttoptr %[[NEAR]]
    // CHECK: %[[NEAR_LANE:.*]] = llvm.getelementptr %[[NEAR_BASE]][%[[THREAD]]]
    // CHECK: llvm.getelementptr %[[NEAR_LANE]][-4096] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %b = llvm.load %near : !llvm.ptr<1> -> f32
    %far = llvm.getelementptr %own[3070] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    // CHECK: %[[FAR:.*]] = arith.addi %{{.*}}, %c8192_i64{{.*}} : i64
    // CHECK: %[[FAR_BASE:.*]] = llvm.inttoptr %[[FAR]]
    // CHECK: %[[FAR_LANE:.*]] = llvm.getelementptr %[[FAR_BASE]][%[[THREAD]]]
    // CHECK: llvm.getelementptr %[[FAR_LANE]][4088] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %c = llvm.load %far : !llvm.ptr<1> -> f32
    llvm.store %a, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // A loop's number is the same in all lanes if its bounds are; so is what the loop carries, if it begins and goes on so.
  // CHECK-LABEL: gpu.func @loops
  gpu.func @loops(%p: !llvm.ptr<1>, %rounds: i32, %step: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %z = arith.constant 0 : i64
    %t = gpu.thread_id x
    %thread = arith.index_cast %t : index to i32
    %own = arith.extui %thread : i32 to i64
    // CHECK: scf.for %{{.*}} iter_args(%[[AT:.*]] = %{{.*}}) -> (i64)
    %end = scf.for %k = %c0 to %rounds step %c1 iter_args(%at = %z) -> (i64) : i32 {
      %sum = arith.addi %at, %own : i64
      %to = llvm.getelementptr %p[%sum] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
      // CHECK: %[[BASE:.*]] = llvm.inttoptr
      // CHECK: llvm.getelementptr %[[BASE]][%{{.*}}] : (!llvm.ptr<1>, i32)
      %v = llvm.load %to : !llvm.ptr<1> -> i8
      %next = arith.addi %at, %step : i64
      scf.yield %next : i64
    }
    // A loop whose lanes leave it at different rounds gives them different values: the lane's terms, of 64 bits, are added as numbers.
    // CHECK: %[[MINE:.*]] = scf.for
    %mine = scf.for %k = %c0 to %thread step %c1 iter_args(%at = %z) -> (i64) : i32 {
      %next = arith.addi %at, %step : i64
      scf.yield %next : i64
    }
    %sum = arith.addi %mine, %own : i64
    %to = llvm.getelementptr %p[%sum] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    // CHECK: %[[START:.*]] = llvm.ptrtoint
    // CHECK: %[[THREAD:.*]] = arith.extui %{{.*}} : i32 to i64
    // CHECK: %[[LANE:.*]] = arith.addi %[[START]], %[[THREAD]] : i64
    // CHECK: %[[ADDRESS:.*]] = arith.addi %[[LANE]], %[[MINE]] : i64
    // CHECK: %[[TO:.*]] = llvm.inttoptr %[[ADDRESS]] : i64
    // CHECK: llvm.load %[[TO]]
    %v = llvm.load %to : !llvm.ptr<1> -> i8
    gpu.return
  }

  // What may wrap in 32 bits stays whole: n times the thread's number need not fit. A branch by the thread gives lanes different values;
  // the first lane's value is all lanes' again.
  // CHECK-LABEL: gpu.func @whole
  gpu.func @whole(%p: !llvm.ptr<1>, %n: i32, %a: i64, %b: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c5 = arith.constant 5 : i32
    %t = gpu.thread_id x
    %thread = arith.index_cast %t : index to i32
    %far = arith.muli %thread, %n : i32
    %at = arith.addi %far, %n : i32
    %to = llvm.getelementptr %p[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    // CHECK-NOT: llvm.inttoptr
    // CHECK: %[[TO:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    // CHECK: llvm.load %[[TO]]
    %v = llvm.load %to : !llvm.ptr<1> -> f32
    %few = arith.cmpi slt, %thread, %c5 : i32
    %either = scf.if %few -> (i64) {
      scf.yield %a : i64
    } else {
      scf.yield %b : i64
    }
    %own = arith.extui %thread : i32 to i64
    %sum = arith.addi %either, %own : i64
    %there = llvm.getelementptr %p[%sum] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    // CHECK: %[[EITHER:.*]] = scf.if
    // CHECK: %[[START:.*]] = llvm.ptrtoint
    // CHECK: %[[LANE:.*]] = arith.addi %[[START]], %{{.*}} : i64
    // CHECK: %[[ADDRESS:.*]] = arith.addi %[[LANE]], %[[EITHER]] : i64
    // CHECK: %[[THERE:.*]] = llvm.inttoptr %[[ADDRESS]]
    // CHECK: llvm.load %[[THERE]]
    %w = llvm.load %there : !llvm.ptr<1> -> i8
    %first = rocdl.readfirstlane %far : i32
    %sum2 = arith.addi %first, %thread : i32
    %wide = arith.extsi %first : i32 to i64
    %sum3 = arith.addi %wide, %own : i64
    %place = llvm.getelementptr %p[%sum3] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    // CHECK: llvm.inttoptr
    %x = llvm.load %place : !llvm.ptr<1> -> i8
    gpu.return
  }

  // What a loop with a condition of its own carries may differ; it carries fewer values than it gives here, and the other way round.
  // CHECK-LABEL: gpu.func @condition
  gpu.func @condition(%p: !llvm.ptr<1>, %n: i64, %c: i1) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %own = arith.index_cast %t : index to i64
    %few = scf.while (%a = %n, %b = %own) : (i64, i64) -> i64 {
      scf.condition(%c) %a : i64
    } do {
    ^bb0(%x: i64):
      scf.yield %x, %own : i64, i64
    }
    %many:2 = scf.while (%a = %n) : (i64) -> (i64, i64) {
      scf.condition(%c) %a, %own : i64, i64
    } do {
    ^bb0(%x: i64, %y: i64):
      scf.yield %y : i64
    }
    %first = arith.addi %few, %many#0 : i64
    %sum = arith.addi %first, %own : i64
    // CHECK: %[[FEW:.*]] = scf.while
    // CHECK: %[[MANY:.*]]:2 = scf.while
    // CHECK: %[[START:.*]] = llvm.ptrtoint
    // CHECK: %[[OWN:.*]] = arith.addi %[[START]], %{{.*}} : i64
    // CHECK: %[[FIRST:.*]] = arith.addi %[[OWN]], %[[FEW]] : i64
    // CHECK: %[[ADDRESS:.*]] = arith.addi %[[FIRST]], %[[MANY]]#0 : i64
    // CHECK: %[[TO:.*]] = llvm.inttoptr %[[ADDRESS]]
    // CHECK: llvm.load %[[TO]]
    %to = llvm.getelementptr %p[%sum] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %v = llvm.load %to : !llvm.ptr<1> -> i8
    gpu.return
  }

  // Shared memory has addresses of 32 bits and no scalar base: it stays as it is.
  // CHECK-LABEL: gpu.func @shared
  gpu.func @shared(%p: !llvm.ptr<3>, %n: i32) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %thread = arith.index_cast %t : index to i32
    %at = arith.addi %thread, %n : i32
    // CHECK: %[[TO:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr<3>, i32)
    // CHECK: llvm.load %[[TO]]
    %to = llvm.getelementptr %p[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %v = llvm.load %to : !llvm.ptr<3> -> f32
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // A part of a sum may be larger than the sum: twice the block's term does not fit 32 bits, though twice the sum does.
  // CHECK-LABEL: gpu.func @parts
  gpu.func @parts(%p: !llvm.ptr<1>, %n: i32) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %mask = arith.constant 1073741831 : i32
    %low = arith.constant -1073741824 : i32
    %one = arith.constant 1 : i32
    %t = gpu.thread_id x
    %thread = arith.index_cast %t : index to i32
    %bit = arith.andi %thread, %one : i32
    %lane = arith.addi %bit, %low : i32
    // CHECK: %[[BLOCK:.*]] = arith.andi %{{.*}}, %c1073741831_i32
    %block = arith.andi %n, %mask : i32
    %sum = arith.addi %lane, %block : i32
    %at = arith.shli %sum, %one : i32
    // CHECK: %[[WIDE:.*]] = arith.extsi %[[BLOCK]] : i32 to i64
    // CHECK: arith.shli %[[WIDE]], %{{.*}} : i64
    %to = llvm.getelementptr %p[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
    %v = llvm.load %to : !llvm.ptr<1> -> i8
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // Addresses wrap at 64 bits, and so do constants and what is known of sums.
  // CHECK-LABEL: gpu.func @wide
  gpu.func @wide(%p: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %large = arith.constant 1099511627776 : i64
    %largest = arith.constant 9223372036854775807 : i64
    %t = gpu.thread_id x
    %own = arith.index_cast %t : index to i64
    %sum = arith.addi %large, %large : i64
    %far = arith.addi %sum, %own : i64
    %product = arith.muli %far, %large : i64
    %once = arith.addi %product, %largest : i64
    %twice = arith.addi %once, %largest : i64
    %to = llvm.getelementptr %p[%twice] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    // The constants are 2 * 4 * (2^63 - 1), which is -8.
    // CHECK: llvm.getelementptr %{{.*}}[-8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %v = llvm.load %to : !llvm.ptr<1> -> f32
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // What the kernel assumes of a stride, in 64 bits, holds for its low 32 bits: rows of the thread lie less than 2^32 bytes from the block's first
  // one. LLVM's code generator does not know what was assumed: the bytes are computed in 32 bits, and extended without a sign.
  // CHECK-LABEL: gpu.func @assumed
  // CHECK-SAME: (%[[P:.*]]: !llvm.ptr<1>, %{{.*}}: i64, %[[FIRST:.*]]: i64)
  gpu.func @assumed(%p: !llvm.ptr<1>, %stride: i64, %first: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %zero = arith.constant 0 : i64
    %most = arith.constant 16777216 : i64
    %least = arith.cmpi sge, %stride, %zero : i64
    %below = arith.cmpi sgt, %most, %stride : i64
    %both = arith.andi %least, %below : i1
    llvm.intr.assume %both : i1
    %thread = gpu.thread_id x
    %t = arith.index_cast %thread : index to i32
    %s = arith.trunci %stride : i64 to i32
    // CHECK: %[[ROW:.*]] = arith.muli
    %row = arith.muli %t, %s : i32
    %wide = arith.extui %row : i32 to i64
    %far = arith.muli %first, %stride : i64
    %sum = arith.addi %far, %wide : i64
    // CHECK: %[[BASE:.*]] = llvm.inttoptr
    // CHECK: %[[BYTES:.*]] = arith.muli %[[ROW]], %c2_i32{{.*}} : i32
    // CHECK: %[[OFFSET:.*]] = arith.extui %[[BYTES]] : i32 to i64
    // CHECK: %[[TO:.*]] = llvm.getelementptr %[[BASE]][%[[OFFSET]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    // CHECK: llvm.load %[[TO]]
    %to = llvm.getelementptr %p[%sum] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
    %v = llvm.load %to : !llvm.ptr<1> -> f16
    // Without a term of the wave too.
    // CHECK: %[[OWN:.*]] = arith.extui %{{.*}} : i32 to i64
    // CHECK: %[[THERE:.*]] = llvm.getelementptr %{{.*}}[%[[OWN]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    // CHECK: llvm.load %[[THERE]]
    %there = llvm.getelementptr %p[%row] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    %w = llvm.load %there : !llvm.ptr<1> -> f16
    gpu.return
  }

  // Elements of 256 bytes would lie farther away than that.
  // CHECK-LABEL: gpu.func @assumed_too_little
  gpu.func @assumed_too_little(%p: !llvm.ptr<1>, %stride: i32) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %most = arith.constant 16777216 : i32
    %below = arith.cmpi ult, %stride, %most : i32
    llvm.intr.assume %below : i1
    %thread = gpu.thread_id x
    %t = arith.index_cast %thread : index to i32
    %row = arith.muli %t, %stride : i32
    // CHECK-NOT: arith.extui
    // CHECK: llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f64
    %to = llvm.getelementptr %p[%row] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f64
    %v = llvm.load %to : !llvm.ptr<1> -> f64
    gpu.return
  }

  // What a branch assumes does not hold outside of it, and neither does one of two conditions.
  // CHECK-LABEL: gpu.func @assumed_elsewhere
  gpu.func @assumed_elsewhere(%p: !llvm.ptr<1>, %stride: i32, %c: i1) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %most = arith.constant 65536 : i32
    %below = arith.cmpi ult, %stride, %most : i32
    scf.if %c {
      llvm.intr.assume %below : i1
    }
    %either = arith.ori %below, %c : i1
    llvm.intr.assume %either : i1
    %thread = gpu.thread_id x
    %t = arith.index_cast %thread : index to i32
    %row = arith.muli %t, %stride : i32
    // CHECK-NOT: arith.extui
    // CHECK: llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    %to = llvm.getelementptr %p[%row] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    %v = llvm.load %to : !llvm.ptr<1> -> f16
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // A row of the lane's own, at a stride of the call: its terms have 64 bits and are added as numbers, in one sum. The constant is taken
  // out of the column, so that both accesses have one address.
  // CHECK-LABEL: gpu.func @rows
  // CHECK-SAME: (%[[P:.*]]: !llvm.ptr<1>, %[[STRIDE:.*]]: i64)
  gpu.func @rows(%p: !llvm.ptr<1>, %stride: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c8 = arith.constant 8 : i32
    %c64 = arith.constant 64 : i32
    %t = gpu.thread_id x
    %thread = arith.index_cast %t : index to i32
    %wide = arith.index_cast %t : index to i64
    %row = arith.muli %wide, %stride : i64
    %column = arith.muli %thread, %c8 : i32
    %next = arith.addi %column, %c64 : i32
    %a64 = arith.extui %column : i32 to i64
    %b64 = arith.extui %next : i32 to i64
    %a = arith.addi %row, %a64 : i64
    %b = arith.addi %row, %b64 : i64
    %pa = llvm.getelementptr %p[%a] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
    // CHECK: %[[START:.*]] = llvm.ptrtoint %[[P]]
    // CHECK: %[[COLUMN:.*]] = arith.muli %{{.*}}, %c16_i64 : i64
    // CHECK: %[[SUM:.*]] = arith.addi %[[START]], %[[COLUMN]] : i64
    // CHECK: %[[BYTES:.*]] = arith.muli %[[STRIDE]], %c2_i64
    // CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %[[BYTES]] : i64
    // CHECK: %[[ADDRESS:.*]] = arith.addi %[[SUM]], %[[ROW]] : i64
    // CHECK: %[[A:.*]] = llvm.inttoptr %[[ADDRESS]] : i64 to !llvm.ptr<1>
    // CHECK: llvm.load %[[A]]
    %v = llvm.load %pa : !llvm.ptr<1> -> f16
    %pb = llvm.getelementptr %p[%b] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
    // CHECK: %[[BASE:.*]] = llvm.inttoptr
    // CHECK: %[[B:.*]] = llvm.getelementptr %[[BASE]][128] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    // CHECK: llvm.store %{{.*}}, %[[B]]
    llvm.store %v, %pb : f16, !llvm.ptr<1>
    gpu.return
  }

  // Of a base that differs among lanes nothing is the wave's, and the constant stays last, whatever its size.
  // CHECK-LABEL: gpu.func @either
  gpu.func @either(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %n: i32) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c5 = arith.constant 5 : i32
    %c8 = arith.constant 8 : i32
    %far = arith.constant 4294967296 : i64
    %t = gpu.thread_id x
    %thread = arith.index_cast %t : index to i32
    %few = arith.cmpi slt, %thread, %c5 : i32
    // CHECK: %[[OWN:.*]] = arith.select %{{.*}} : !llvm.ptr<1>
    %own = arith.select %few, %p, %q : !llvm.ptr<1>
    %column = arith.addi %thread, %c8 : i32
    %to = llvm.getelementptr %own[%column] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    // CHECK: %[[LANE:.*]] = llvm.getelementptr %[[OWN]][%[[THREAD:.*]]] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    // CHECK: %[[TO:.*]] = llvm.getelementptr %[[LANE]][32] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    // CHECK: llvm.load %[[TO]]
    %v = llvm.load %to : !llvm.ptr<1> -> f32
    %wide = arith.extsi %thread : i32 to i64
    %more = arith.addi %wide, %far : i64
    %beyond = llvm.getelementptr %own[%more] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    // CHECK: %[[NEAR:.*]] = llvm.getelementptr %[[OWN]][%[[THREAD]]] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
    // CHECK: %[[BEYOND:.*]] = llvm.getelementptr %[[NEAR]][%c4294967296_i64{{.*}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    // CHECK: llvm.store %{{.*}}, %[[BEYOND]]
    llvm.store %v, %beyond : f32, !llvm.ptr<1>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // The quotient of numbers that all lanes have in common is one too, though it may not be computed where it is not wanted.
  // CHECK-LABEL: gpu.func @quotient
  gpu.func @quotient(%p: !llvm.ptr<1>, %n: i32) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %b = gpu.block_id x
    %block = arith.index_cast %b : index to i32
    %t = gpu.thread_id x
    %thread = arith.index_cast %t : index to i32
    %own = arith.extui %thread : i32 to i64
    %row = arith.divsi %block, %n : i32
    // CHECK: %[[ROW:.*]] = arith.extsi
    %wide = arith.extsi %row : i32 to i64
    %sum = arith.addi %wide, %own : i64
    // CHECK: %[[BYTES:.*]] = arith.muli %[[ROW]], %c4_i64{{.*}} : i64
    // CHECK: %[[ADDRESS:.*]] = arith.addi %{{.*}}, %[[BYTES]] : i64
    // CHECK: %[[BASE:.*]] = llvm.inttoptr %[[ADDRESS]]
    // CHECK: llvm.getelementptr %[[BASE]][%{{.*}}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %to = llvm.getelementptr %p[%sum] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %v = llvm.load %to : !llvm.ptr<1> -> f32
    llvm.store %v, %to : f32, !llvm.ptr<1>
    gpu.return
  }

  // So are what is loaded from constant memory at an address of all lanes, and what assembly leaves in a scalar register. In a vector register each
  // lane has its own.
  // CHECK-LABEL: gpu.func @scalars
  gpu.func @scalars(%p: !llvm.ptr<1>, %table: !llvm.ptr<4>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %thread = arith.index_cast %t : index to i32
    %own = arith.extui %thread : i32 to i64
    // CHECK: %[[START:.*]] = llvm.load
    %start = llvm.load %table : !llvm.ptr<4> -> i64
    %a = arith.addi %start, %own : i64
    // CHECK: arith.muli %[[START]], %c4_i64{{.*}} : i64
    // CHECK: llvm.inttoptr
    // CHECK: llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %pa = llvm.getelementptr %p[%a] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %x = llvm.load %pa : !llvm.ptr<1> -> f32
    // CHECK: %[[SCALAR:.*]] = llvm.inline_asm
    %scalar = llvm.inline_asm has_side_effects "", "=s,0" %thread : (i32) -> i32
    // CHECK: %[[WIDE:.*]] = arith.extsi %[[SCALAR]]
    %wide = arith.extsi %scalar : i32 to i64
    %b = arith.addi %wide, %own : i64
    // CHECK: arith.muli %[[WIDE]], %c4_i64{{.*}} : i64
    // CHECK: llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %pb = llvm.getelementptr %p[%b] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %y = llvm.load %pb : !llvm.ptr<1> -> f32
    %vector = llvm.inline_asm has_side_effects "", "=v,0" %thread : (i32) -> i32
    // CHECK: %[[OWN:.*]] = llvm.inline_asm
    // CHECK: arith.extsi %[[OWN]]
    %far = arith.extsi %vector : i32 to i64
    %c = arith.addi %far, %own : i64
    // CHECK: llvm.ptrtoint
    // CHECK: %[[FAR:.*]] = arith.extsi %[[OWN]]
    // CHECK: %[[BYTES:.*]] = arith.muli %[[FAR]], %c4_i64{{.*}} : i64
    // CHECK: arith.addi %{{.*}}, %[[BYTES]] : i64
    %pc = llvm.getelementptr %p[%c] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %z = llvm.load %pc : !llvm.ptr<1> -> f32
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // The start of a buffer is the wave's alone, and becomes a number, constants and all. An address that is also loaded from stays as it is.
  // CHECK-LABEL: gpu.func @buffer
  // CHECK-SAME: (%[[P:.*]]: !llvm.ptr<1>, %[[STRIDE:.*]]: i64, %[[SIZE:.*]]: i64)
  gpu.func @buffer(%p: !llvm.ptr<1>, %stride: i64, %size: i64) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %flags = arith.constant 159744 : i32
    %zero = arith.constant 0 : i16
    %b = gpu.block_id x
    %block = arith.index_cast %b : index to i64
    // CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %[[STRIDE]] : i64
    %row = arith.muli %block, %stride : i64
    // CHECK: %[[START:.*]] = llvm.ptrtoint %[[P]] : !llvm.ptr<1> to i64
    // CHECK: %[[BYTES:.*]] = arith.muli %[[ROW]], %c2_i64{{.*}} : i64
    // CHECK: %[[SUM:.*]] = arith.addi %[[START]], %[[BYTES]] : i64
    // CHECK: %[[ADDRESS:.*]] = arith.addi %[[SUM]], %c6_i64{{.*}} : i64
    // CHECK: %[[BASE:.*]] = llvm.inttoptr %[[ADDRESS]] : i64 to !llvm.ptr<1>
    // CHECK: rocdl.make.buffer.rsrc %[[BASE]],
    %moved = llvm.getelementptr %p[%row] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
    %to = llvm.getelementptr %moved[3] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f16
    %buffer = rocdl.make.buffer.rsrc %to, %zero, %size, %flags : <1> to <8>
    // CHECK: %[[TO:.*]] = llvm.getelementptr %[[P]][%[[ROW]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
    // CHECK: rocdl.make.buffer.rsrc %[[TO]],
    // CHECK: llvm.load %[[TO]]
    %both = llvm.getelementptr %p[%row] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
    %again = rocdl.make.buffer.rsrc %both, %zero, %size, %flags : <1> to <8>
    %v = llvm.load %both : !llvm.ptr<1> -> f16
    gpu.return
  }

  // The range of a buffer that ends after some rows has 32 bits where their stride is assumed to be small, and a bound of 32 bits on it goes.
  // It stays where the stride may be any.
  // CHECK-LABEL: gpu.func @range
  // CHECK-SAME: (%{{.*}}: !llvm.ptr<1>, %[[NEAR:.*]]: i64, %[[FAR:.*]]: i64, %[[ROWS:.*]]: i32)
  gpu.func @range(%p: !llvm.ptr<1>, %near: i64, %far: i64, %rows: i32) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %flags = arith.constant 159744 : i32
    %none = arith.constant 0 : i16
    %zero = arith.constant 0 : i64
    %least = arith.constant 0 : i32
    %most = arith.constant 33554432 : i64
    %c31 = arith.constant 31 : i32
    %c64 = arith.constant 64 : i64
    %bound = arith.constant 4294967295 : i64
    %above = arith.cmpi sge, %near, %zero : i64
    %below = arith.cmpi sle, %near, %most : i64
    %both = arith.andi %above, %below : i1
    llvm.intr.assume %both : i1
    %some = arith.maxsi %rows, %least : i32
    %few = arith.minsi %some, %c31 : i32
    %wide = arith.extsi %few : i32 to i64
    // CHECK: %[[FEW:.*]] = arith.minsi
    // CHECK: %[[LOW:.*]] = arith.trunci %[[NEAR]] : i64 to i32
    // CHECK: %[[SPAN:.*]] = arith.muli %[[FEW]], %[[LOW]] : i32
    // CHECK: %[[ALL:.*]] = arith.addi %[[SPAN]], %{{.*}} : i32
    // CHECK: %[[BYTES:.*]] = arith.extui %[[ALL]] : i32 to i64
    // CHECK: rocdl.make.buffer.rsrc %{{.*}}, %{{.*}}, %[[BYTES]],
    %span = arith.muli %wide, %near : i64
    %all = arith.addi %span, %c64 : i64
    %bytes = arith.minui %all, %bound : i64
    %buffer = rocdl.make.buffer.rsrc %p, %none, %bytes, %flags : <1> to <8>
    // CHECK: %[[ANY:.*]] = arith.minui %{{.*}}, %{{.*}} : i64
    // CHECK: rocdl.make.buffer.rsrc %{{.*}}, %{{.*}}, %[[ANY]],
    %spanFar = arith.muli %wide, %far : i64
    %allFar = arith.addi %spanFar, %c64 : i64
    %bytesFar = arith.minui %allFar, %bound : i64
    %bufferFar = rocdl.make.buffer.rsrc %p, %none, %bytesFar, %flags : <1> to <8>
    %v = llvm.load %p : !llvm.ptr<1> -> f16
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // Rows of a block of a cache, whose number is the lane's own. What no turn of the loop changes is added first, then what all rows of the
  // block have in common, then the row. The stride of rows is assumed to have 32 bits, which both factors of the row then have, and the
  // product is one of 32 bits into 64. The stride of blocks has 64.
  // CHECK-LABEL: gpu.func @pages
  // CHECK-SAME: (%[[P:.*]]: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>, %[[BLOCKS:.*]]: i64, %[[ROWS:.*]]: i64, %{{.*}}: i32)
  gpu.func @pages(%p: !llvm.ptr<1>, %table: !llvm.ptr<1>, %blocks: i64, %rows: i64, %n: i32) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %c15 = arith.constant 15 : i32
    %z = arith.constant 0 : i64
    %most = arith.constant 134217728 : i64
    %low = arith.cmpi sge, %rows, %z : i64
    %high = arith.cmpi sle, %rows, %most : i64
    %near = arith.andi %low, %high : i1
    llvm.intr.assume %near : i1
    %t = gpu.thread_id x
    %thread = arith.index_cast %t : index to i32
    scf.for %k = %c0 to %n step %c1 : i32 {
      // CHECK: scf.for
      %at = arith.addi %k, %thread : i32
      %entry = llvm.getelementptr %table[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      // CHECK: %[[BLOCK:.*]] = llvm.load
      %block = llvm.load %entry : !llvm.ptr<1> -> i32
      // CHECK: %[[NUMBER:.*]] = arith.extsi %[[BLOCK]] : i32 to i64
      %number = arith.extsi %block : i32 to i64
      %first = arith.muli %number, %blocks : i64
      %inside = arith.andi %at, %c15 : i32
      %wide = arith.extui %inside : i32 to i64
      %row = arith.muli %wide, %rows : i64
      %column = arith.muli %thread, %c8 : i32
      %own = arith.extui %column : i32 to i64
      %a = arith.addi %first, %row : i64
      %b = arith.addi %a, %own : i64
      %to = llvm.getelementptr %p[%b] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
      // CHECK: %[[START:.*]] = llvm.ptrtoint %[[P]]
      // CHECK: %[[COLUMN:.*]] = arith.muli %{{.*}}, %c16_i64{{.*}} : i64
      // CHECK: %[[BEFORE:.*]] = arith.addi %[[START]], %[[COLUMN]] : i64
      // CHECK: %[[BYTES:.*]] = arith.muli %[[BLOCKS]], %c2_i64{{.*}} : i64
      // CHECK: %[[FIRST:.*]] = arith.muli %[[NUMBER]], %[[BYTES]] : i64
      // CHECK: %[[SHARED:.*]] = arith.addi %[[BEFORE]], %[[FIRST]] : i64
      // CHECK: %[[LOW:.*]] = arith.trunci %[[ROWS]] : i64 to i32
      // CHECK: %[[NARROW:.*]] = arith.muli %[[LOW]], %c2_i32{{.*}} : i32
      // CHECK: %[[STRIDE:.*]] = arith.extui %[[NARROW]] : i32 to i64
      // CHECK: %[[INSIDE:.*]] = arith.extui %{{.*}} : i32 to i64
      // CHECK: %[[ROW:.*]] = arith.muli %[[INSIDE]], %[[STRIDE]] : i64
      // CHECK: arith.addi %[[SHARED]], %[[ROW]] : i64
      %v = llvm.load %to : !llvm.ptr<1> -> f16
      llvm.store %v, %to : f16, !llvm.ptr<1>
    }
    gpu.return
  }

  // Small terms that change together are added in 32 bits, in bytes, and extended once.
  // CHECK-LABEL: gpu.func @small
  gpu.func @small(%p: !llvm.ptr<1>, %stride: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c4 = arith.constant 4 : i32
    %t = gpu.thread_id x
    %thread = arith.index_cast %t : index to i32
    %wide = arith.index_cast %t : index to i64
    %row = arith.muli %wide, %stride : i64
    %quad = arith.remui %thread, %c4 : i32
    %number = arith.divui %thread, %c4 : i32
    %a = arith.extui %quad : i32 to i64
    %b = arith.extui %number : i32 to i64
    %c = arith.addi %row, %a : i64
    %d = arith.addi %c, %b : i64
    %to = llvm.getelementptr %p[%d] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
    // CHECK: %[[START:.*]] = llvm.ptrtoint
    // CHECK: %[[QUAD:.*]] = arith.muli %{{.*}}, %c2_i32{{.*}} : i32
    // CHECK: %[[NUMBER:.*]] = arith.muli %{{.*}}, %c2_i32{{.*}} : i32
    // CHECK: %[[BOTH:.*]] = arith.addi %[[QUAD]], %[[NUMBER]] : i32
    // CHECK: %[[EXTENDED:.*]] = arith.extui %[[BOTH]] : i32 to i64
    // CHECK: %[[SUM:.*]] = arith.addi %[[START]], %[[EXTENDED]] : i64
    // CHECK: %[[BYTES:.*]] = arith.muli %{{.*}}, %c2_i64{{.*}} : i64
    // CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %[[BYTES]] : i64
    // CHECK: arith.addi %[[SUM]], %[[ROW]] : i64
    %v = llvm.load %to : !llvm.ptr<1> -> f16
    llvm.store %v, %to : f16, !llvm.ptr<1>
    gpu.return
  }

  // A piece of 8 neighbours at an element that 8 divides is that element: the constant is seen. At one that 8 may not divide, it stays the
  // quotient, as a sum whose sign is not known does where the division has none.
  // CHECK-LABEL: gpu.func @pieces
  gpu.func @pieces(%p: !llvm.ptr<1>, %n: i32) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c8 = arith.constant 8 : i32
    %c64 = arith.constant 64 : i32
    %c68 = arith.constant 68 : i32
    %t = gpu.thread_id x
    %thread = arith.index_cast %t : index to i32
    %own = arith.muli %thread, %c8 : i32
    %element = arith.addi %own, %c64 : i32
    %number = arith.divsi %element, %c8 : i32
    %place = arith.muli %number, %c8 : i32
    %to = llvm.getelementptr %p[%place] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    // CHECK: %[[LANE:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    // CHECK: %[[TO:.*]] = llvm.getelementptr %[[LANE]][128] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    // CHECK: llvm.load %[[TO]]
    %v = llvm.load %to : !llvm.ptr<1> -> f16
    %other = arith.addi %own, %c68 : i32
    %part = arith.divsi %other, %c8 : i32
    %from = arith.muli %part, %c8 : i32
    %there = llvm.getelementptr %p[%from] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    // CHECK: %[[PART:.*]] = arith.divsi
    // CHECK: %[[FROM:.*]] = arith.muli %[[PART]], %c8_i32 : i32
    // CHECK: %[[THERE:.*]] = llvm.getelementptr %{{.*}}[%[[FROM]]] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    // CHECK: llvm.load %[[THERE]]
    %w = llvm.load %there : !llvm.ptr<1> -> f16
    %mine = arith.muli %own, %n : i32
    %unsigned = arith.divui %mine, %c8 : i32
    %large = arith.muli %unsigned, %c8 : i32
    %far = llvm.getelementptr %p[%large] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    // CHECK: %[[UNSIGNED:.*]] = arith.divui
    // CHECK: %[[LARGE:.*]] = arith.muli %[[UNSIGNED]], %c8_i32 : i32
    // CHECK: %[[FAR:.*]] = llvm.getelementptr %{{.*}}[%[[LARGE]]] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    // CHECK: llvm.load %[[FAR]]
    %x = llvm.load %far : !llvm.ptr<1> -> f16
    gpu.return
  }
}
