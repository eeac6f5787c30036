// RUN: fly-opt %s --fly-exact-ranges | FileCheck %s

// A step of 1 comes to the end before it comes to the largest integer.
// CHECK-LABEL: @step_of_1
// CHECK-NEXT: arith.constant
// CHECK-NEXT: scf.for %{{.*}} = %{{.*}} to %{{.*}} step
func.func @step_of_1(%lo: i32, %hi: i32, %to: memref<?xi32>) {
  %c1 = arith.constant 1 : i32
  scf.for %i = %lo to %hi step %c1 : i32 {
    func.call @use(%i) : (i32) -> ()
  }
  return
}

// The end is far away: 2147483392 + 256 - 1 is the largest integer, and one more is not.
// CHECK-LABEL: @known_end
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} : i32
// CHECK: scf.while
func.func @known_end(%lo: i32) {
  %far = arith.constant 2147483392 : i32
  %near = arith.constant 2147483393 : i32
  %c256 = arith.constant 256 : i32
  scf.for %i = %lo to %far step %c256 : i32 {
    func.call @use(%i) : (i32) -> ()
  }
  scf.for %i = %lo to %near step %c256 : i32 {
    func.call @use(%i) : (i32) -> ()
  }
  return
}

// Numbers from 0 on are compared without signs; an end below 0 is 0.
// CHECK-LABEL: @from_thread
// CHECK-SAME: (%[[HI:.*]]: i32, %[[STEP:.*]]: i32)
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK: %[[END:.*]] = arith.maxsi %[[HI]], %[[ZERO]] : i32
// CHECK: scf.for unsigned %{{.*}} = %{{.*}} to %[[END]] step %[[STEP]] : i32
func.func @from_thread(%hi: i32, %step: i32) {
  %t = gpu.thread_id x
  %lo = arith.index_cast %t : index to i32
  scf.for %i = %lo to %hi step %step : i32 {
    func.call @use(%i) : (i32) -> ()
  }
  return
}

// An end that is known not to be negative needs no maximum.
// CHECK-LABEL: @to_quotient
// CHECK-NOT: arith.maxsi
// CHECK: scf.for unsigned
func.func @to_quotient(%n: i32, %step: i32) {
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %hi = arith.divui %n, %c2 : i32
  scf.for %i = %c0 to %hi step %step : i32 {
    func.call @use(%i) : (i32) -> ()
  }
  return
}

// A first number that may be negative: whether there is a next round is asked before the step is added. What an empty loop carries is what
// it began with.
// CHECK-LABEL: @anywhere
// CHECK-SAME: (%[[LO:.*]]: i32, %[[HI:.*]]: i32, %[[INIT:.*]]: f32)
// CHECK-DAG: %[[STEP:.*]] = arith.constant 64 : i32
// CHECK: %[[SOME:.*]] = arith.cmpi slt, %[[LO]], %[[HI]] : i32
// CHECK: %[[RESULT:.*]] = scf.if %[[SOME]] -> (f32) {
// CHECK:   %[[LEAST:.*]] = arith.constant -2147483648 : i32
// CHECK:   %[[ENOUGH:.*]] = arith.addi %[[LEAST]], %[[STEP]] : i32
// CHECK:   %[[END:.*]] = arith.maxsi %[[HI]], %[[ENOUGH]] : i32
// CHECK:   %[[LAST:.*]] = arith.subi %[[END]], %[[STEP]] : i32
// CHECK:   %[[ROUNDS:.*]]:2 = scf.while (%[[I:.*]] = %[[LO]], %[[SUM:.*]] = %[[INIT]]) : (i32, f32) -> (i32, f32) {
// CHECK:     %[[MORE:.*]] = arith.addf %[[SUM]], %[[SUM]] : f32
// CHECK:     %[[AGAIN:.*]] = arith.cmpi slt, %[[I]], %[[LAST]] : i32
// CHECK:     %[[NEXT:.*]] = arith.addi %[[I]], %[[STEP]] : i32
// CHECK:     scf.condition(%[[AGAIN]]) %[[NEXT]], %[[MORE]] : i32, f32
// CHECK:   } do {
// CHECK:   ^bb0(%[[A:.*]]: i32, %[[B:.*]]: f32):
// CHECK:     scf.yield %[[A]], %[[B]] : i32, f32
// CHECK:   }
// CHECK:   scf.yield %[[ROUNDS]]#1 : f32
// CHECK: } else {
// CHECK:   scf.yield %[[INIT]] : f32
// CHECK: }
// CHECK: return %[[RESULT]] : f32
func.func @anywhere(%lo: i32, %hi: i32, %init: f32) -> f32 {
  %c64 = arith.constant 64 : i32
  %result = scf.for %i = %lo to %hi step %c64 iter_args(%sum = %init) -> f32 : i32 {
    func.call @use(%i) : (i32) -> ()
    %more = arith.addf %sum, %sum : f32
    scf.yield %more : f32
  }
  return %result : f32
}

// One in another; the inner one's bounds are the outer one's number.
// CHECK-LABEL: @nested
// CHECK: scf.while
// CHECK: scf.if
// CHECK: scf.while
// CHECK: scf.condition
// CHECK: scf.condition
func.func @nested(%lo: i32, %hi: i32) {
  %c8 = arith.constant 8 : i32
  scf.for %i = %lo to %hi step %c8 : i32 {
    scf.for %k = %i to %hi step %c8 : i32 {
      func.call @use(%k) : (i32) -> ()
    }
  }
  return
}

// Loops that compare without signs already stay, with 64 bits as with 32.
// CHECK-LABEL: @unsigned_and_wide
// CHECK: scf.for unsigned
// CHECK: scf.while {{.*}} : (i64) -> i64
func.func @unsigned_and_wide(%lo: i32, %hi: i32, %first: i64, %end: i64) {
  %c8 = arith.constant 8 : i32
  %wide = arith.constant 8 : i64
  scf.for unsigned %i = %lo to %hi step %c8 : i32 {
    func.call @use(%i) : (i32) -> ()
  }
  scf.for %i = %first to %end step %wide : i64 {
    %low = arith.trunci %i : i64 to i32
    func.call @use(%low) : (i32) -> ()
  }
  return
}

func.func private @use(i32)
