// Views, fragments, pointers, loads and stores.
// RUN: fly-opt %s | fly-opt | FileCheck %s
// RUN: fly-opt %s -mlir-print-op-generic | fly-opt | FileCheck %s
// RUN: fly-opt %s -emit-bytecode | fly-opt | FileCheck %s

// CHECK-LABEL: @views
func.func @views(%p: !fly.ptr<f32, global, align<16>>, %l: !fly.layout<(4,?):(?{div=4},1)>,
                 %c: !fly.composed_layout<S<2,0,3> o 0 o (8,4):(4,1)>, %i: i32) {
  // CHECK: fly.make_view(%{{.*}}, %{{.*}}) : (!fly.ptr<f32, global, align<16>>, !fly.layout<(4,?):(?{div=4},1)>) -> !fly.memref<f32, global, (4,?):(?{div=4},1), align<16>>
  %0 = fly.make_view(%p, %l) : (!fly.ptr<f32, global, align<16>>, !fly.layout<(4,?):(?{div=4},1)>) -> !fly.memref<f32, global, (4,?):(?{div=4},1), align<16>>
  %1 = fly.get_layout(%0) : (!fly.memref<f32, global, (4,?):(?{div=4},1), align<16>>) -> !fly.layout<(4,?):(?{div=4},1)>
  %2 = fly.get_iter(%0) : (!fly.memref<f32, global, (4,?):(?{div=4},1), align<16>>) -> !fly.ptr<f32, global, align<16>>
  %3 = fly.get_shape(%0) : (!fly.memref<f32, global, (4,?):(?{div=4},1), align<16>>) -> !fly.int_tuple<(4,?)>
  %4 = fly.get_stride(%0) : (!fly.memref<f32, global, (4,?):(?{div=4},1), align<16>>) -> !fly.int_tuple<(?{div=4},1)>
  %base = fly.make_coord(%i) : (i32) -> !fly.int_tuple<(0,?)>
  %id = fly.static : !fly.layout<(4,8):(1E0,1E1)>
  %5 = fly.make_view(%base, %id) : (!fly.int_tuple<(0,?)>, !fly.layout<(4,8):(1E0,1E1)>) -> !fly.coord_tensor<(0,?), (4,8):(1E0,1E1)>
  %6 = fly.get_iter(%5) : (!fly.coord_tensor<(0,?), (4,8):(1E0,1E1)>) -> !fly.int_tuple<(0,?)>
  %7 = fly.make_view(%p, %c) : (!fly.ptr<f32, global, align<16>>, !fly.composed_layout<S<2,0,3> o 0 o (8,4):(4,1)>) -> !fly.memref<f32, global, S<2,0,3> o 0 o (8,4):(4,1), align<16>>
  // CHECK: fly.decomposition
  %8 = fly.decomposition(%7) : (!fly.memref<f32, global, S<2,0,3> o 0 o (8,4):(4,1), align<16>>) -> !fly.memref<f32, global, (8,4):(4,1), align<16>>
  // CHECK: fly.extract_aligned_pointer_as_index %{{.*}} : <f32, global, (4,?):(?{div=4},1), align<16>> -> !llvm.ptr<1>
  %9 = fly.extract_aligned_pointer_as_index %0 : !fly.memref<f32, global, (4,?):(?{div=4},1), align<16>> -> !llvm.ptr<1>
  return
}

// CHECK-LABEL: @fragments
func.func @fragments(%m: !fly.memref<f32, global, ((4,1),2,3):((1,0),64,?)>, %t: !fly.coord_tensor<(0,0), (4,2):(1E0,1E1)>) {
  // CHECK: fly.make_fragment_like(%{{.*}}) : (!fly.memref<f32, global, ((4,1),2,3):((1,0),64,?)>) -> !fly.memref<f32, register, ((4,1),2,3):((1,0),4,8)>
  %0 = fly.make_fragment_like(%m) : (!fly.memref<f32, global, ((4,1),2,3):((1,0),64,?)>) -> !fly.memref<f32, register, ((4,1),2,3):((1,0),4,8)>
  // CHECK: fly.make_fragment_like(%{{.*}}, i1)
  %1 = fly.make_fragment_like(%t, i1) : (!fly.coord_tensor<(0,0), (4,2):(1E0,1E1)>) -> !fly.memref<i1, register, (4,2):(1,4)>
  %2 = fly.make_fragment_layout_like(%m) : (!fly.memref<f32, global, ((4,1),2,3):((1,0),64,?)>) -> !fly.layout<((4,1),2,3):((1,0),4,8)>
  return
}

