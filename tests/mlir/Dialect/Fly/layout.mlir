// Inference: each result type below is what the operation must find, or the verifier refuses the module.
// RUN: fly-opt %s | fly-opt | FileCheck %s
// RUN: fly-opt %s -mlir-print-op-generic | fly-opt | FileCheck %s
// RUN: fly-opt %s -emit-bytecode | fly-opt | FileCheck %s

// CHECK-LABEL: @make
func.func @make(%d: i32, %w: i64) {
  %shape = fly.make_int_tuple() : () -> !fly.int_tuple<(4,8)>
  %stride = fly.make_stride(%d) : (i32) -> !fly.int_tuple<(?,1)>
  // CHECK: fly.make_layout(%{{.*}}, %{{.*}}) : (!fly.int_tuple<(4,8)>, !fly.int_tuple<(?,1)>) -> !fly.layout<(4,8):(?,1)>
  %l = fly.make_layout(%shape, %stride) : (!fly.int_tuple<(4,8)>, !fly.int_tuple<(?,1)>) -> !fly.layout<(4,8):(?,1)>
  %order = fly.make_int_tuple() : () -> !fly.int_tuple<(1,0)>
  %o = fly.make_ordered_layout(%shape, %order) : (!fly.int_tuple<(4,8)>, !fly.int_tuple<(1,0)>) -> !fly.layout<(4,8):(8,1)>
  %like = fly.static : !fly.layout<(4,8):(32,2)>
  %ll = fly.make_layout_like(%like) : (!fly.layout<(4,8):(32,2)>) -> !fly.layout<(4,8):(8,1)>
  %dyn = fly.make_shape(%d, %w) : (i32, i64) -> !fly.int_tuple<(?,?{i64})>
  %id = fly.make_identity_layout(%dyn) : (!fly.int_tuple<(?,?{i64})>) -> !fly.layout<(?,?{i64}):(1E0,1E1)>
  %sw = fly.static : !fly.swizzle<S<3,4,3>>
  %zero = fly.make_coord() : () -> !fly.int_tuple<0>
  %c = fly.make_composed_layout(%sw, %zero, %o) : (!fly.swizzle<S<3,4,3>>, !fly.int_tuple<0>, !fly.layout<(4,8):(8,1)>) -> !fly.composed_layout<S<3,4,3> o 0 o (4,8):(8,1)>
  %in = fly.composed_get_inner(%c) : (!fly.composed_layout<S<3,4,3> o 0 o (4,8):(8,1)>) -> !fly.swizzle<S<3,4,3>>
  %off = fly.composed_get_offset(%c) : (!fly.composed_layout<S<3,4,3> o 0 o (4,8):(8,1)>) -> !fly.int_tuple<0>
  %out = fly.composed_get_outer(%c) : (!fly.composed_layout<S<3,4,3> o 0 o (4,8):(8,1)>) -> !fly.layout<(4,8):(8,1)>
  return
}

// CHECK-LABEL: @sizes
func.func @sizes(%l: !fly.layout<(4,?{div=8}):(1,4)>, %id: !fly.layout<(4,8):(1E0,2E1)>) {
  // CHECK: fly.size(%{{.*}}) : (!fly.layout<(4,?{div=8}):(1,4)>) -> !fly.int_tuple<?{div=32}>
  %0 = fly.size(%l) : (!fly.layout<(4,?{div=8}):(1,4)>) -> !fly.int_tuple<?{div=32}>
  %s = fly.static : !fly.layout<(4,8):(8,2)>
  %1 = fly.cosize(%s) : (!fly.layout<(4,8):(8,2)>) -> !fly.int_tuple<39>
  %2 = fly.coshape(%id) : (!fly.layout<(4,8):(1E0,2E1)>) -> !fly.int_tuple<(4,15)>
  %3 = fly.coprofile(%id) : (!fly.layout<(4,8):(1E0,2E1)>) -> !fly.int_tuple<(0,0)>
  return
}

