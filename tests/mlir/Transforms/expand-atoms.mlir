// RUN: fly-opt %s --fly-layout-lowering --split-input-file | FileCheck %s

// A call an atom: the second mode is walked, the first goes in whole.
// CHECK-LABEL: @copy_by_atoms
// CHECK-COUNT-3: fly.copy_atom_call({{.*}}) : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, global, 4:1>, !fly.memref<f32, register, 4:1>) -> ()
// CHECK-NOT: fly.copy
func.func @copy_by_atoms(%src: !fly.memref<f32, global, (4,3):(1,100)>, %dst: !fly.memref<f32, register, (4,3):(1,4)>) {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<128>, 32>
  fly.copy(%atom, %src, %dst) : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, global, (4,3):(1,100)>, !fly.memref<f32, register, (4,3):(1,4)>) -> ()
  return
}

// -----

// A mode that holds several atoms is cut.
// CHECK-LABEL: @copy_cuts_a_mode
// CHECK: fly.copy_atom_call({{.*}}!fly.memref<f32, global, 2:1>, !fly.memref<f32, register, 2:1>
// CHECK: fly.copy_atom_call({{.*}}!fly.memref<f32, global, 2:1>, !fly.memref<f32, register, 2:1>
// CHECK-NOT: fly.copy
func.func @copy_cuts_a_mode(%src: !fly.memref<f32, global, 4:1>, %dst: !fly.memref<f32, register, 4:1>) {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<64>, 32>
  fly.copy(%atom, %src, %dst) : (!fly.copy_atom<!fly.universal_copy<64>, 32>, !fly.memref<f32, global, 4:1>, !fly.memref<f32, register, 4:1>) -> ()
  return
}

// -----

// A predicate per atom, without the mode that an atom copies.
// CHECK-LABEL: @copy_with_predicates
// CHECK: %[[SECOND:.*]] = fly.add_offset({{.*}}) : (!fly.ptr<i1, register>, !fly.int_tuple<1>)
// CHECK: fly.copy_atom_call({{.*}}, !fly.memref<i1, register, 1:0>) -> ()
// CHECK: fly.make_view(%[[SECOND]], {{.*}} -> !fly.memref<i1, register, 1:0>
// CHECK: fly.copy_atom_call({{.*}}, !fly.memref<i1, register, 1:0>) -> ()
func.func @copy_with_predicates(%src: !fly.memref<f32, global, (4,2):(1,100)>, %dst: !fly.memref<f32, register, (4,2):(1,4)>, %pred: !fly.memref<i1, register, 2:1>) {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<128>, 32>
  fly.copy(%atom, %src, %dst, %pred) : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, global, (4,2):(1,100)>, !fly.memref<f32, register, (4,2):(1,4)>, !fly.memref<i1, register, 2:1>) -> ()
  return
}

// -----

