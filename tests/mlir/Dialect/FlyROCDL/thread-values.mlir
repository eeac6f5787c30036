// Who holds what, by the coordinates that one lane receives of an identity tensor. The formulas are those of
// AMD's matrix instruction calculator and ISA documents; the lane is 37 of 64 or 21 of 32.
// RUN: fly-opt %s | FileCheck %s

!one = !fly.layout<(1,1,1):(0,0,0)>
!mfma16 = !fly.tiled_mma<!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>, !one>
!mfma32 = !fly.tiled_mma<!fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x8, (f16, f16) -> f32>>, !one>
!gfx11 = !fly.tiled_mma<!fly.mma_atom<!fly_rocdl.gfx11.wmma<16x16x16, (f16, f16) -> f32, signA = false, signB = false, clamp = false>>, !one>
!gfx120x = !fly.tiled_mma<!fly.mma_atom<!fly_rocdl.gfx120x.wmma<16x16x16, (f16, f16) -> f32, signA = false, signB = false, clamp = false>>, !one>
!gfx1250 = !fly.tiled_mma<!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x32, (f16, f16) -> f32, signA = false, signB = false, clamp = false>>, !one>

!t16x16 = !fly.coord_tensor<(0,0), (16,16):(1E0,1E1)>
!t16x32 = !fly.coord_tensor<(0,0), (16,32):(1E0,1E1)>
!t32x8 = !fly.coord_tensor<(0,0), (32,8):(1E0,1E1)>
!t32x32 = !fly.coord_tensor<(0,0), (32,32):(1E0,1E1)>

// CHECK-LABEL: @mfma
func.func @mfma(%m16: !mfma16, %m32: !mfma32, %t16x16: !t16x16, %t32x8: !t32x8, %t32x32: !t32x32) {
  %lane = fly.static : !fly.int_tuple<37>
  // Row 37 % 16, K from 4 * (37 / 16) on.
  // CHECK: -> !fly.coord_tensor<(5,8), (4,1,1):(1E1,0,0)>
  %0 = fly.tiled_mma.partition(a, %m16, %t16x16, %lane) : (!mfma16, !t16x16, !fly.int_tuple<37>) -> !fly.coord_tensor<(5,8), (4,1,1):(1E1,0,0)>
  // Column 37 % 16, four rows from 4 * (37 / 16) on.
  // CHECK: -> !fly.coord_tensor<(8,5), ((4,1),1,1):((1E0,0),0,0)>
  %1 = fly.tiled_mma.partition(c, %m16, %t16x16, %lane) : (!mfma16, !t16x16, !fly.int_tuple<37>) -> !fly.coord_tensor<(8,5), ((4,1),1,1):((1E0,0),0,0)>
  // Row 37 % 32, K from 4 * (37 / 32) on.
  // CHECK: -> !fly.coord_tensor<(5,4), (4,1,1):(1E1,0,0)>
  %2 = fly.tiled_mma.partition(b, %m32, %t32x8, %lane) : (!mfma32, !t32x8, !fly.int_tuple<37>) -> !fly.coord_tensor<(5,4), (4,1,1):(1E1,0,0)>
  // Column 37 % 32, rows 8 * (v / 4) + 4 * (37 / 32) + v % 4.
  // CHECK: -> !fly.coord_tensor<(4,5), ((4,4),1,1):((1E0,8E0),0,0)>
  %3 = fly.tiled_mma.partition(c, %m32, %t32x32, %lane) : (!mfma32, !t32x32, !fly.int_tuple<37>) -> !fly.coord_tensor<(4,5), ((4,4),1,1):((1E0,8E0),0,0)>
  return
}

// CHECK-LABEL: @wmma
func.func @wmma(%m11: !gfx11, %m12: !gfx120x, %m1250: !gfx1250, %t16x16: !t16x16, %t16x32: !t16x32) {
  %lane = fly.static : !fly.int_tuple<21>
  // RDNA3: row 21 % 16 with all of K in both halves; of the result alternate rows.
  // CHECK: -> !fly.coord_tensor<(5,0), (16,1,1):(1E1,0,0)>
  %0 = fly.tiled_mma.partition(a, %m11, %t16x16, %lane) : (!gfx11, !t16x16, !fly.int_tuple<21>) -> !fly.coord_tensor<(5,0), (16,1,1):(1E1,0,0)>
  // CHECK: -> !fly.coord_tensor<(1,5), (8,1,1):(2E0,0,0)>
  %1 = fly.tiled_mma.partition(c, %m11, %t16x16, %lane) : (!gfx11, !t16x16, !fly.int_tuple<21>) -> !fly.coord_tensor<(1,5), (8,1,1):(2E0,0,0)>
  // RDNA4: the upper half holds the upper eight of K and of the rows.
  // CHECK: -> !fly.coord_tensor<(5,8), (8,1,1):(1E1,0,0)>
  %2 = fly.tiled_mma.partition(a, %m12, %t16x16, %lane) : (!gfx120x, !t16x16, !fly.int_tuple<21>) -> !fly.coord_tensor<(5,8), (8,1,1):(1E1,0,0)>
  // CHECK: -> !fly.coord_tensor<(8,5), (8,1,1):(1E0,0,0)>
  %3 = fly.tiled_mma.partition(d, %m12, %t16x16, %lane) : (!gfx120x, !t16x16, !fly.int_tuple<21>) -> !fly.coord_tensor<(8,5), (8,1,1):(1E0,0,0)>
  // gfx1250: runs of eight along K alternate between the halves.
  // CHECK: -> !fly.coord_tensor<(5,8), ((8,2),1,1):((1E1,16E1),0,0)>
  %4 = fly.tiled_mma.partition(b, %m1250, %t16x32, %lane) : (!gfx1250, !t16x32, !fly.int_tuple<21>) -> !fly.coord_tensor<(5,8), ((8,2),1,1):((1E1,16E1),0,0)>
  return
}