// CHECK-LABEL: @coordinates
func.func @coordinates(%i: i32, %j: i32) {
  %l = fly.static : !fly.layout<(4,8):(8,1)>
  %c = fly.make_coord(%i, %j) : (i32, i32) -> !fly.int_tuple<(?,?)>
  // CHECK: fly.crd2idx(%{{.*}}, %{{.*}}) : (!fly.int_tuple<(?,?)>, !fly.layout<(4,8):(8,1)>) -> !fly.int_tuple<?>
  %0 = fly.crd2idx(%c, %l) : (!fly.int_tuple<(?,?)>, !fly.layout<(4,8):(8,1)>) -> !fly.int_tuple<?>
  %s = fly.make_coord() : () -> !fly.int_tuple<(2,3)>
  %1 = fly.crd2idx(%s, %l) : (!fly.int_tuple<(2,3)>, !fly.layout<(4,8):(8,1)>) -> !fly.int_tuple<19>
  %k = fly.make_coord() : () -> !fly.int_tuple<19>
  %2 = fly.idx2crd(%k, %l) : (!fly.int_tuple<19>, !fly.layout<(4,8):(8,1)>) -> !fly.int_tuple<(2,3)>
  %3 = fly.get_1d_coord(%k, %l) : (!fly.int_tuple<19>, !fly.layout<(4,8):(8,1)>) -> !fly.int_tuple<14>
  %n = fly.static : !fly.layout<((2,4),8):((1,2),8)>
  %4 = fly.get_flat_coord(%k, %n) : (!fly.int_tuple<19>, !fly.layout<((2,4),8):((1,2),8)>) -> !fly.int_tuple<(3,2)>
  %sw = fly.static : !fly.swizzle<S<3,0,3>>
  // 19 = 0b010'011: the upper three bits are xored onto the lower three.
  %5 = fly.crd2idx(%k, %sw) : (!fly.int_tuple<19>, !fly.swizzle<S<3,0,3>>) -> !fly.int_tuple<17>
  return
}

// CHECK-LABEL: @functions
func.func @functions() {
  %a = fly.static : !fly.layout<(2,(1,6)):(1,(6,2))>
  // CHECK: fly.coalesce(%{{.*}}) : (!fly.layout<(2,(1,6)):(1,(6,2))>) -> !fly.layout<12:1>
  %0 = fly.coalesce(%a) : (!fly.layout<(2,(1,6)):(1,(6,2))>) -> !fly.layout<12:1>
  %p = fly.static : !fly.int_tuple<(1,1)>
  // CHECK: fly.coalesce(%{{.*}}, %{{.*}}) : (!fly.layout<(2,(1,6)):(1,(6,2))>, !fly.int_tuple<(1,1)>)
  %1 = fly.coalesce(%a, %p) : (!fly.layout<(2,(1,6)):(1,(6,2))>, !fly.int_tuple<(1,1)>) -> !fly.layout<(2,6):(1,2)>
  %b = fly.static : !fly.layout<(6,2):(8,2)>
  %c = fly.static : !fly.layout<(4,3):(3,1)>
  %2 = fly.composition(%b, %c) : (!fly.layout<(6,2):(8,2)>, !fly.layout<(4,3):(3,1)>) -> !fly.layout<((2,2),3):((24,2),8)>
  %t = fly.static : !fly.tile<[4|2]>
  %m = fly.static : !fly.layout<(8,16):(1,8)>
  %3 = fly.composition(%m, %t) : (!fly.layout<(8,16):(1,8)>, !fly.tile<[4|2]>) -> !fly.layout<(4,2):(1,8)>
  %d = fly.static : !fly.layout<(2,2):(1,6)>
  %n = fly.static : !fly.int_tuple<24>
  // CHECK: fly.complement(%{{.*}}, %{{.*}}) : (!fly.layout<(2,2):(1,6)>, !fly.int_tuple<24>) -> !fly.layout<(3,2):(2,12)>
  %4 = fly.complement(%d, %n) : (!fly.layout<(2,2):(1,6)>, !fly.int_tuple<24>) -> !fly.layout<(3,2):(2,12)>
  %e = fly.static : !fly.layout<(4,8):(8,1)>
  %5 = fly.right_inverse(%e) : (!fly.layout<(4,8):(8,1)>) -> !fly.layout<(8,4):(4,1)>
  %f = fly.static : !fly.layout<(4,8):(1,5)>
  %6 = fly.left_inverse(%f) : (!fly.layout<(4,8):(1,5)>) -> !fly.layout<(5,8):(1,4)>
  %7 = fly.recast_layout(%e) {new_type_bits = 32 : i32, old_type_bits = 16 : i32} : (!fly.layout<(4,8):(8,1)>) -> !fly.layout<(4,4):(4,1)>
  return
}

