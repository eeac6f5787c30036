// RUN: fly-opt %s --fly-int-swizzle-simplify | FileCheck %s

// S<2,4,3>: bits 7 and 8 onto bits 4 and 5; the pattern repeats every 512.

// CHECK-LABEL: @addend_of_the_period
// CHECK-SAME: (%[[X:.*]]: i32)
// CHECK: %[[BITS:.*]] = arith.andi %[[X]], %c384_i32
// CHECK: %[[LOW:.*]] = arith.shrui %[[BITS]], %c3_i32
// CHECK: %[[SWIZZLED:.*]] = arith.xori %[[X]], %[[LOW]]
// CHECK: %[[SUM:.*]] = arith.addi %[[SWIZZLED]], %c1536_i32
// CHECK: return %[[SUM]]
func.func @addend_of_the_period(%x: i32) -> i32 {
  %c1536 = arith.constant 1536 : i32
  %c384 = arith.constant 384 : i32
  %c3 = arith.constant 3 : i32
  %y = arith.addi %x, %c1536 : i32
  %bits = arith.andi %y, %c384 : i32
  %low = arith.shrui %bits, %c3 : i32
  %r = arith.xori %low, %y : i32
  return %r : i32
}

// A product by a multiple of the period is known to be one, in either order and behind another sum.
// CHECK-LABEL: @addend_known_by_its_factors
// CHECK-SAME: (%[[X:.*]]: i64, %[[ROW:.*]]: i64)
// CHECK: %[[FAR:.*]] = arith.muli %[[ROW]], %c512_i64
// CHECK: %[[NEAR:.*]] = arith.addi %[[X]], %c8_i64
// CHECK: arith.andi %[[NEAR]]
// CHECK: %[[SWIZZLED:.*]] = arith.xori %[[NEAR]]
// CHECK: %[[SUM:.*]] = arith.addi %[[SWIZZLED]], %[[FAR]]
// CHECK: return %[[SUM]]
func.func @addend_known_by_its_factors(%x: i64, %row: i64) -> i64 {
  %c512 = arith.constant 512 : i64
  %c384 = arith.constant 384 : i64
  %c8 = arith.constant 8 : i64
  %c3 = arith.constant 3 : i64
  %far = arith.muli %row, %c512 : i64
  %sum = arith.addi %far, %x : i64
  %y = arith.addi %sum, %c8 : i64
  %bits = arith.andi %c384, %y : i64
  %low = arith.shrui %bits, %c3 : i64
  %r = arith.xori %y, %low : i64
  return %r : i64
}

// CHECK-LABEL: @addend_below_the_period
// CHECK: %[[Y:.*]] = arith.addi %{{.*}}, %c256_i32
// CHECK: %[[R:.*]] = arith.xori %[[Y]]
// CHECK: return %[[R]]
func.func @addend_below_the_period(%x: i32) -> i32 {
  %c256 = arith.constant 256 : i32
  %c384 = arith.constant 384 : i32
  %c3 = arith.constant 3 : i32
  %y = arith.addi %x, %c256 : i32
  %bits = arith.andi %y, %c384 : i32
  %low = arith.shrui %bits, %c3 : i32
  %r = arith.xori %y, %low : i32
  return %r : i32
}

// A mask with a hole is no swizzle.
// CHECK-LABEL: @not_a_swizzle
// CHECK: %[[Y:.*]] = arith.addi
// CHECK: arith.xori %[[Y]]
func.func @not_a_swizzle(%x: i32) -> i32 {
  %c1024 = arith.constant 1024 : i32
  %c320 = arith.constant 320 : i32
  %c3 = arith.constant 3 : i32
  %y = arith.addi %x, %c1024 : i32
  %bits = arith.andi %y, %c320 : i32
  %low = arith.shrui %bits, %c3 : i32
  %r = arith.xori %y, %low : i32
  return %r : i32
}

// Of a constant, the multiples of the period are taken out; two accesses then have one swizzled base.
// CHECK-LABEL: @constants_split
// CHECK-SAME: (%[[X:.*]]: i32)
// CHECK: %[[Y:.*]] = arith.addi %[[X]], %c32_i32
// CHECK: %[[SWIZZLED:.*]] = arith.xori %[[Y]]
// CHECK-NOT: arith.xori
// CHECK-DAG: %[[FIRST:.*]] = arith.addi %[[SWIZZLED]], %c1024_i32
// CHECK-DAG: %[[SECOND:.*]] = arith.addi %[[SWIZZLED]], %c-512_i32
// CHECK: return %[[FIRST]], %[[SECOND]]
func.func @constants_split(%x: i32) -> (i32, i32) {
  %c1056 = arith.constant 1056 : i32
  %cm480 = arith.constant -480 : i32
  %c384 = arith.constant 384 : i32
  %c3 = arith.constant 3 : i32
  %y0 = arith.addi %x, %c1056 : i32
  %b0 = arith.andi %y0, %c384 : i32
  %l0 = arith.shrui %b0, %c3 : i32
  %r0 = arith.xori %y0, %l0 : i32
  %y1 = arith.addi %x, %cm480 : i32
  %b1 = arith.andi %y1, %c384 : i32
  %l1 = arith.shrui %b1, %c3 : i32
  %r1 = arith.xori %y1, %l1 : i32
  return %r0, %r1 : i32, i32
}
