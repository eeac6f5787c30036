// Atoms, tiled copies and multiplications.
// RUN: fly-opt %s | fly-opt | FileCheck %s
// RUN: fly-opt %s -mlir-print-op-generic | fly-opt | FileCheck %s
// RUN: fly-opt %s -emit-bytecode | fly-opt | FileCheck %s

!atom = !fly.copy_atom<!fly.universal_copy<128>, 32>
!tiled = !fly.tiled_copy<!atom, !fly.layout<((16,8),4):((32,1),8)>, !fly.tile<[8|64]>>
!mma = !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>
!tiled_mma = !fly.tiled_mma<!mma, !fly.layout<(2,2,1):(1,2,0)>>

// CHECK-LABEL: @copies
func.func @copies(%a: !fly.memref<f32, global, (8,64):(?{i64},1)>, %t: !fly.coord_tensor<(?{div=8},?{div=64}), (8,64):(1E0,1E1)>, %tid: i32) {
  // CHECK: fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<128>, 32>
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !atom
  %tv = fly.static : !fly.layout<((16,8),4):((32,1),8)>
  %tile = fly.static : !fly.tile<[8|64]>
  %c = fly.make_tiled_copy(%atom, %tv, %tile) : (!atom, !fly.layout<((16,8),4):((32,1),8)>, !fly.tile<[8|64]>) -> !tiled
  %i = fly.make_coord(%tid) : (i32) -> !fly.int_tuple<?>
  // Thread t of 128 holds four neighbours of a row: row t / 16, columns 4 * (t % 16) on.
  // CHECK: fly.tiled_copy.partition_src({{.*}} -> !fly.memref<f32, global, ((4,1),1,1):((1,0),0,0)>
  %0 = fly.tiled_copy.partition_src(%c, %a, %i) : (!tiled, !fly.memref<f32, global, (8,64):(?{i64},1)>, !fly.int_tuple<?>) -> !fly.memref<f32, global, ((4,1),1,1):((1,0),0,0)>
  // CHECK: fly.tiled_copy.partition_dst({{.*}} -> !fly.coord_tensor<(?,?{div=4}), ((4,1),1,1):((1E1,0),0,0)>
  %1 = fly.tiled_copy.partition_dst(%c, %t, %i) : (!tiled, !fly.coord_tensor<(?{div=8},?{div=64}), (8,64):(1E0,1E1)>, !fly.int_tuple<?>) -> !fly.coord_tensor<(?,?{div=4}), ((4,1),1,1):((1E1,0),0,0)>
  %r = fly.make_fragment_like(%0) : (!fly.memref<f32, global, ((4,1),1,1):((1,0),0,0)>) -> !fly.memref<f32, register, ((4,1),1,1):((1,0),0,0)>
  %p = fly.make_fragment_like(%0, i1) : (!fly.memref<f32, global, ((4,1),1,1):((1,0),0,0)>) -> !fly.memref<i1, register, ((4,1),1,1):((1,0),0,0)>
  // CHECK: fly.copy(%{{.*}}, %{{.*}}, %{{.*}}) :
  fly.copy(%atom, %0, %r) : (!atom, !fly.memref<f32, global, ((4,1),1,1):((1,0),0,0)>, !fly.memref<f32, register, ((4,1),1,1):((1,0),0,0)>) -> ()
  // CHECK: fly.copy(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) :
  fly.copy(%c, %r, %0, %p) : (!tiled, !fly.memref<f32, register, ((4,1),1,1):((1,0),0,0)>, !fly.memref<f32, global, ((4,1),1,1):((1,0),0,0)>, !fly.memref<i1, register, ((4,1),1,1):((1,0),0,0)>) -> ()
  // CHECK: fly.copy_atom_call(
  fly.copy_atom_call(%atom, %0, %r) : (!atom, !fly.memref<f32, global, ((4,1),1,1):((1,0),0,0)>, !fly.memref<f32, register, ((4,1),1,1):((1,0),0,0)>) -> ()
  // CHECK: %[[V:.*]] = fly.copy_atom_call_ssa(%{{.*}}, %{{.*}}) {operandSegmentSizes = array<i32: 1, 1, 0, 0>}
  %v = fly.copy_atom_call_ssa(%atom, %0) {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (!atom, !fly.memref<f32, global, ((4,1),1,1):((1,0),0,0)>) -> vector<4xf32>
  // CHECK: fly.copy_atom_call_ssa(%{{.*}}, %[[V]], %{{.*}}) {operandSegmentSizes = array<i32: 1, 1, 1, 0>}
  fly.copy_atom_call_ssa(%atom, %v, %0) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (!atom, vector<4xf32>, !fly.memref<f32, global, ((4,1),1,1):((1,0),0,0)>) -> ()
  return
}

// CHECK-LABEL: @products
func.func @products(%a: !fly.memref<f16, global, (64,32):(32,1)>, %c: !fly.memref<f32, global, (64,64):(64,1)>, %tid: i32) {
  // CHECK: fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>
  %atom = fly.make_mma_atom : !mma
  %atoms = fly.static : !fly.layout<(2,2,1):(1,2,0)>
  %m = fly.make_tiled_mma(%atom, %atoms) : (!mma, !fly.layout<(2,2,1):(1,2,0)>) -> !tiled_mma
  %i = fly.make_coord(%tid) : (i32) -> !fly.int_tuple<?>
  // A: 64 rows are 2 x (2 atoms of 16), K of 32 is 2 atoms of 16; a lane holds four along K.
  // CHECK: fly.tiled_mma.partition( a, {{.*}} -> !fly.memref<f16, global, (4,2,2):(1,1024,16)>
  %0 = fly.tiled_mma.partition(a, %m, %a, %i) : (!tiled_mma, !fly.memref<f16, global, (64,32):(32,1)>, !fly.int_tuple<?>) -> !fly.memref<f16, global, (4,2,2):(1,1024,16)>
  // CHECK: fly.tiled_mma.partition( c, {{.*}} -> !fly.memref<f32, global, ((4,1),2,2):((64,0),2048,32)>
  %1 = fly.tiled_mma.partition(c, %m, %c, %i) : (!tiled_mma, !fly.memref<f32, global, (64,64):(64,1)>, !fly.int_tuple<?>) -> !fly.memref<f32, global, ((4,1),2,2):((64,0),2048,32)>
  %s = fly.make_shape() : () -> !fly.int_tuple<(64,32)>
  // CHECK: fly.tiled_mma.partition_shape
  %2 = fly.tiled_mma.partition_shape(%m, %s) {operand_id = #fly<mma_operand b>} : (!tiled_mma, !fly.int_tuple<(64,32)>) -> !fly.int_tuple<(4,2,2)>
  // CHECK: fly.mma.make_fragment( a, %{{.*}}, %{{.*}}) :
  %fa = fly.mma.make_fragment(a, %m, %a) : (!tiled_mma, !fly.memref<f16, global, (64,32):(32,1)>) -> !fly.memref<f16, register, (4,2,2):(1,8,4)>
  // CHECK: fly.mma.make_fragment( b, %{{.*}}, %{{.*}}, stages = 2) :
  %fb = fly.mma.make_fragment(b, %m, %a, stages = 2) : (!tiled_mma, !fly.memref<f16, global, (64,32):(32,1)>) -> !fly.memref<f16, register, (4,2,2,2):(1,8,4,16)>
  %fc = fly.mma.make_fragment(c, %m, %c) : (!tiled_mma, !fly.memref<f32, global, (64,64):(64,1)>) -> !fly.memref<f32, register, ((4,1),2,2):((1,0),8,4)>
  // CHECK: fly.gemm(%{{.*}}, %[[C:.*]], %{{.*}}, %{{.*}}, %[[C]]) {traversalOrder = #fly<gemm_traversal_order kmn>}
  fly.gemm(%m, %fc, %fa, %fa, %fc) {traversalOrder = #fly<gemm_traversal_order kmn>} : (!tiled_mma, !fly.memref<f32, register, ((4,1),2,2):((1,0),8,4)>, !fly.memref<f16, register, (4,2,2):(1,8,4)>, !fly.memref<f16, register, (4,2,2):(1,8,4)>, !fly.memref<f32, register, ((4,1),2,2):((1,0),8,4)>) -> ()
  return
}

// CHECK-LABEL: @retile
func.func @retile(%c: !tiled, %f: !fly.memref<f32, register, (8,1,1):(1,0,0)>) {
  // Eight values are two instructions of four.
  // CHECK: fly.tiled_copy.retile
  %0 = fly.tiled_copy.retile(%c, %f) : (!tiled, !fly.memref<f32, register, (8,1,1):(1,0,0)>) -> !fly.memref<f32, register, ((4,2),1,1):((1,4),0,0)>
  return
}

// CHECK-LABEL: @state
func.func @state(%a: !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 32>, %i: i32) {
  // CHECK: fly.atom.set_value(%{{.*}}, "soffset", %{{.*}}) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 32>, i32) -> !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 32>
  %0 = fly.atom.set_value(%a, "soffset", %i) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 32>, i32) -> !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 32>
  return
}

!stateful = !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<32>, 32>
!statefulTiled = !fly.tiled_copy<!stateful, !fly.layout<(4,1):(1,1)>, !fly.tile<[4]>>
!mfma = !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>
!tiledMfma = !fly.tiled_mma<!mfma, !fly.layout<(1,1,1):(0,1,2)>>
// CHECK-LABEL: @atoms_of_tiled
func.func @atoms_of_tiled(%c: !statefulTiled, %m: !tiledMfma) -> (!stateful, !mfma) {
  // CHECK: fly.get_copy_atom(%{{.*}}) : (!fly.tiled_copy<!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<32>, 32>, !fly.layout<(4,1):(1,1)>, !fly.tile<[4]>>) -> !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<32>, 32>
  %0 = fly.get_copy_atom(%c) : (!statefulTiled) -> !stateful
  // CHECK: fly.get_mma_atom
  %1 = fly.get_mma_atom(%m) : (!tiledMfma) -> !mfma
  return %0, %1 : !stateful, !mfma
}
