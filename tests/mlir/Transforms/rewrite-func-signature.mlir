// RUN: fly-opt %s --fly-rewrite-func-signature --split-input-file | FileCheck %s

// A tensor with dynamic parts is its pointer and a packed struct of them, shapes before strides; static values vanish.
// CHECK-LABEL: gpu.func @kernel
// CHECK-SAME: (%[[P:.*]]: !fly.ptr<f16, global>, %[[L:.*]]: !llvm.struct<packed (struct<packed (i32)>, struct<packed (i64)>)>, %[[N:.*]]: i32) kernel
// CHECK: llvm.extractvalue %[[L]][0]
// CHECK: llvm.extractvalue %[[L]][1]
// CHECK: fly.make_view(%[[P]], %{{.*}}) : {{.*}} -> !fly.memref<f16, global, (?,8):(1,?{i64})>
// CHECK: gpu.launch_func {{.*}} args(%{{.*}} : !fly.ptr<f16, global>, %{{.*}} : !llvm.struct<packed (struct<packed (i32)>, struct<packed (i64)>)>, %{{.*}} : i32)
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @kernel(%tensor: !fly.memref<f16, global, (?,8):(1,?{i64})>, %tile: !fly.tile<[4|*]>, %n: i32) kernel {
      %size = fly.size(%tensor) : (!fly.memref<f16, global, (?,8):(1,?{i64})>) -> !fly.int_tuple<?{div=8}>
      gpu.return
    }
  }
  func.func @host(%tensor: !fly.memref<f16, global, (?,8):(1,?{i64})>, %n: i32) {
    %c1 = arith.constant 1 : index
    %tile = fly.static : !fly.tile<[4|*]>
    gpu.launch_func @kernels::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%tensor : !fly.memref<f16, global, (?,8):(1,?{i64})>, %tile : !fly.tile<[4|*]>, %n : i32)
    return
  }
}

// -----

// A layout that a loop carries goes as a struct, and is taken apart at its end.
// CHECK-LABEL: @loop
// CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}) -> (!llvm.struct<packed (struct<packed (i32)>)>)
// CHECK: fly.make_layout
// CHECK: llvm.insertvalue
// CHECK: scf.yield %{{.*}} : !llvm.struct<packed (struct<packed (i32)>)>
// CHECK: llvm.extractvalue %[[R]][0]
func.func @loop(%n: index, %s: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %shape = fly.make_int_tuple(%s) : (i32) -> !fly.int_tuple<?>
  %stride = fly.make_int_tuple() : () -> !fly.int_tuple<1>
  %layout = fly.make_layout(%shape, %stride) : (!fly.int_tuple<?>, !fly.int_tuple<1>) -> !fly.layout<?:1>
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%l = %layout) -> (!fly.layout<?:1>) {
    %size = fly.size(%l) : (!fly.layout<?:1>) -> !fly.int_tuple<?>
    %more = fly.int_tuple_add(%size, %shape) : (!fly.int_tuple<?>, !fly.int_tuple<?>) -> !fly.int_tuple<?>
    %next = fly.make_layout(%more, %stride) : (!fly.int_tuple<?>, !fly.int_tuple<1>) -> !fly.layout<?:1>
    scf.yield %next : !fly.layout<?:1>
  }
  %size = fly.size(%last) : (!fly.layout<?:1>) -> !fly.int_tuple<?>
  %result = fly.get_scalar(%size) : (!fly.int_tuple<?>) -> i32
  return %result : i32
}

// -----

// A choice between tensors is a choice between their pointers; a static result of a branch vanishes.
// CHECK-LABEL: @choice
// CHECK-SAME: (%[[C:.*]]: i1, %[[A:.*]]: !fly.ptr<f32, shared>, %[[B:.*]]: !fly.ptr<f32, shared>)
// CHECK: scf.if %[[C]] {
// CHECK: arith.select %[[C]], %{{.*}}, %{{.*}} : !fly.ptr<f32, shared>
func.func @choice(%c: i1, %a: !fly.memref<f32, shared, 4:1>, %b: !fly.memref<f32, shared, 4:1>) -> f32 {
  %index = scf.if %c -> (!fly.int_tuple<2>) {
    %two = fly.static : !fly.int_tuple<2>
    scf.yield %two : !fly.int_tuple<2>
  } else {
    %two = fly.static : !fly.int_tuple<2>
    scf.yield %two : !fly.int_tuple<2>
  }
  %chosen = arith.select %c, %a, %b : !fly.memref<f32, shared, 4:1>
  %x = fly.memref.load(%chosen, %index) : (!fly.memref<f32, shared, 4:1>, !fly.int_tuple<2>) -> f32
  return %x : f32
}

// -----

// A composed layout's parts, in order; the swizzle is static and left out.
// CHECK-LABEL: @composed
// CHECK-SAME: (%[[S:.*]]: !llvm.struct<packed (struct<packed (i32)>, struct<packed (struct<packed (i32)>)>)>)
// CHECK: fly.make_composed_layout
func.func @composed(%l: !fly.composed_layout<S<3,3,3> o ? o (8,?):(1,8)>) -> i32 {
  %c = fly.make_int_tuple() : () -> !fly.int_tuple<3>
  %i = fly.crd2idx(%c, %l) : (!fly.int_tuple<3>, !fly.composed_layout<S<3,3,3> o ? o (8,?):(1,8)>) -> !fly.int_tuple<?>
  %n = fly.get_scalar(%i) : (!fly.int_tuple<?>) -> i32
  return %n : i32
}
