// What its type determines is folded; what memory or run-time numbers are in stays.
// RUN: fly-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: @static
// CHECK-NEXT: %[[R:.*]] = fly.static : !fly.layout<((2,2),3):((24,2),8)>
// CHECK-NEXT: return %[[R]]
func.func @static() -> !fly.layout<((2,2),3):((24,2),8)> {
  %a = fly.static : !fly.layout<(6,2):(8,2)>
  %b = fly.static : !fly.layout<(4,3):(3,1)>
  %c = fly.composition(%a, %b) : (!fly.layout<(6,2):(8,2)>, !fly.layout<(4,3):(3,1)>) -> !fly.layout<((2,2),3):((24,2),8)>
  return %c : !fly.layout<((2,2),3):((24,2),8)>
}

// CHECK-LABEL: @static_part
// CHECK-NEXT: %[[R:.*]] = fly.static : !fly.int_tuple<8>
// CHECK-NEXT: return %[[R]]
func.func @static_part(%m: !fly.memref<f32, global, (8,?):(?,1)>) -> !fly.int_tuple<8> {
  %s = fly.get_shape(%m) : (!fly.memref<f32, global, (8,?):(?,1)>) -> !fly.int_tuple<(8,?)>
  %0 = fly.get(%s) {mode = array<i32: 0>} : (!fly.int_tuple<(8,?)>) -> !fly.int_tuple<8>
  return %0 : !fly.int_tuple<8>
}

// CHECK-LABEL: @scalars
// CHECK-DAG: %[[C4:.*]] = arith.constant 4 : i32
// CHECK-DAG: %[[C8:.*]] = arith.constant 8 : i32
// CHECK-DAG: %[[T:.*]] = arith.constant true
// CHECK-DAG: %[[F:.*]] = arith.constant false
// CHECK: return %[[C4]], %[[C8]], %[[T]], %[[F]], %[[F]]
func.func @scalars(%d: i32) -> (i32, i32, i1, i1, i1) {
  %a = fly.make_int_tuple() : () -> !fly.int_tuple<(4,8)>
  %0:2 = fly.get_leaves(%a) : (!fly.int_tuple<(4,8)>) -> (i32, i32)
  %b = fly.make_int_tuple() : () -> !fly.int_tuple<8>
  %1 = fly.get_scalar(%b) : (!fly.int_tuple<8>) -> i32
  %c = fly.make_int_tuple() : () -> !fly.int_tuple<(5,9)>
  %2 = fly.elem_less(%a, %c) : (!fly.int_tuple<(4,8)>, !fly.int_tuple<(5,9)>) -> i1
  %3 = fly.equal(%a, %c) : (!fly.int_tuple<(4,8)>, !fly.int_tuple<(5,9)>) -> i1
  // One leaf that is not less settles it.
  %e = fly.make_int_tuple(%d) : (i32) -> !fly.int_tuple<(?,9)>
  %4 = fly.elem_less(%e, %c) : (!fly.int_tuple<(?,9)>, !fly.int_tuple<(5,9)>) -> i1
  return %0#0, %1, %2, %3, %4 : i32, i32, i1, i1, i1
}

// CHECK-LABEL: @dynamic
// CHECK: fly.crd2idx
func.func @dynamic(%d: i32) -> !fly.int_tuple<?{div=8}> {
  %l = fly.static : !fly.layout<4:8>
  %c = fly.make_coord(%d) : (i32) -> !fly.int_tuple<?>
  %0 = fly.crd2idx(%c, %l) : (!fly.int_tuple<?>, !fly.layout<4:8>) -> !fly.int_tuple<?{div=8}>
  return %0 : !fly.int_tuple<?{div=8}>
}