// (M, N, K) = (2, 1, 2) in the order that is asked for: K fastest,
// then M. The first step along K adds to C, the others to D.
// CHECK-LABEL: @gemm_order
// CHECK-SAME: (%[[D:.*]]: !fly.ptr<f32, register>, %{{.*}}, %{{.*}}, %[[C:.*]]: !fly.ptr<f32, register>)
// CHECK: %[[D0:.*]] = fly.make_view(%[[D]],
// CHECK: %[[C0:.*]] = fly.make_view(%[[C]],
// CHECK: fly.mma_atom_call(%{{.*}}, %[[D0]], %{{.*}}, %{{.*}}, %[[C0]])
// CHECK: fly.mma_atom_call(%{{.*}}, %[[D0]], %{{.*}}, %{{.*}}, %[[D0]])
// CHECK: fly.mma_atom_call(%{{[0-9]+}}, %[[D1:[0-9]+]], %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}})
// CHECK: fly.mma_atom_call(%{{.*}}, %[[D1]], %{{.*}}, %{{.*}}, %[[D1]])
// CHECK-NOT: fly.mma_atom_call
func.func @gemm_order(%d: !fly.ptr<f32, register>, %a: !fly.ptr<f32, register>, %b: !fly.ptr<f32, register>, %c: !fly.ptr<f32, register>) {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly.universal_fma<1x1x1, (f32, f32) -> f32>>
  %sd = fly.make_int_tuple() : () -> !fly.int_tuple<(1,2,1)>
  %td = fly.make_int_tuple() : () -> !fly.int_tuple<(0,1,0)>
  %ld = fly.make_layout(%sd, %td) : (!fly.int_tuple<(1,2,1)>, !fly.int_tuple<(0,1,0)>) -> !fly.layout<(1,2,1):(0,1,0)>
  %sa = fly.make_int_tuple() : () -> !fly.int_tuple<(1,2,2)>
  %ta = fly.make_int_tuple() : () -> !fly.int_tuple<(0,1,2)>
  %la = fly.make_layout(%sa, %ta) : (!fly.int_tuple<(1,2,2)>, !fly.int_tuple<(0,1,2)>) -> !fly.layout<(1,2,2):(0,1,2)>
  %sb = fly.make_int_tuple() : () -> !fly.int_tuple<(1,1,2)>
  %tb = fly.make_int_tuple() : () -> !fly.int_tuple<(0,0,1)>
  %lb = fly.make_layout(%sb, %tb) : (!fly.int_tuple<(1,1,2)>, !fly.int_tuple<(0,0,1)>) -> !fly.layout<(1,1,2):(0,0,1)>
  %vd = fly.make_view(%d, %ld) : (!fly.ptr<f32, register>, !fly.layout<(1,2,1):(0,1,0)>) -> !fly.memref<f32, register, (1,2,1):(0,1,0)>
  %vc = fly.make_view(%c, %ld) : (!fly.ptr<f32, register>, !fly.layout<(1,2,1):(0,1,0)>) -> !fly.memref<f32, register, (1,2,1):(0,1,0)>
  %va = fly.make_view(%a, %la) : (!fly.ptr<f32, register>, !fly.layout<(1,2,2):(0,1,2)>) -> !fly.memref<f32, register, (1,2,2):(0,1,2)>
  %vb = fly.make_view(%b, %lb) : (!fly.ptr<f32, register>, !fly.layout<(1,1,2):(0,0,1)>) -> !fly.memref<f32, register, (1,1,2):(0,0,1)>
  fly.gemm(%atom, %vd, %va, %vb, %vc) {traversalOrder = #fly<gemm_traversal_order kmn>} : (!fly.mma_atom<!fly.universal_fma<1x1x1, (f32, f32) -> f32>>, !fly.memref<f32, register, (1,2,1):(0,1,0)>, !fly.memref<f32, register, (1,2,2):(0,1,2)>, !fly.memref<f32, register, (1,1,2):(0,0,1)>, !fly.memref<f32, register, (1,2,1):(0,1,0)>) -> ()
  return
}

// -----

// IR from elsewhere is taken at its word: values of one call are neighbours. (Tracing refuses such a copy.)
// CHECK-LABEL: @copy_by_a_stride_of_the_launch
// CHECK-COUNT-1: fly.copy_atom_call({{.*}}) : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, global, 4:?{i64}>, !fly.memref<f32, register, 4:1>) -> ()
// CHECK-NOT: fly.copy
func.func @copy_by_a_stride_of_the_launch(%p: !fly.ptr<f32, global>, %stride: i64, %dst: !fly.memref<f32, register, 4:1>) {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<128>, 32>
  %s = fly.make_int_tuple() : () -> !fly.int_tuple<4>
  %d = fly.make_int_tuple(%stride) : (i64) -> !fly.int_tuple<?{i64}>
  %l = fly.make_layout(%s, %d) : (!fly.int_tuple<4>, !fly.int_tuple<?{i64}>) -> !fly.layout<4:?{i64}>
  %src = fly.make_view(%p, %l) : (!fly.ptr<f32, global>, !fly.layout<4:?{i64}>) -> !fly.memref<f32, global, 4:?{i64}>
  fly.copy(%atom, %src, %dst) : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, global, 4:?{i64}>, !fly.memref<f32, register, 4:1>) -> ()
  return
}

// -----

// A predicate with a value for each call of one mode.
// CHECK-LABEL: @copy_with_a_predicate_a_call
// CHECK: fly.copy_atom_call({{.*}}, !fly.memref<i1, register, 1:0>) -> ()
// CHECK: fly.copy_atom_call({{.*}}, !fly.memref<i1, register, 1:0>) -> ()
// CHECK-NOT: fly.copy
func.func @copy_with_a_predicate_a_call(%src: !fly.memref<f32, global, 8:1>, %dst: !fly.memref<f32, register, 8:1>, %pred: !fly.memref<i1, register, 2:1>) {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<128>, 32>
  fly.copy(%atom, %src, %dst, %pred) : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, global, 8:1>, !fly.memref<f32, register, 8:1>, !fly.memref<i1, register, 2:1>) -> ()
  return
}

// -----

// A tensor of one element is where the values of the atom's one call begin, on either side.

// CHECK-LABEL: func.func @begins_at_an_element
// CHECK-COUNT-2: fly.copy_atom_call(
// CHECK-NOT: fly.copy(
func.func @begins_at_an_element(%src: !fly.memref<f32, global, 1:0>, %dst: !fly.memref<f32, register, 4:1>, %lds: !fly.memref<f32, shared, 1:1, align<16>>) {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<128>, 32>
  fly.copy(%atom, %src, %dst) : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, global, 1:0>, !fly.memref<f32, register, 4:1>) -> ()
  fly.copy(%atom, %dst, %lds) : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, register, 4:1>, !fly.memref<f32, shared, 1:1, align<16>>) -> ()
  return
}
