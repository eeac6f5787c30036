// RUN: fly-opt %s | fly-opt | FileCheck %s
// RUN: fly-opt %s -mlir-print-op-generic | fly-opt | FileCheck %s
// RUN: fly-opt %s -emit-bytecode | fly-opt | FileCheck %s

// CHECK-LABEL: @arithmetic
func.func @arithmetic(%d: i32, %w: i64) {
  %a = fly.make_int_tuple() : () -> !fly.int_tuple<(4,(6,8))>
  %b = fly.make_int_tuple(%d) : (i32) -> !fly.int_tuple<(2,(?{div=4},2))>
  // CHECK: fly.int_tuple_add(%{{.*}}, %{{.*}}) : (!fly.int_tuple<(4,(6,8))>, !fly.int_tuple<(2,(?{div=4},2))>) -> !fly.int_tuple<(6,(?{div=2},10))>
  %0 = fly.int_tuple_add(%a, %b) : (!fly.int_tuple<(4,(6,8))>, !fly.int_tuple<(2,(?{div=4},2))>) -> !fly.int_tuple<(6,(?{div=2},10))>
  %1 = fly.int_tuple_sub(%a, %b) : (!fly.int_tuple<(4,(6,8))>, !fly.int_tuple<(2,(?{div=4},2))>) -> !fly.int_tuple<(2,(?{div=2},6))>
  %2 = fly.int_tuple_mul(%a, %b) : (!fly.int_tuple<(4,(6,8))>, !fly.int_tuple<(2,(?{div=4},2))>) -> !fly.int_tuple<(8,(?{div=24},16))>
  %3 = fly.int_tuple_div(%a, %b) : (!fly.int_tuple<(4,(6,8))>, !fly.int_tuple<(2,(?{div=4},2))>) -> !fly.int_tuple<(2,(?,4))>
  %4 = fly.int_tuple_mod(%a, %b) : (!fly.int_tuple<(4,(6,8))>, !fly.int_tuple<(2,(?{div=4},2))>) -> !fly.int_tuple<(0,(?{div=2},0))>
  %5 = fly.int_tuple_product(%a) : (!fly.int_tuple<(4,(6,8))>) -> !fly.int_tuple<192>
  %6 = fly.int_tuple_product_each(%a) : (!fly.int_tuple<(4,(6,8))>) -> !fly.int_tuple<(4,48)>
  %g = fly.make_int_tuple() : () -> !fly.int_tuple<(0,0)>
  %7 = fly.int_tuple_product_like(%a, %g) : (!fly.int_tuple<(4,(6,8))>, !fly.int_tuple<(0,0)>) -> !fly.int_tuple<(4,48)>
  %e = fly.make_int_tuple() : () -> !fly.int_tuple<8>
  %8 = fly.shape_div(%a, %e) : (!fly.int_tuple<(4,(6,8))>, !fly.int_tuple<8>) -> !fly.int_tuple<(1,(3,8))>
  %f = fly.make_int_tuple() : () -> !fly.int_tuple<(3,(4,8))>
  %9 = fly.ceil_div(%a, %f) : (!fly.int_tuple<(4,(6,8))>, !fly.int_tuple<(3,(4,8))>) -> !fly.int_tuple<(2,(2,1))>
  // A 64-bit operand makes a 64-bit result.
  %h = fly.make_int_tuple(%w) : (i64) -> !fly.int_tuple<?{i64 div=6}>
  %10 = fly.int_tuple_mul(%h, %e) : (!fly.int_tuple<?{i64 div=6}>, !fly.int_tuple<8>) -> !fly.int_tuple<?{i64 div=48}>
  return
}

// CHECK-LABEL: @compare
func.func @compare(%d: i32) -> (i1, i1) {
  %a = fly.make_int_tuple(%d) : (i32) -> !fly.int_tuple<(?,4)>
  %b = fly.make_int_tuple() : () -> !fly.int_tuple<(8,8)>
  // CHECK: fly.elem_less(%{{.*}}, %{{.*}}) : (!fly.int_tuple<(?,4)>, !fly.int_tuple<(8,8)>) -> i1
  %0 = fly.elem_less(%a, %b) : (!fly.int_tuple<(?,4)>, !fly.int_tuple<(8,8)>) -> i1
  %1 = fly.equal(%a, %b) : (!fly.int_tuple<(?,4)>, !fly.int_tuple<(8,8)>) -> i1
  return %0, %1 : i1, i1
}

