// RUN: fly-opt %s --fly-layout-lowering --split-input-file | FileCheck %s

// Contiguous fragments are one access, whatever their modes.
// CHECK-LABEL: @contiguous
// CHECK: fly.ptr.load(%{{.*}}) : (!fly.ptr<f32, register>) -> vector<8xf32>
// CHECK-NOT: fly.ptr.load
func.func @contiguous(%m: !fly.memref<f32, register, ((4,1),2):((1,0),4)>) -> vector<8xf32> {
  %v = fly.memref.load_vec(%m) : (!fly.memref<f32, register, ((4,1),2):((1,0),4)>) -> vector<8xf32>
  return %v : vector<8xf32>
}

// -----

// The mode of stride 1 is not the first: chunks along it, then a transpose to the tensor's order.
// CHECK-LABEL: @transposed
// CHECK: fly.ptr.load(%{{.*}}) -> vector<4xf32>
// CHECK: vector.insert_strided_slice {{.*}} {offsets = [0], strides = [1]} : vector<4xf32> into vector<8xf32>
// CHECK: fly.make_int_tuple() : () -> !fly.int_tuple<16>
// CHECK: vector.insert_strided_slice {{.*}} {offsets = [4], strides = [1]} : vector<4xf32> into vector<8xf32>
// CHECK: vector.shape_cast {{.*}} : vector<8xf32> to vector<2x4xf32>
// CHECK: vector.transpose {{.*}}, [1, 0] : vector<2x4xf32> to vector<4x2xf32>
// CHECK: vector.shape_cast {{.*}} : vector<4x2xf32> to vector<8xf32>
func.func @transposed(%p: !fly.ptr<f32, register>) -> vector<8xf32> {
  %shape = fly.make_int_tuple() : () -> !fly.int_tuple<(2,4)>
  %stride = fly.make_int_tuple() : () -> !fly.int_tuple<(16,1)>
  %layout = fly.make_layout(%shape, %stride) : (!fly.int_tuple<(2,4)>, !fly.int_tuple<(16,1)>) -> !fly.layout<(2,4):(16,1)>
  %m = fly.make_view(%p, %layout) : (!fly.ptr<f32, register>, !fly.layout<(2,4):(16,1)>) -> !fly.memref<f32, register, (2,4):(16,1)>
  %v = fly.memref.load_vec(%m) : (!fly.memref<f32, register, (2,4):(16,1)>) -> vector<8xf32>
  return %v : vector<8xf32>
}

// -----

// Stores undo the transpose first.
// CHECK-LABEL: @transposed_store
// CHECK: vector.shape_cast {{.*}} : vector<8xf32> to vector<4x2xf32>
// CHECK: vector.transpose {{.*}}, [1, 0] : vector<4x2xf32> to vector<2x4xf32>
// CHECK: fly.ptr.store({{.*}}) : (vector<4xf32>, !fly.ptr<f32, register>) -> ()
// CHECK: fly.ptr.store({{.*}}) : (vector<4xf32>, !fly.ptr<f32, register>) -> ()
// CHECK-NOT: fly.ptr.store
func.func @transposed_store(%p: !fly.ptr<f32, register>, %v: vector<8xf32>) {
  %shape = fly.make_int_tuple() : () -> !fly.int_tuple<(2,4)>
  %stride = fly.make_int_tuple() : () -> !fly.int_tuple<(16,1)>
  %layout = fly.make_layout(%shape, %stride) : (!fly.int_tuple<(2,4)>, !fly.int_tuple<(16,1)>) -> !fly.layout<(2,4):(16,1)>
  %m = fly.make_view(%p, %layout) : (!fly.ptr<f32, register>, !fly.layout<(2,4):(16,1)>) -> !fly.memref<f32, register, (2,4):(16,1)>
  fly.memref.store_vec(%v, %m) : (vector<8xf32>, !fly.memref<f32, register, (2,4):(16,1)>) -> ()
  return
}

// -----

// Constants behind a dynamic offset stay a constant of their own, so that accesses share the dynamic part.
// CHECK-LABEL: @shared_dynamic_offset
// CHECK-SAME: (%[[P:.*]]: !fly.ptr<f32, shared>, %[[X:.*]]: i32)
// CHECK: %[[D:.*]] = fly.make_int_tuple(%{{.*}}) : (i32)
// CHECK: %[[BASE:.*]] = fly.add_offset(%[[P]], %[[D]])
// CHECK: fly.add_offset(%[[BASE]], %{{.*}}) : (!fly.ptr<f32, shared>, !fly.int_tuple<16>)
// CHECK: fly.add_offset(%[[BASE]], %{{.*}}) : (!fly.ptr<f32, shared>, !fly.int_tuple<32>)
func.func @shared_dynamic_offset(%p: !fly.ptr<f32, shared>, %x: i32) -> (f32, f32) {
  %shape = fly.make_int_tuple() : () -> !fly.int_tuple<(16,4)>
  %stride = fly.make_int_tuple() : () -> !fly.int_tuple<(1,16)>
  %layout = fly.make_layout(%shape, %stride) : (!fly.int_tuple<(16,4)>, !fly.int_tuple<(1,16)>) -> !fly.layout<(16,4):(1,16)>
  %m = fly.make_view(%p, %layout) : (!fly.ptr<f32, shared>, !fly.layout<(16,4):(1,16)>) -> !fly.memref<f32, shared, (16,4):(1,16)>
  %c1 = fly.make_int_tuple(%x) : (i32) -> !fly.int_tuple<(?,1)>
  %c2 = fly.make_int_tuple(%x) : (i32) -> !fly.int_tuple<(?,2)>
  %a = fly.memref.load(%m, %c1) : (!fly.memref<f32, shared, (16,4):(1,16)>, !fly.int_tuple<(?,1)>) -> f32
  %b = fly.memref.load(%m, %c2) : (!fly.memref<f32, shared, (16,4):(1,16)>, !fly.int_tuple<(?,2)>) -> f32
  return %a, %b : f32, f32
}

// -----

// The coordinate that a coordinate tensor holds is computed, not loaded.
// CHECK-LABEL: @coordinate
// CHECK-SAME: (%[[I:.*]]: i32)
// CHECK: %[[COLUMN:.*]] = arith.addi %[[I]], %c4_i32
// CHECK: return %[[COLUMN]]
func.func @coordinate(%i: i32) -> i32 {
  %base = fly.make_int_tuple() : () -> !fly.int_tuple<(0,4)>
  %shape = fly.make_int_tuple() : () -> !fly.int_tuple<(4,8)>
  %layout = fly.make_identity_layout(%shape) : (!fly.int_tuple<(4,8)>) -> !fly.layout<(4,8):(1E0,1E1)>
  %t = fly.make_view(%base, %layout) : (!fly.int_tuple<(0,4)>, !fly.layout<(4,8):(1E0,1E1)>) -> !fly.coord_tensor<(0,4), (4,8):(1E0,1E1)>
  %at = fly.make_int_tuple(%i) : (i32) -> !fly.int_tuple<(2,?)>
  %coord = fly.memref.load(%t, %at) : (!fly.coord_tensor<(0,4), (4,8):(1E0,1E1)>, !fly.int_tuple<(2,?)>) -> !fly.int_tuple<(2,?)>
  %column = fly.select(%coord) {indices = array<i32: 1>} : (!fly.int_tuple<(2,?)>) -> !fly.int_tuple<?>
  %n = fly.get_scalar(%column) : (!fly.int_tuple<?>) -> i32
  return %n : i32
}
