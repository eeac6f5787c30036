// Fly values that loops and branches carry, through all passes: nothing of Fly is left.
// RUN: fly-opt %s --fly-rewrite-func-signature --fly-canonicalize --fly-layout-lowering --fly-int-swizzle-simplify --canonicalize --fly-convert-atom-call-to-ssa-form --fly-promote-regmem-to-vectorssa=pieces=true --convert-fly-to-rocdl --canonicalize --split-input-file | FileCheck %s --implicit-check-not=!fly. --implicit-check-not=fly.

// A tensor is its pointer and what is dynamic of its layout.
// CHECK-LABEL: @tensor_through_for
// CHECK: scf.for {{.*}} iter_args(%[[P:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}) -> (!llvm.ptr<1>, !llvm.struct<packed (struct<packed (i32)>)>, f32)
// CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[P]][%{{.*}}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
// CHECK: llvm.load
// CHECK: scf.yield %[[NEXT]], %{{.*}}, %{{.*}} : !llvm.ptr<1>, !llvm.struct<packed (struct<packed (i32)>)>, f32
func.func @tensor_through_for(%p: !fly.ptr<f32, global>, %n: i32, %steps: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %shape = fly.make_int_tuple(%n) : (i32) -> !fly.int_tuple<?>
  %stride = fly.make_int_tuple() : () -> !fly.int_tuple<2>
  %layout = fly.make_layout(%shape, %stride) : (!fly.int_tuple<?>, !fly.int_tuple<2>) -> !fly.layout<?:2>
  %view = fly.make_view(%p, %layout) : (!fly.ptr<f32, global>, !fly.layout<?:2>) -> !fly.memref<f32, global, ?:2>
  %last, %sum = scf.for %i = %c0 to %steps step %c1 iter_args(%t = %view, %s = %zero) -> (!fly.memref<f32, global, ?:2>, f32) {
    %one = fly.make_int_tuple() : () -> !fly.int_tuple<1>
    %x = fly.memref.load(%t, %one) : (!fly.memref<f32, global, ?:2>, !fly.int_tuple<1>) -> f32
    %more = arith.addf %s, %x : f32
    %here = fly.get_iter(%t) : (!fly.memref<f32, global, ?:2>) -> !fly.ptr<f32, global>
    %size = fly.size(%t) : (!fly.memref<f32, global, ?:2>) -> !fly.int_tuple<?>
    %there = fly.add_offset(%here, %size) : (!fly.ptr<f32, global>, !fly.int_tuple<?>) -> !fly.ptr<f32, global>
    %same = fly.get_layout(%t) : (!fly.memref<f32, global, ?:2>) -> !fly.layout<?:2>
    %next = fly.make_view(%there, %same) : (!fly.ptr<f32, global>, !fly.layout<?:2>) -> !fly.memref<f32, global, ?:2>
    scf.yield %next, %more : !fly.memref<f32, global, ?:2>, f32
  }
  return %sum : f32
}

// -----