// CHECK-LABEL: @leaves
func.func @leaves(%d: i32, %w: i64) -> (i64, i32) {
  %a = fly.make_int_tuple(%d, %w) : (i32, i64) -> !fly.int_tuple<(4,(?,?{i64}))>
  // CHECK: fly.get_leaves(%{{.*}}) {dynamicOnly = true} : (!fly.int_tuple<(4,(?,?{i64}))>) -> (i32, i64)
  %0:2 = fly.get_leaves(%a) {dynamicOnly = true} : (!fly.int_tuple<(4,(?,?{i64}))>) -> (i32, i64)
  // CHECK: fly.get_leaves(%{{.*}}) : (!fly.int_tuple<(4,(?,?{i64}))>) -> (i32, i32, i64)
  %1:3 = fly.get_leaves(%a) : (!fly.int_tuple<(4,(?,?{i64}))>) -> (i32, i32, i64)
  %b = fly.make_int_tuple(%w) : (i64) -> !fly.int_tuple<?{i64}>
  %2 = fly.get_scalar(%b) : (!fly.int_tuple<?{i64}>) -> i64
  return %2, %1#1 : i64, i32
}

// CHECK-LABEL: @modes
func.func @modes(%l: !fly.layout<((2,3),4,?):((1,2),6,24)>, %m: !fly.memref<f32, global, ((2,3),4):((1,2),6)>) {
  %t = fly.make_int_tuple() : () -> !fly.int_tuple<((2,3),4,5)>
  // CHECK: fly.get(%{{.*}}) {mode = array<i32: 0, 1>} : (!fly.int_tuple<((2,3),4,5)>) -> !fly.int_tuple<3>
  %0 = fly.get(%t) {mode = array<i32: 0, 1>} : (!fly.int_tuple<((2,3),4,5)>) -> !fly.int_tuple<3>
  %1 = fly.get(%l) {mode = array<i32: 2>} : (!fly.layout<((2,3),4,?):((1,2),6,24)>) -> !fly.layout<?:24>
  %2 = fly.take(%t) {begin = 1 : i32, end = 3 : i32} : (!fly.int_tuple<((2,3),4,5)>) -> !fly.int_tuple<(4,5)>
  %3 = fly.take(%l) {begin = 0 : i32, end = 1 : i32} : (!fly.layout<((2,3),4,?):((1,2),6,24)>) -> !fly.layout<(2,3):(1,2)>
  %4 = fly.select(%t) {indices = array<i32: 2, 0>} : (!fly.int_tuple<((2,3),4,5)>) -> !fly.int_tuple<(5,(2,3))>
  %5 = fly.select(%l) {indices = array<i32: 1, 0>} : (!fly.layout<((2,3),4,?):((1,2),6,24)>) -> !fly.layout<(4,(2,3)):(6,(1,2))>
  %6 = fly.group(%t) {begin = 1 : i32, end = 3 : i32} : (!fly.int_tuple<((2,3),4,5)>) -> !fly.int_tuple<((2,3),(4,5))>
  // CHECK: fly.group(%{{.*}}) {begin = 0 : i32, end = 2 : i32} : (!fly.memref<f32, global, ((2,3),4):((1,2),6)>) -> !fly.memref<f32, global, (((2,3),4)):(((1,2),6))>
  %7 = fly.group(%m) {begin = 0 : i32, end = 2 : i32} : (!fly.memref<f32, global, ((2,3),4):((1,2),6)>) -> !fly.memref<f32, global, (((2,3),4)):(((1,2),6))>
  %one = fly.make_int_tuple() : () -> !fly.int_tuple<1>
  // CHECK: fly.append<5> (%{{.*}}, %{{.*}})
  %8 = fly.append<5>(%t, %one) : (!fly.int_tuple<((2,3),4,5)>, !fly.int_tuple<1>) -> !fly.int_tuple<((2,3),4,5,1,1)>
  // CHECK: fly.prepend (%{{.*}}, %{{.*}})
  %9 = fly.prepend(%t, %one) : (!fly.int_tuple<((2,3),4,5)>, !fly.int_tuple<1>) -> !fly.int_tuple<(1,(2,3),4,5)>
  %u = fly.static : !fly.layout<7:100>
  %10 = fly.append(%l, %u) : (!fly.layout<((2,3),4,?):((1,2),6,24)>, !fly.layout<7:100>) -> !fly.layout<((2,3),4,?,7):((1,2),6,24,100)>
  return
}