// CHECK-LABEL: @divides
func.func @divides(%m: !fly.memref<f32, global, (?,?):(?{i64},1)>) {
  %l = fly.static : !fly.layout<(8,16):(1,8)>
  %t = fly.static : !fly.tile<[4|2]>
  // CHECK: fly.logical_divide
  %0 = fly.logical_divide(%l, %t) : (!fly.layout<(8,16):(1,8)>, !fly.tile<[4|2]>) -> !fly.layout<((4,2),(2,8)):((1,4),(8,16))>
  %1 = fly.zipped_divide(%l, %t) : (!fly.layout<(8,16):(1,8)>, !fly.tile<[4|2]>) -> !fly.layout<((4,2),(2,8)):((1,8),(4,16))>
  %2 = fly.tiled_divide(%l, %t) : (!fly.layout<(8,16):(1,8)>, !fly.tile<[4|2]>) -> !fly.layout<((4,2),2,8):((1,8),4,16)>
  %3 = fly.flat_divide(%l, %t) : (!fly.layout<(8,16):(1,8)>, !fly.tile<[4|2]>) -> !fly.layout<(4,2,2,8):(1,8,4,16)>
  // CHECK: fly.flat_divide(%{{.*}}, %{{.*}}) : (!fly.memref<f32, global, (?,?):(?{i64},1)>, !fly.tile<[4|2]>) -> !fly.memref<f32, global, (4,2,?,?):(?{i64},1,?{i64 div=4},2)>
  %4 = fly.flat_divide(%m, %t) : (!fly.memref<f32, global, (?,?):(?{i64},1)>, !fly.tile<[4|2]>) -> !fly.memref<f32, global, (4,2,?,?):(?{i64},1,?{i64 div=4},2)>
  return
}

// CHECK-LABEL: @products
func.func @products() {
  %l = fly.static : !fly.layout<(2,2):(1,2)>
  %t = fly.static : !fly.layout<(3,4):(1,3)>
  // CHECK: fly.logical_product
  %0 = fly.logical_product(%l, %t) : (!fly.layout<(2,2):(1,2)>, !fly.layout<(3,4):(1,3)>) -> !fly.layout<((2,2),(3,4)):((1,2),(4,12))>
  %1 = fly.zipped_product(%l, %t) : (!fly.layout<(2,2):(1,2)>, !fly.layout<(3,4):(1,3)>) -> !fly.layout<((2,2),(3,4)):((1,2),(4,12))>
  %2 = fly.tiled_product(%l, %t) : (!fly.layout<(2,2):(1,2)>, !fly.layout<(3,4):(1,3)>) -> !fly.layout<((2,2),3,4):((1,2),4,12)>
  %3 = fly.flat_product(%l, %t) : (!fly.layout<(2,2):(1,2)>, !fly.layout<(3,4):(1,3)>) -> !fly.layout<(2,2,3,4):(1,2,4,12)>
  %4 = fly.blocked_product(%l, %t) : (!fly.layout<(2,2):(1,2)>, !fly.layout<(3,4):(1,3)>) -> !fly.layout<((2,3),(2,4)):((1,4),(2,12))>
  %5 = fly.raked_product(%l, %t) : (!fly.layout<(2,2):(1,2)>, !fly.layout<(3,4):(1,3)>) -> !fly.layout<((3,2),(4,2)):((4,1),(12,2))>
  %s = fly.static : !fly.int_tuple<(4,8)>
  %o = fly.static : !fly.int_tuple<(0,1)>
  %6 = fly.tile_to_shape(%l, %s, %o) : (!fly.layout<(2,2):(1,2)>, !fly.int_tuple<(4,8)>, !fly.int_tuple<(0,1)>) -> !fly.layout<((2,2),(2,4)):((1,4),(2,8))>
  return
}

// What acts on indices moves with the element's size: the swizzle's bits, the offset.
// CHECK-LABEL: @recast_composed
func.func @recast_composed() {
  %s = fly.static : !fly.composed_layout<S<3,3,3> o 16 o (8,64):(64,1)>
  // CHECK: -> !fly.composed_layout<S<3,2,3> o 8 o (8,32):(32,1)>
  %0 = fly.recast_layout(%s) {new_type_bits = 32 : i32, old_type_bits = 16 : i32} : (!fly.composed_layout<S<3,3,3> o 16 o (8,64):(64,1)>) -> !fly.composed_layout<S<3,2,3> o 8 o (8,32):(32,1)>
  // CHECK: -> !fly.composed_layout<S<3,4,3> o 32 o (8,128):(128,1)>
  %1 = fly.recast_layout(%s) {new_type_bits = 8 : i32, old_type_bits = 16 : i32} : (!fly.composed_layout<S<3,3,3> o 16 o (8,64):(64,1)>) -> !fly.composed_layout<S<3,4,3> o 32 o (8,128):(128,1)>
  return
}