// An atom's state goes through a loop as the struct that it is; setting it puts a value in.
// CHECK-LABEL: @atom_through_for
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}) -> (!llvm.struct<(i32)>)
// CHECK: llvm.extractvalue %[[A]][0]
// CHECK: rocdl.raw.ptr.buffer.load
// CHECK: %[[SET:.*]] = llvm.insertvalue %{{.*}}, %[[A]][0]
// CHECK: scf.yield %[[SET]] : !llvm.struct<(i32)>
!copy = !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<32>, 32>
func.func @atom_through_for(%src: !fly.memref<f32, #fly_rocdl.buffer_desc, 1:1>, %dst: !fly.memref<f32, global, 1:1>, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !copy
  %store = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<32>, 32>
  %one = fly.static : !fly.layout<1:1>
  %r = fly.memref.alloca(%one) : (!fly.layout<1:1>) -> !fly.memref<f32, register, 1:1>
  %last = scf.for %i = %c0 to %steps step %c1 iter_args(%a = %atom) -> (!copy) {
    fly.copy_atom_call(%a, %src, %r) : (!copy, !fly.memref<f32, #fly_rocdl.buffer_desc, 1:1>, !fly.memref<f32, register, 1:1>) -> ()
    fly.copy_atom_call(%store, %r, %dst) : (!fly.copy_atom<!fly.universal_copy<32>, 32>, !fly.memref<f32, register, 1:1>, !fly.memref<f32, global, 1:1>) -> ()
    %offset = arith.index_cast %i : index to i32
    %set = fly.atom.set_value(%a, "soffset", %offset) : (!copy, i32) -> !copy
    scf.yield %set : !copy
  }
  return
}

// -----

// A layout that grows in a loop that ends when it is large enough.
// CHECK-LABEL: @layout_through_while
// CHECK: scf.while (%{{.*}}) : (!llvm.struct<packed (struct<packed (i32)>, struct<packed (i32)>)>) -> !llvm.struct<packed (struct<packed (i32)>, struct<packed (i32)>)>
// CHECK: scf.condition
// CHECK: %[[SIZE:.*]] = llvm.extractvalue %{{.*}}[0, 0]
// CHECK: %[[TWICE:.*]] = arith.muli %[[SIZE]], %{{.*}}
// CHECK: llvm.insertvalue %[[TWICE]]
// CHECK: scf.yield
func.func @layout_through_while(%n: i32, %d: i32) -> i32 {
  %twenty = arith.constant 20 : i32
  %shape = fly.make_int_tuple(%n) : (i32) -> !fly.int_tuple<?>
  %stride = fly.make_int_tuple(%d) : (i32) -> !fly.int_tuple<?>
  %layout = fly.make_layout(%shape, %stride) : (!fly.int_tuple<?>, !fly.int_tuple<?>) -> !fly.layout<?:?>
  %r = scf.while (%l = %layout) : (!fly.layout<?:?>) -> !fly.layout<?:?> {
    %size = fly.size(%l) : (!fly.layout<?:?>) -> !fly.int_tuple<?>
    %number = fly.get_scalar(%size) : (!fly.int_tuple<?>) -> i32
    %small = arith.cmpi slt, %number, %twenty : i32
    scf.condition(%small) %l : !fly.layout<?:?>
  } do {
  ^bb0(%l: !fly.layout<?:?>):
    %two = fly.make_int_tuple() : () -> !fly.int_tuple<2>
    %size = fly.size(%l) : (!fly.layout<?:?>) -> !fly.int_tuple<?>
    %twice = fly.int_tuple_mul(%size, %two) : (!fly.int_tuple<?>, !fly.int_tuple<2>) -> !fly.int_tuple<?{div=2}>
    %same = fly.get_stride(%l) : (!fly.layout<?:?>) -> !fly.int_tuple<?>
    %forget = fly.get_scalar(%twice) : (!fly.int_tuple<?{div=2}>) -> i32
    %any = fly.make_int_tuple(%forget) : (i32) -> !fly.int_tuple<?>
    %next = fly.make_layout(%any, %same) : (!fly.int_tuple<?>, !fly.int_tuple<?>) -> !fly.layout<?:?>
    scf.yield %next : !fly.layout<?:?>
  }
  %cosize = fly.cosize(%r) : (!fly.layout<?:?>) -> !fly.int_tuple<?>
  %result = fly.get_scalar(%cosize) : (!fly.int_tuple<?>) -> i32
  return %result : i32
}

// -----

// A branch chooses a layout.
// CHECK-LABEL: @choice
// CHECK-SAME: (%[[C:.*]]: i1, %[[N:.*]]: i32, %[[M:.*]]: i32)
// CHECK: scf.if %[[C]] -> (!llvm.struct<packed (struct<packed (i32)>)>)
// CHECK: llvm.insertvalue %[[N]]
// CHECK: scf.yield
// CHECK: llvm.insertvalue %[[M]]
// CHECK: scf.yield
func.func @choice(%c: i1, %n: i32, %m: i32) -> i32 {
  %layout = scf.if %c -> (!fly.layout<?:3>) {
    %shape = fly.make_int_tuple(%n) : (i32) -> !fly.int_tuple<?>
    %stride = fly.make_int_tuple() : () -> !fly.int_tuple<3>
    %l = fly.make_layout(%shape, %stride) : (!fly.int_tuple<?>, !fly.int_tuple<3>) -> !fly.layout<?:3>
    scf.yield %l : !fly.layout<?:3>
  } else {
    %shape = fly.make_int_tuple(%m) : (i32) -> !fly.int_tuple<?>
    %stride = fly.make_int_tuple() : () -> !fly.int_tuple<3>
    %l = fly.make_layout(%shape, %stride) : (!fly.int_tuple<?>, !fly.int_tuple<3>) -> !fly.layout<?:3>
    scf.yield %l : !fly.layout<?:3>
  }
  %cosize = fly.cosize(%layout) : (!fly.layout<?:3>) -> !fly.int_tuple<?>
  %result = fly.get_scalar(%cosize) : (!fly.int_tuple<?>) -> i32
  return %result : i32
}

// -----

// A tiled copy that a loop carries keeps its atom's state.
// CHECK-LABEL: @tiled_copy_through_for
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}) -> (!llvm.struct<(i32)>)
// CHECK: llvm.extractvalue %[[A]][0]
// CHECK: rocdl.raw.ptr.buffer.load
!copy = !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<32>, 32>
!tiled = !fly.tiled_copy<!copy, !fly.layout<(4,1):(1,1)>, !fly.tile<[4]>>
func.func @tiled_copy_through_for(%copy: !tiled, %src: !fly.memref<f32, #fly_rocdl.buffer_desc, 1:1>, %dst: !fly.memref<f32, global, 1:1>, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %store = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<32>, 32>
  %one = fly.static : !fly.layout<1:1>
  %r = fly.memref.alloca(%one) : (!fly.layout<1:1>) -> !fly.memref<f32, register, 1:1>
  %last = scf.for %i = %c0 to %steps step %c1 iter_args(%c = %copy) -> (!tiled) {
    fly.copy(%c, %src, %r) : (!tiled, !fly.memref<f32, #fly_rocdl.buffer_desc, 1:1>, !fly.memref<f32, register, 1:1>) -> ()
    fly.copy(%store, %r, %dst) : (!fly.copy_atom<!fly.universal_copy<32>, 32>, !fly.memref<f32, register, 1:1>, !fly.memref<f32, global, 1:1>) -> ()
    %offset = arith.index_cast %i : index to i32
    %set = fly.atom.set_value(%c, "soffset", %offset) : (!tiled, i32) -> !tiled
    scf.yield %set : !tiled
  }
  return
}