// CHECK-LABEL: @slices
func.func @slices(%i: i32, %m: !fly.memref<f16, global, (8,(4,?)):(32,(1,?{div=8})), align<16>>,
                  %t: !fly.coord_tensor<(?,0), (8,4):(1E0,2E1)>,
                  %c: !fly.composed_layout<S<3,0,3> o 1 o (8,4):(4,1)>) {
  %x = fly.make_coord(%i) : (i32) -> !fly.int_tuple<(?{div=2},*)>
  %l = fly.static : !fly.layout<(8,4):(4,1)>
  // CHECK: fly.slice
  %0 = fly.slice(%l, %x) : (!fly.layout<(8,4):(4,1)>, !fly.int_tuple<(?{div=2},*)>) -> !fly.layout<4:1>
  %1 = fly.dice(%l, %x) : (!fly.layout<(8,4):(4,1)>, !fly.int_tuple<(?{div=2},*)>) -> !fly.layout<8:4>
  // The pointer moves by a multiple of 64 elements and keeps its alignment of 8.
  // CHECK: -> !fly.memref<f16, global, (4,?):(1,?{div=8}), align<16>>
  %2 = fly.slice(%m, %x) : (!fly.memref<f16, global, (8,(4,?)):(32,(1,?{div=8})), align<16>>, !fly.int_tuple<(?{div=2},*)>) -> !fly.memref<f16, global, (4,?):(1,?{div=8}), align<16>>
  %y = fly.make_coord() : () -> !fly.int_tuple<(*,(2,*))>
  // CHECK: -> !fly.memref<f16, global, (8,?):(32,?{div=8}), align<4>>
  %3 = fly.slice(%m, %y) : (!fly.memref<f16, global, (8,(4,?)):(32,(1,?{div=8})), align<16>>, !fly.int_tuple<(*,(2,*))>) -> !fly.memref<f16, global, (8,?):(32,?{div=8}), align<4>>
  %z = fly.make_coord() : () -> !fly.int_tuple<(3,*)>
  // CHECK: -> !fly.coord_tensor<(?,0), 4:2E1>
  %4 = fly.slice(%t, %z) : (!fly.coord_tensor<(?,0), (8,4):(1E0,2E1)>, !fly.int_tuple<(3,*)>) -> !fly.coord_tensor<(?,0), 4:2E1>
  // CHECK: -> !fly.composed_layout<S<3,0,3> o 13 o 4:1>
  %5 = fly.slice(%c, %z) : (!fly.composed_layout<S<3,0,3> o 1 o (8,4):(4,1)>, !fly.int_tuple<(3,*)>) -> !fly.composed_layout<S<3,0,3> o 13 o 4:1>
  return
}

// CHECK-LABEL: @assume
func.func @assume(%d: i32) {
  %sixteen = fly.static : !fly.int_tuple<16>
  %n = fly.make_int_tuple(%d) : (i32) -> !fly.int_tuple<?>
  // CHECK: fly.assume(%{{.*}}, %{{.*}}) : (!fly.int_tuple<16>, !fly.int_tuple<?>) -> !fly.int_tuple<?{div=16}>
  %a = fly.assume(%sixteen, %n) : (!fly.int_tuple<16>, !fly.int_tuple<?>) -> !fly.int_tuple<?{div=16}>
  return
}
