// RUN: fly-opt %s | fly-opt | FileCheck %s
// RUN: fly-opt %s -mlir-print-op-generic | fly-opt | FileCheck %s
// RUN: fly-opt %s -emit-bytecode | fly-opt | FileCheck %s

// CHECK-LABEL: @int_tuples
func.func private @int_tuples(
  // CHECK-SAME: !fly.int_tuple<8>, !fly.int_tuple<(8)>, !fly.int_tuple<(4,(2,8))>
  !fly.int_tuple<8>, !fly.int_tuple<(8)>, !fly.int_tuple<( 4, ( 2, 8 ) )>,
  // CHECK-SAME: !fly.int_tuple<-3>, !fly.int_tuple<9223372036854775807>
  !fly.int_tuple<-3>, !fly.int_tuple<9223372036854775807>,
  // CHECK-SAME: !fly.int_tuple<(?,?{i64},?{div=16},?{i64 div=8})>
  !fly.int_tuple<(?, ?{i64}, ?{div=16}, ?{i64 div=8})>,
  // CHECK-SAME: !fly.int_tuple<(?,?)>
  !fly.int_tuple<(?{i32}, ?{div=1})>,
  // CHECK-SAME: !fly.int_tuple<(*,(*,3))>
  !fly.int_tuple<(*, (*, 3))>,
  // CHECK-SAME: !fly.int_tuple<(1E0,2E1,?{div=4}E0E1)>
  !fly.int_tuple<(1E0, 2E1, ?{div=4}E0E1)>)

// CHECK-LABEL: @layouts
func.func private @layouts(
  // CHECK-SAME: !fly.layout<4:1>, !fly.layout<(8,16):(1,8)>, !fly.layout<((2,?),4):((1,?{i64}),2)>
  !fly.layout<4 : 1>, !fly.layout<(8, 16) : (1, 8)>, !fly.layout<((2,?),4):((1,?{i64}),2)>,
  // CHECK-SAME: !fly.layout<(?,?):(1E0,1E1)>
  !fly.layout<(?,?):(1E0,1E1)>,
  // CHECK-SAME: !fly.composed_layout<S<3,4,3> o 0 o (8,64):(64,1)>
  !fly.composed_layout<S<3, 4, 3> o 0 o (8,64):(64,1)>,
  // CHECK-SAME: !fly.composed_layout<CS<3,0,[0],2,[1]> o (0,?) o (8,8):(1E0,1E1)>
  !fly.composed_layout<CS<3,0,[0],2,[1]> o (0,?) o (8,8):(1E0,1E1)>,
  // CHECK-SAME: !fly.composed_layout<(4,4):(4,1) o 2 o 8:1>
  !fly.composed_layout<(4,4):(4,1) o 2 o 8:1>,
  // CHECK-SAME: !fly.composed_layout<S<1,2,3> o 0 o [S<2,0,3> o 4 o 8:2]>
  !fly.composed_layout<S<1,2,3> o 0 o [S<2,0,3> o 4 o 8:2]>)

// CHECK-LABEL: @others
func.func private @others(
  // CHECK-SAME: !fly.swizzle<S<3,3,3>>, !fly.coord_swizzle<CS<2,1,[0],0,[1, 0]>>
  !fly.swizzle<S<3,3,3>>, !fly.coord_swizzle<CS<2,1,[0],0,[1,0]>>,
  // CHECK-SAME: !fly.tile<[8|64]>, !fly.tile<[*|(4,2):(1,8)|[2|4]]>, !fly.tile<16>
  !fly.tile<[8|64]>, !fly.tile<[ * | (4,2):(1,8) | [2 | 4] ]>, !fly.tile<16>,
  // CHECK-SAME: !fly.basis<2E1E0>
  !fly.basis<2E1E0>)

// CHECK-LABEL: @memory
func.func private @memory(
  // CHECK-SAME: !fly.ptr<f32, global>, !fly.ptr<f32, global>, !fly.ptr<f16, shared, align<16>>
  !fly.ptr<f32, global>, !fly.ptr<f32, global, align<4>>, !fly.ptr<f16, shared, align<16>>,
  // CHECK-SAME: !fly.ptr<i8, register, S<3,3,3>>, !fly.ptr<bf16, generic, align<4>, S<1,2,3>>
  !fly.ptr<i8, register, S<3,3,3>>, !fly.ptr<bf16, generic, align<4>, S<1,2,3>>,
  // CHECK-SAME: !fly.ptr<f32, global, align<2>>
  !fly.ptr<f32, global, align<2>>,
  // CHECK-SAME: !fly.ptr<f32, #fly_rocdl.buffer_desc, align<16>>
  !fly.ptr<f32, #fly_rocdl.buffer_desc, align<16>>,
  // CHECK-SAME: !fly.memref<f32, global, (?,?):(?{i64},1)>
  !fly.memref<f32, global, (?,?):(?{i64},1)>,
  // CHECK-SAME: !fly.memref<f16, shared, S<3,3,3> o 0 o (8,64):(64,1), align<16>, S<2,2,2>>
  !fly.memref<f16, shared, S<3,3,3> o 0 o (8,64):(64,1), align<16>, S<2,2,2>>,
  // CHECK-SAME: !fly.coord_tensor<(0,?{div=8}), (8,64):(1E0,1E1)>
  !fly.coord_tensor<(0,?{div=8}), (8,64):(1E0,1E1)>)

// CHECK-LABEL: @atoms
func.func private @atoms(
  // CHECK-SAME: !fly.copy_atom<!fly.universal_copy<128>, 32>
  !fly.copy_atom<!fly.universal_copy<128>, 32>,
  // CHECK-SAME: !fly.universal_copy<64, nontemporal = true>
  !fly.universal_copy<64, nontemporal = true>,
  // CHECK-SAME: !fly.copy_atom<!fly.universal_atomic< add, f32>, 32>
  !fly.copy_atom<!fly.universal_atomic<add, f32>, 32>,
  // CHECK-SAME: !fly.mma_atom<!fly.universal_fma<1x1x1, (f32, f32) -> f32>>
  !fly.mma_atom<!fly.universal_fma<1x1x1, (f32, f32) -> f32>>,
  // CHECK-SAME: !fly.tiled_copy<!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.layout<((16,8),4):((32,1),8)>, !fly.tile<[8|64]>>
  !fly.tiled_copy<!fly.copy_atom<!fly.universal_copy<128>, 32>, <((16,8),4):((32,1),8)>, <[8|64]>>,
  // CHECK-SAME: !fly.tiled_mma<!fly.mma_atom<!fly.universal_fma<1x1x1, (f32, f32) -> f32>>, !fly.layout<(4,4,1):(1,4,0)>>
  !fly.tiled_mma<!fly.mma_atom<!fly.universal_fma<1x1x1, (f32, f32) -> f32>>, !fly.layout<(4,4,1):(1,4,0)>, !fly.tile<[*|*|*]>>,
  // CHECK-SAME: !fly.tiled_mma<!fly.mma_atom<!fly.universal_fma<1x1x1, (f32, f32) -> f32>>, !fly.layout<(4,4,1):(1,4,0)>, !fly.tile<[8|*|*]>>
  !fly.tiled_mma<!fly.mma_atom<!fly.universal_fma<1x1x1, (f32, f32) -> f32>>, !fly.layout<(4,4,1):(1,4,0)>, !fly.tile<[8|*|*]>>)