// CHECK-LABEL: @pointers
func.func @pointers(%p: !fly.ptr<f32, global, align<16>>, %s: !fly.ptr<f16, shared, align<16>>, %i: i32, %a: i64) {
  %o = fly.make_int_tuple(%i) : (i32) -> !fly.int_tuple<?{div=2}>
  // CHECK: fly.add_offset(%{{.*}}, %{{.*}}) : (!fly.ptr<f32, global, align<16>>, !fly.int_tuple<?{div=2}>) -> !fly.ptr<f32, global, align<8>>
  %0 = fly.add_offset(%p, %o) : (!fly.ptr<f32, global, align<16>>, !fly.int_tuple<?{div=2}>) -> !fly.ptr<f32, global, align<8>>
  %z = fly.make_int_tuple() : () -> !fly.int_tuple<0>
  %1 = fly.add_offset(%p, %z) : (!fly.ptr<f32, global, align<16>>, !fly.int_tuple<0>) -> !fly.ptr<f32, global, align<16>>
  %b = fly.make_int_tuple() : () -> !fly.int_tuple<(1,2)>
  %2 = fly.add_offset(%b, %b) : (!fly.int_tuple<(1,2)>, !fly.int_tuple<(1,2)>) -> !fly.int_tuple<(2,4)>
  %sw = fly.static : !fly.swizzle<S<3,2,3>>
  // CHECK: -> !fly.ptr<f16, shared, align<8>, S<3,2,3>>
  %3 = fly.apply_swizzle(%s, %sw) : (!fly.ptr<f16, shared, align<16>>, !fly.swizzle<S<3,2,3>>) -> !fly.ptr<f16, shared, align<8>, S<3,2,3>>
  %4 = fly.ptrtoint(%s) : (!fly.ptr<f16, shared, align<16>>) -> i32
  %5 = fly.ptrtoint(%p) : (!fly.ptr<f32, global, align<16>>) -> i64
  %6 = fly.inttoptr(%a) : (i64) -> !fly.ptr<f32, global>
  %7 = fly.recast_iter(%p) : (!fly.ptr<f32, global, align<16>>) -> !fly.ptr<i8, global, align<16>>
  %8 = fly.to_llvm_ptr(%p) {llvm_address_space = 1 : i32} : (!fly.ptr<f32, global, align<16>>) -> !llvm.ptr<1>
  // CHECK: fly.get_dyn_shared() : !fly.ptr<i8, shared, align<1024>>
  %9 = fly.get_dyn_shared() : !fly.ptr<i8, shared, align<1024>>
  // CHECK: fly.make_ptr() {dictAttrs = {allocSize = 4 : i64}} : () -> !fly.ptr<f32, register>
  %10 = fly.make_ptr() {dictAttrs = {allocSize = 4 : i64}} : () -> !fly.ptr<f32, register>
  return
}

// CHECK-LABEL: @accesses
func.func @accesses(%p: !fly.ptr<f32, global>, %i: i32, %t: !fly.coord_tensor<(?,?{div=4}), (4,2):(1E1,1E0)>) {
  %l = fly.static : !fly.layout<(4,2):(2,1)>
  // CHECK: fly.memref.alloca(%{{.*}}) : (!fly.layout<(4,2):(2,1)>) -> !fly.memref<f32, register, (4,2):(2,1)>
  %m = fly.memref.alloca(%l) : (!fly.layout<(4,2):(2,1)>) -> !fly.memref<f32, register, (4,2):(2,1)>
  %c = fly.make_coord(%i) : (i32) -> !fly.int_tuple<(?,1)>
  %0 = fly.memref.load(%m, %c) : (!fly.memref<f32, register, (4,2):(2,1)>, !fly.int_tuple<(?,1)>) -> f32
  fly.memref.store(%0, %m, %c) : (f32, !fly.memref<f32, register, (4,2):(2,1)>, !fly.int_tuple<(?,1)>) -> ()
  %1 = fly.memref.load_vec(%m) : (!fly.memref<f32, register, (4,2):(2,1)>) -> vector<8xf32>
  // CHECK: fly.memref.store_vec(%{{.*}}, %{{.*}}) : (vector<8xf32>, !fly.memref<f32, register, (4,2):(2,1)>) -> ()
  fly.memref.store_vec(%1, %m) : (vector<8xf32>, !fly.memref<f32, register, (4,2):(2,1)>) -> ()
  %2 = fly.ptr.load(%p) : (!fly.ptr<f32, global>) -> vector<4xf32>
  fly.ptr.store(%2, %p) : (vector<4xf32>, !fly.ptr<f32, global>) -> ()
  // CHECK: fly.memref.load(%{{.*}}, %{{.*}}) : (!fly.coord_tensor<(?,?{div=4}), (4,2):(1E1,1E0)>, !fly.int_tuple<(?,1)>) -> !fly.int_tuple<(?,?)>
  %3 = fly.memref.load(%t, %c) : (!fly.coord_tensor<(?,?{div=4}), (4,2):(1E1,1E0)>, !fly.int_tuple<(?,1)>) -> !fly.int_tuple<(?,?)>
  fly.print(%i, %0) {format = "{} {}"} : (i32, f32) -> ()
  return
}
