// RUN: fly-opt %s --convert-fly-to-rocdl | FileCheck %s

// Every matrix instruction that the dialect knows has its operation.

// CHECK-LABEL: @mma_0(
// CHECK: rocdl.mfma.f32.32x32x2f32 
func.func @mma_0(%a: f32, %b: f32, %c: vector<16xf32>) -> vector<16xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x2, (f32, f32) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x2, (f32, f32) -> f32>>, f32, f32, vector<16xf32>) -> vector<16xf32>
  return %d : vector<16xf32>
}

// CHECK-LABEL: @mma_1(
// CHECK: rocdl.mfma.f32.16x16x4f32 
func.func @mma_1(%a: f32, %b: f32, %c: vector<4xf32>) -> vector<4xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x4, (f32, f32) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x4, (f32, f32) -> f32>>, f32, f32, vector<4xf32>) -> vector<4xf32>
  return %d : vector<4xf32>
}

// CHECK-LABEL: @mma_2(
// CHECK: rocdl.mfma.f32.32x32x8f16 
func.func @mma_2(%a: vector<4xf16>, %b: vector<4xf16>, %c: vector<16xf32>) -> vector<16xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x8, (f16, f16) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x8, (f16, f16) -> f32>>, vector<4xf16>, vector<4xf16>, vector<16xf32>) -> vector<16xf32>
  return %d : vector<16xf32>
}

// CHECK-LABEL: @mma_3(
// CHECK: rocdl.mfma.f32.16x16x16f16 
func.func @mma_3(%a: vector<4xf16>, %b: vector<4xf16>, %c: vector<4xf32>) -> vector<4xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>, vector<4xf16>, vector<4xf16>, vector<4xf32>) -> vector<4xf32>
  return %d : vector<4xf32>
}

// CHECK-LABEL: @mma_4(
// CHECK: rocdl.mfma.f32.32x32x16.f16 
func.func @mma_4(%a: vector<8xf16>, %b: vector<8xf16>, %c: vector<16xf32>) -> vector<16xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (f16, f16) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (f16, f16) -> f32>>, vector<8xf16>, vector<8xf16>, vector<16xf32>) -> vector<16xf32>
  return %d : vector<16xf32>
}

// CHECK-LABEL: @mma_5(
// CHECK: rocdl.mfma.f32.16x16x32.f16 
func.func @mma_5(%a: vector<8xf16>, %b: vector<8xf16>, %c: vector<4xf32>) -> vector<4xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (f16, f16) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (f16, f16) -> f32>>, vector<8xf16>, vector<8xf16>, vector<4xf32>) -> vector<4xf32>
  return %d : vector<4xf32>
}

// CHECK-LABEL: @mma_6(
// CHECK: rocdl.mfma.f32.32x32x8bf16.1k 
func.func @mma_6(%a: vector<4xbf16>, %b: vector<4xbf16>, %c: vector<16xf32>) -> vector<16xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x8, (bf16, bf16) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x8, (bf16, bf16) -> f32>>, vector<4xbf16>, vector<4xbf16>, vector<16xf32>) -> vector<16xf32>
  return %d : vector<16xf32>
}

// CHECK-LABEL: @mma_7(
// CHECK: rocdl.mfma.f32.16x16x16bf16.1k 
func.func @mma_7(%a: vector<4xbf16>, %b: vector<4xbf16>, %c: vector<4xf32>) -> vector<4xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (bf16, bf16) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (bf16, bf16) -> f32>>, vector<4xbf16>, vector<4xbf16>, vector<4xf32>) -> vector<4xf32>
  return %d : vector<4xf32>
}

// CHECK-LABEL: @mma_8(
// CHECK: rocdl.mfma.f32.32x32x16.bf16 
func.func @mma_8(%a: vector<8xbf16>, %b: vector<8xbf16>, %c: vector<16xf32>) -> vector<16xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (bf16, bf16) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (bf16, bf16) -> f32>>, vector<8xbf16>, vector<8xbf16>, vector<16xf32>) -> vector<16xf32>
  return %d : vector<16xf32>
}

// CHECK-LABEL: @mma_9(
// CHECK: rocdl.mfma.f32.16x16x32.bf16 
func.func @mma_9(%a: vector<8xbf16>, %b: vector<8xbf16>, %c: vector<4xf32>) -> vector<4xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (bf16, bf16) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (bf16, bf16) -> f32>>, vector<8xbf16>, vector<8xbf16>, vector<4xf32>) -> vector<4xf32>
  return %d : vector<4xf32>
}

// CHECK-LABEL: @mma_10(
// CHECK: rocdl.mfma.i32.32x32x8i8 
func.func @mma_10(%a: vector<4xi8>, %b: vector<4xi8>, %c: vector<16xi32>) -> vector<16xi32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x8, (i8, i8) -> i32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x8, (i8, i8) -> i32>>, vector<4xi8>, vector<4xi8>, vector<16xi32>) -> vector<16xi32>
  return %d : vector<16xi32>
}

// CHECK-LABEL: @mma_11(
// CHECK: rocdl.mfma.i32.16x16x16i8 
func.func @mma_11(%a: vector<4xi8>, %b: vector<4xi8>, %c: vector<4xi32>) -> vector<4xi32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (i8, i8) -> i32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (i8, i8) -> i32>>, vector<4xi8>, vector<4xi8>, vector<4xi32>) -> vector<4xi32>
  return %d : vector<4xi32>
}

// CHECK-LABEL: @mma_12(
// CHECK: rocdl.mfma.i32.32x32x16.i8 
func.func @mma_12(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<16xi32>) -> vector<16xi32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (i8, i8) -> i32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (i8, i8) -> i32>>, vector<8xi8>, vector<8xi8>, vector<16xi32>) -> vector<16xi32>
  return %d : vector<16xi32>
}

// CHECK-LABEL: @mma_13(
// CHECK: rocdl.mfma.i32.16x16x32.i8 
func.func @mma_13(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<4xi32>) -> vector<4xi32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (i8, i8) -> i32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (i8, i8) -> i32>>, vector<8xi8>, vector<8xi8>, vector<4xi32>) -> vector<4xi32>
  return %d : vector<4xi32>
}

// CHECK-LABEL: @mma_14(
// CHECK: rocdl.mfma.i32.32x32x32.i8 
func.func @mma_14(%a: vector<16xi8>, %b: vector<16xi8>, %c: vector<16xi32>) -> vector<16xi32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x32, (i8, i8) -> i32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x32, (i8, i8) -> i32>>, vector<16xi8>, vector<16xi8>, vector<16xi32>) -> vector<16xi32>
  return %d : vector<16xi32>
}

// CHECK-LABEL: @mma_15(
// CHECK: rocdl.mfma.i32.16x16x64.i8 
func.func @mma_15(%a: vector<16xi8>, %b: vector<16xi8>, %c: vector<4xi32>) -> vector<4xi32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x64, (i8, i8) -> i32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x64, (i8, i8) -> i32>>, vector<16xi8>, vector<16xi8>, vector<4xi32>) -> vector<4xi32>
  return %d : vector<4xi32>
}

// CHECK-LABEL: @mma_16(
// CHECK: rocdl.mfma.f32.32x32x16.fp8.fp8 
func.func @mma_16(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<16xf32>) -> vector<16xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (f8E4M3FNUZ, f8E4M3FNUZ) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (f8E4M3FNUZ, f8E4M3FNUZ) -> f32>>, vector<8xi8>, vector<8xi8>, vector<16xf32>) -> vector<16xf32>
  return %d : vector<16xf32>
}

// CHECK-LABEL: @mma_17(
// CHECK: rocdl.mfma.f32.16x16x32.fp8.fp8 
func.func @mma_17(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<4xf32>) -> vector<4xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (f8E4M3FNUZ, f8E4M3FNUZ) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (f8E4M3FNUZ, f8E4M3FNUZ) -> f32>>, vector<8xi8>, vector<8xi8>, vector<4xf32>) -> vector<4xf32>
  return %d : vector<4xf32>
}

// CHECK-LABEL: @mma_18(
// CHECK: rocdl.mfma.f32.32x32x16.fp8.bf8 
func.func @mma_18(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<16xf32>) -> vector<16xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (f8E4M3FNUZ, f8E5M2FNUZ) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (f8E4M3FNUZ, f8E5M2FNUZ) -> f32>>, vector<8xi8>, vector<8xi8>, vector<16xf32>) -> vector<16xf32>
  return %d : vector<16xf32>
}

// CHECK-LABEL: @mma_19(
// CHECK: rocdl.mfma.f32.16x16x32.fp8.bf8 
func.func @mma_19(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<4xf32>) -> vector<4xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (f8E4M3FNUZ, f8E5M2FNUZ) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (f8E4M3FNUZ, f8E5M2FNUZ) -> f32>>, vector<8xi8>, vector<8xi8>, vector<4xf32>) -> vector<4xf32>
  return %d : vector<4xf32>
}

// CHECK-LABEL: @mma_20(
// CHECK: rocdl.mfma.f32.32x32x16.bf8.fp8 
func.func @mma_20(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<16xf32>) -> vector<16xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (f8E5M2FNUZ, f8E4M3FNUZ) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (f8E5M2FNUZ, f8E4M3FNUZ) -> f32>>, vector<8xi8>, vector<8xi8>, vector<16xf32>) -> vector<16xf32>
  return %d : vector<16xf32>
}

// CHECK-LABEL: @mma_21(
// CHECK: rocdl.mfma.f32.16x16x32.bf8.fp8 
func.func @mma_21(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<4xf32>) -> vector<4xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (f8E5M2FNUZ, f8E4M3FNUZ) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (f8E5M2FNUZ, f8E4M3FNUZ) -> f32>>, vector<8xi8>, vector<8xi8>, vector<4xf32>) -> vector<4xf32>
  return %d : vector<4xf32>
}

// CHECK-LABEL: @mma_22(
// CHECK: rocdl.mfma.f32.32x32x16.bf8.bf8 
func.func @mma_22(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<16xf32>) -> vector<16xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (f8E5M2FNUZ, f8E5M2FNUZ) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (f8E5M2FNUZ, f8E5M2FNUZ) -> f32>>, vector<8xi8>, vector<8xi8>, vector<16xf32>) -> vector<16xf32>
  return %d : vector<16xf32>
}

// CHECK-LABEL: @mma_23(
// CHECK: rocdl.mfma.f32.16x16x32.bf8.bf8 
func.func @mma_23(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<4xf32>) -> vector<4xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (f8E5M2FNUZ, f8E5M2FNUZ) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (f8E5M2FNUZ, f8E5M2FNUZ) -> f32>>, vector<8xi8>, vector<8xi8>, vector<4xf32>) -> vector<4xf32>
  return %d : vector<4xf32>
}

// CHECK-LABEL: @mma_24(
// CHECK: rocdl.mfma.f32.32x32x16.fp8.fp8 
func.func @mma_24(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<16xf32>) -> vector<16xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (f8E4M3FN, f8E4M3FN) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (f8E4M3FN, f8E4M3FN) -> f32>>, vector<8xi8>, vector<8xi8>, vector<16xf32>) -> vector<16xf32>
  return %d : vector<16xf32>
}

// CHECK-LABEL: @mma_25(
// CHECK: rocdl.mfma.f32.16x16x32.fp8.fp8 
func.func @mma_25(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<4xf32>) -> vector<4xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (f8E4M3FN, f8E4M3FN) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (f8E4M3FN, f8E4M3FN) -> f32>>, vector<8xi8>, vector<8xi8>, vector<4xf32>) -> vector<4xf32>
  return %d : vector<4xf32>
}

// CHECK-LABEL: @mma_26(
// CHECK: rocdl.mfma.f32.32x32x16.fp8.bf8 
func.func @mma_26(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<16xf32>) -> vector<16xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (f8E4M3FN, f8E5M2) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (f8E4M3FN, f8E5M2) -> f32>>, vector<8xi8>, vector<8xi8>, vector<16xf32>) -> vector<16xf32>
  return %d : vector<16xf32>
}

// CHECK-LABEL: @mma_27(
// CHECK: rocdl.mfma.f32.16x16x32.fp8.bf8 
func.func @mma_27(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<4xf32>) -> vector<4xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (f8E4M3FN, f8E5M2) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (f8E4M3FN, f8E5M2) -> f32>>, vector<8xi8>, vector<8xi8>, vector<4xf32>) -> vector<4xf32>
  return %d : vector<4xf32>
}

// CHECK-LABEL: @mma_28(
// CHECK: rocdl.mfma.f32.32x32x16.bf8.fp8 
func.func @mma_28(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<16xf32>) -> vector<16xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (f8E5M2, f8E4M3FN) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (f8E5M2, f8E4M3FN) -> f32>>, vector<8xi8>, vector<8xi8>, vector<16xf32>) -> vector<16xf32>
  return %d : vector<16xf32>
}

// CHECK-LABEL: @mma_29(
// CHECK: rocdl.mfma.f32.16x16x32.bf8.fp8 
func.func @mma_29(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<4xf32>) -> vector<4xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (f8E5M2, f8E4M3FN) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (f8E5M2, f8E4M3FN) -> f32>>, vector<8xi8>, vector<8xi8>, vector<4xf32>) -> vector<4xf32>
  return %d : vector<4xf32>
}

// CHECK-LABEL: @mma_30(
// CHECK: rocdl.mfma.f32.32x32x16.bf8.bf8 
func.func @mma_30(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<16xf32>) -> vector<16xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (f8E5M2, f8E5M2) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<32x32x16, (f8E5M2, f8E5M2) -> f32>>, vector<8xi8>, vector<8xi8>, vector<16xf32>) -> vector<16xf32>
  return %d : vector<16xf32>
}

// CHECK-LABEL: @mma_31(
// CHECK: rocdl.mfma.f32.16x16x32.bf8.bf8 
func.func @mma_31(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<4xf32>) -> vector<4xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (f8E5M2, f8E5M2) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x32, (f8E5M2, f8E5M2) -> f32>>, vector<8xi8>, vector<8xi8>, vector<4xf32>) -> vector<4xf32>
  return %d : vector<4xf32>
}

// CHECK-LABEL: @mma_32(
// CHECK: rocdl.mfma.scale.f32.16x16x128.f8f6f4 
func.func @mma_32(%a: vector<32xi8>, %b: vector<32xi4>, %c: vector<4xf32>) -> vector<4xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna4.mfma_scale<16x16x128, (f8E4M3FN, f4E2M1FN) -> f32, opselA = 0, opselB = 0>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna4.mfma_scale<16x16x128, (f8E4M3FN, f4E2M1FN) -> f32, opselA = 0, opselB = 0>>, vector<32xi8>, vector<32xi4>, vector<4xf32>) -> vector<4xf32>
  return %d : vector<4xf32>
}

// CHECK-LABEL: @mma_33(
// CHECK: rocdl.mfma.scale.f32.32x32x64.f8f6f4 
func.func @mma_33(%a: vector<32xi6>, %b: vector<32xi6>, %c: vector<16xf32>) -> vector<16xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna4.mfma_scale<32x32x64, (f6E2M3FN, f6E3M2FN) -> f32, opselA = 0, opselB = 0>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna4.mfma_scale<32x32x64, (f6E2M3FN, f6E3M2FN) -> f32, opselA = 0, opselB = 0>>, vector<32xi6>, vector<32xi6>, vector<16xf32>) -> vector<16xf32>
  return %d : vector<16xf32>
}

// CHECK-LABEL: @mma_34(
// CHECK: rocdl.wmma.f32.16x16x16.f16 
func.func @mma_34(%a: vector<16xf16>, %b: vector<16xf16>, %c: vector<8xf32>) -> vector<8xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx11.wmma<16x16x16, (f16, f16) -> f32, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx11.wmma<16x16x16, (f16, f16) -> f32, signA = false, signB = false, clamp = false>>, vector<16xf16>, vector<16xf16>, vector<8xf32>) -> vector<8xf32>
  return %d : vector<8xf32>
}

// CHECK-LABEL: @mma_35(
// CHECK: rocdl.wmma.f32.16x16x16.bf16 
func.func @mma_35(%a: vector<16xbf16>, %b: vector<16xbf16>, %c: vector<8xf32>) -> vector<8xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx11.wmma<16x16x16, (bf16, bf16) -> f32, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx11.wmma<16x16x16, (bf16, bf16) -> f32, signA = false, signB = false, clamp = false>>, vector<16xbf16>, vector<16xbf16>, vector<8xf32>) -> vector<8xf32>
  return %d : vector<8xf32>
}

// CHECK-LABEL: @mma_36(
// CHECK: rocdl.wmma.i32.16x16x16.iu8 
func.func @mma_36(%a: vector<16xi8>, %b: vector<16xi8>, %c: vector<8xi32>) -> vector<8xi32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx11.wmma<16x16x16, (i8, i8) -> i32, signA = true, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx11.wmma<16x16x16, (i8, i8) -> i32, signA = true, signB = false, clamp = false>>, vector<16xi8>, vector<16xi8>, vector<8xi32>) -> vector<8xi32>
  return %d : vector<8xi32>
}

// CHECK-LABEL: @mma_37(
// CHECK: rocdl.wmma.i32.16x16x16.iu4 
func.func @mma_37(%a: vector<16xi4>, %b: vector<16xi4>, %c: vector<8xi32>) -> vector<8xi32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx11.wmma<16x16x16, (i4, i4) -> i32, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx11.wmma<16x16x16, (i4, i4) -> i32, signA = false, signB = false, clamp = false>>, vector<16xi4>, vector<16xi4>, vector<8xi32>) -> vector<8xi32>
  return %d : vector<8xi32>
}

// CHECK-LABEL: @mma_38(
// CHECK: rocdl.wmma.f32.16x16x16.f16 
func.func @mma_38(%a: vector<8xf16>, %b: vector<8xf16>, %c: vector<8xf32>) -> vector<8xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx120x.wmma<16x16x16, (f16, f16) -> f32, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx120x.wmma<16x16x16, (f16, f16) -> f32, signA = false, signB = false, clamp = false>>, vector<8xf16>, vector<8xf16>, vector<8xf32>) -> vector<8xf32>
  return %d : vector<8xf32>
}

// CHECK-LABEL: @mma_39(
// CHECK: rocdl.wmma.f32.16x16x16.bf16 
func.func @mma_39(%a: vector<8xbf16>, %b: vector<8xbf16>, %c: vector<8xf32>) -> vector<8xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx120x.wmma<16x16x16, (bf16, bf16) -> f32, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx120x.wmma<16x16x16, (bf16, bf16) -> f32, signA = false, signB = false, clamp = false>>, vector<8xbf16>, vector<8xbf16>, vector<8xf32>) -> vector<8xf32>
  return %d : vector<8xf32>
}

// CHECK-LABEL: @mma_40(
// CHECK: rocdl.wmma.f32.16x16x4.f32 
func.func @mma_40(%a: vector<2xf32>, %b: vector<2xf32>, %c: vector<8xf32>) -> vector<8xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x4, (f32, f32) -> f32, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x4, (f32, f32) -> f32, signA = false, signB = false, clamp = false>>, vector<2xf32>, vector<2xf32>, vector<8xf32>) -> vector<8xf32>
  return %d : vector<8xf32>
}

// CHECK-LABEL: @mma_41(
// CHECK: rocdl.wmma.f32.16x16x32.f16 
func.func @mma_41(%a: vector<16xf16>, %b: vector<16xf16>, %c: vector<8xf32>) -> vector<8xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x32, (f16, f16) -> f32, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x32, (f16, f16) -> f32, signA = false, signB = false, clamp = false>>, vector<16xf16>, vector<16xf16>, vector<8xf32>) -> vector<8xf32>
  return %d : vector<8xf32>
}

// CHECK-LABEL: @mma_42(
// CHECK: rocdl.wmma.f16.16x16x32.f16 
func.func @mma_42(%a: vector<16xf16>, %b: vector<16xf16>, %c: vector<8xf16>) -> vector<8xf16> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x32, (f16, f16) -> f16, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x32, (f16, f16) -> f16, signA = false, signB = false, clamp = false>>, vector<16xf16>, vector<16xf16>, vector<8xf16>) -> vector<8xf16>
  return %d : vector<8xf16>
}

// CHECK-LABEL: @mma_43(
// CHECK: rocdl.wmma.f32.16x16x32.bf16 
func.func @mma_43(%a: vector<16xbf16>, %b: vector<16xbf16>, %c: vector<8xf32>) -> vector<8xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x32, (bf16, bf16) -> f32, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x32, (bf16, bf16) -> f32, signA = false, signB = false, clamp = false>>, vector<16xbf16>, vector<16xbf16>, vector<8xf32>) -> vector<8xf32>
  return %d : vector<8xf32>
}

// CHECK-LABEL: @mma_44(
// CHECK: rocdl.wmma.bf16.16x16x32.bf16 
func.func @mma_44(%a: vector<16xbf16>, %b: vector<16xbf16>, %c: vector<8xbf16>) -> vector<8xbf16> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x32, (bf16, bf16) -> bf16, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x32, (bf16, bf16) -> bf16, signA = false, signB = false, clamp = false>>, vector<16xbf16>, vector<16xbf16>, vector<8xbf16>) -> vector<8xbf16>
  return %d : vector<8xbf16>
}

// CHECK-LABEL: @mma_45(
// CHECK: rocdl.wmma.i32.16x16x32.iu4 
func.func @mma_45(%a: vector<16xi4>, %b: vector<16xi4>, %c: vector<8xi32>) -> vector<8xi32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x32, (i4, i4) -> i32, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x32, (i4, i4) -> i32, signA = false, signB = false, clamp = false>>, vector<16xi4>, vector<16xi4>, vector<8xi32>) -> vector<8xi32>
  return %d : vector<8xi32>
}

// CHECK-LABEL: @mma_46(
// CHECK: rocdl.wmma.i32.16x16x64.iu8 
func.func @mma_46(%a: vector<32xi8>, %b: vector<32xi8>, %c: vector<8xi32>) -> vector<8xi32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x64, (i8, i8) -> i32, signA = true, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x64, (i8, i8) -> i32, signA = true, signB = false, clamp = false>>, vector<32xi8>, vector<32xi8>, vector<8xi32>) -> vector<8xi32>
  return %d : vector<8xi32>
}

// CHECK-LABEL: @mma_47(
// CHECK: rocdl.wmma.f32.16x16x64.fp8_fp8 
func.func @mma_47(%a: vector<32xi8>, %b: vector<32xi8>, %c: vector<8xf32>) -> vector<8xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x64, (f8E4M3FN, f8E4M3FN) -> f32, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x64, (f8E4M3FN, f8E4M3FN) -> f32, signA = false, signB = false, clamp = false>>, vector<32xi8>, vector<32xi8>, vector<8xf32>) -> vector<8xf32>
  return %d : vector<8xf32>
}

// CHECK-LABEL: @mma_48(
// CHECK: rocdl.wmma.f32.16x16x64.fp8_bf8 
func.func @mma_48(%a: vector<32xi8>, %b: vector<32xi8>, %c: vector<8xf32>) -> vector<8xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x64, (f8E4M3FN, f8E5M2) -> f32, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x64, (f8E4M3FN, f8E5M2) -> f32, signA = false, signB = false, clamp = false>>, vector<32xi8>, vector<32xi8>, vector<8xf32>) -> vector<8xf32>
  return %d : vector<8xf32>
}

// CHECK-LABEL: @mma_49(
// CHECK: rocdl.wmma.f32.16x16x64.bf8_fp8 
func.func @mma_49(%a: vector<32xi8>, %b: vector<32xi8>, %c: vector<8xf32>) -> vector<8xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x64, (f8E5M2, f8E4M3FN) -> f32, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x64, (f8E5M2, f8E4M3FN) -> f32, signA = false, signB = false, clamp = false>>, vector<32xi8>, vector<32xi8>, vector<8xf32>) -> vector<8xf32>
  return %d : vector<8xf32>
}

// CHECK-LABEL: @mma_50(
// CHECK: rocdl.wmma.f32.16x16x64.bf8_bf8 
func.func @mma_50(%a: vector<32xi8>, %b: vector<32xi8>, %c: vector<8xf32>) -> vector<8xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x64, (f8E5M2, f8E5M2) -> f32, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x64, (f8E5M2, f8E5M2) -> f32, signA = false, signB = false, clamp = false>>, vector<32xi8>, vector<32xi8>, vector<8xf32>) -> vector<8xf32>
  return %d : vector<8xf32>
}

// CHECK-LABEL: @mma_51(
// CHECK: rocdl.wmma.f16.16x16x64.fp8_fp8 
func.func @mma_51(%a: vector<32xi8>, %b: vector<32xi8>, %c: vector<8xf16>) -> vector<8xf16> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x64, (f8E4M3FN, f8E4M3FN) -> f16, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x64, (f8E4M3FN, f8E4M3FN) -> f16, signA = false, signB = false, clamp = false>>, vector<32xi8>, vector<32xi8>, vector<8xf16>) -> vector<8xf16>
  return %d : vector<8xf16>
}

// CHECK-LABEL: @mma_52(
// CHECK: rocdl.wmma.f16.16x16x64.fp8_bf8 
func.func @mma_52(%a: vector<32xi8>, %b: vector<32xi8>, %c: vector<8xf16>) -> vector<8xf16> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x64, (f8E4M3FN, f8E5M2) -> f16, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x64, (f8E4M3FN, f8E5M2) -> f16, signA = false, signB = false, clamp = false>>, vector<32xi8>, vector<32xi8>, vector<8xf16>) -> vector<8xf16>
  return %d : vector<8xf16>
}

// CHECK-LABEL: @mma_53(
// CHECK: rocdl.wmma.f16.16x16x64.bf8_fp8 
func.func @mma_53(%a: vector<32xi8>, %b: vector<32xi8>, %c: vector<8xf16>) -> vector<8xf16> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x64, (f8E5M2, f8E4M3FN) -> f16, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x64, (f8E5M2, f8E4M3FN) -> f16, signA = false, signB = false, clamp = false>>, vector<32xi8>, vector<32xi8>, vector<8xf16>) -> vector<8xf16>
  return %d : vector<8xf16>
}

// CHECK-LABEL: @mma_54(
// CHECK: rocdl.wmma.f16.16x16x64.bf8_bf8 
func.func @mma_54(%a: vector<32xi8>, %b: vector<32xi8>, %c: vector<8xf16>) -> vector<8xf16> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x64, (f8E5M2, f8E5M2) -> f16, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x64, (f8E5M2, f8E5M2) -> f16, signA = false, signB = false, clamp = false>>, vector<32xi8>, vector<32xi8>, vector<8xf16>) -> vector<8xf16>
  return %d : vector<8xf16>
}

// CHECK-LABEL: @mma_55(
// CHECK: rocdl.wmma.f32.16x16x128.fp8_fp8 
func.func @mma_55(%a: vector<64xi8>, %b: vector<64xi8>, %c: vector<8xf32>) -> vector<8xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x128, (f8E4M3FN, f8E4M3FN) -> f32, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x128, (f8E4M3FN, f8E4M3FN) -> f32, signA = false, signB = false, clamp = false>>, vector<64xi8>, vector<64xi8>, vector<8xf32>) -> vector<8xf32>
  return %d : vector<8xf32>
}

// CHECK-LABEL: @mma_56(
// CHECK: rocdl.wmma.f32.16x16x128.fp8_bf8 
func.func @mma_56(%a: vector<64xi8>, %b: vector<64xi8>, %c: vector<8xf32>) -> vector<8xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x128, (f8E4M3FN, f8E5M2) -> f32, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x128, (f8E4M3FN, f8E5M2) -> f32, signA = false, signB = false, clamp = false>>, vector<64xi8>, vector<64xi8>, vector<8xf32>) -> vector<8xf32>
  return %d : vector<8xf32>
}

// CHECK-LABEL: @mma_57(
// CHECK: rocdl.wmma.f32.16x16x128.bf8_fp8 
func.func @mma_57(%a: vector<64xi8>, %b: vector<64xi8>, %c: vector<8xf32>) -> vector<8xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x128, (f8E5M2, f8E4M3FN) -> f32, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x128, (f8E5M2, f8E4M3FN) -> f32, signA = false, signB = false, clamp = false>>, vector<64xi8>, vector<64xi8>, vector<8xf32>) -> vector<8xf32>
  return %d : vector<8xf32>
}

// CHECK-LABEL: @mma_58(
// CHECK: rocdl.wmma.f32.16x16x128.bf8_bf8 
func.func @mma_58(%a: vector<64xi8>, %b: vector<64xi8>, %c: vector<8xf32>) -> vector<8xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x128, (f8E5M2, f8E5M2) -> f32, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x128, (f8E5M2, f8E5M2) -> f32, signA = false, signB = false, clamp = false>>, vector<64xi8>, vector<64xi8>, vector<8xf32>) -> vector<8xf32>
  return %d : vector<8xf32>
}

// CHECK-LABEL: @mma_59(
// CHECK: rocdl.wmma.f16.16x16x128.fp8_fp8 
func.func @mma_59(%a: vector<64xi8>, %b: vector<64xi8>, %c: vector<8xf16>) -> vector<8xf16> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x128, (f8E4M3FN, f8E4M3FN) -> f16, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x128, (f8E4M3FN, f8E4M3FN) -> f16, signA = false, signB = false, clamp = false>>, vector<64xi8>, vector<64xi8>, vector<8xf16>) -> vector<8xf16>
  return %d : vector<8xf16>
}

// CHECK-LABEL: @mma_60(
// CHECK: rocdl.wmma.f16.16x16x128.fp8_bf8 
func.func @mma_60(%a: vector<64xi8>, %b: vector<64xi8>, %c: vector<8xf16>) -> vector<8xf16> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x128, (f8E4M3FN, f8E5M2) -> f16, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x128, (f8E4M3FN, f8E5M2) -> f16, signA = false, signB = false, clamp = false>>, vector<64xi8>, vector<64xi8>, vector<8xf16>) -> vector<8xf16>
  return %d : vector<8xf16>
}

// CHECK-LABEL: @mma_61(
// CHECK: rocdl.wmma.f16.16x16x128.bf8_fp8 
func.func @mma_61(%a: vector<64xi8>, %b: vector<64xi8>, %c: vector<8xf16>) -> vector<8xf16> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x128, (f8E5M2, f8E4M3FN) -> f16, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x128, (f8E5M2, f8E4M3FN) -> f16, signA = false, signB = false, clamp = false>>, vector<64xi8>, vector<64xi8>, vector<8xf16>) -> vector<8xf16>
  return %d : vector<8xf16>
}

// CHECK-LABEL: @mma_62(
// CHECK: rocdl.wmma.f16.16x16x128.bf8_bf8 
func.func @mma_62(%a: vector<64xi8>, %b: vector<64xi8>, %c: vector<8xf16>) -> vector<8xf16> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x128, (f8E5M2, f8E5M2) -> f16, signA = false, signB = false, clamp = false>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma<16x16x128, (f8E5M2, f8E5M2) -> f16, signA = false, signB = false, clamp = false>>, vector<64xi8>, vector<64xi8>, vector<8xf16>) -> vector<8xf16>
  return %d : vector<8xf16>
}

// CHECK-LABEL: @mma_63(
// CHECK: rocdl.wmma.scale.f32.16x16x128.f8f6f4 
func.func @mma_63(%a: vector<64xi8>, %b: vector<64xi8>, %c: vector<8xf32>) -> vector<8xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma_scale<16x16x128, (f8E4M3FN, f8E5M2) -> f32, opselA = 0, opselB = 1, modC = 0, reuseA = false, reuseB = false, blockSize = 32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma_scale<16x16x128, (f8E4M3FN, f8E5M2) -> f32, opselA = 0, opselB = 1, modC = 0, reuseA = false, reuseB = false, blockSize = 32>>, vector<64xi8>, vector<64xi8>, vector<8xf32>) -> vector<8xf32>
  return %d : vector<8xf32>
}

// CHECK-LABEL: @mma_64(
// CHECK: rocdl.wmma.scale16.f32.16x16x128.f8f6f4 
func.func @mma_64(%a: vector<64xi6>, %b: vector<64xi4>, %c: vector<8xf32>) -> vector<8xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma_scale<16x16x128, (f6E2M3FN, f4E2M1FN) -> f32, opselA = 0, opselB = 1, modC = 0, reuseA = false, reuseB = false, blockSize = 16>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma_scale<16x16x128, (f6E2M3FN, f4E2M1FN) -> f32, opselA = 0, opselB = 1, modC = 0, reuseA = false, reuseB = false, blockSize = 16>>, vector<64xi6>, vector<64xi4>, vector<8xf32>) -> vector<8xf32>
  return %d : vector<8xf32>
}

// CHECK-LABEL: @mma_65(
// CHECK: rocdl.wmma.scale.f32.32x16x128.f4 
func.func @mma_65(%a: vector<128xi4>, %b: vector<64xi4>, %c: vector<16xf32>) -> vector<16xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.gfx1250.wmma_scale<32x16x128, (f4E2M1FN, f4E2M1FN) -> f32, opselA = 0, opselB = 1, modC = 0, reuseA = false, reuseB = false, blockSize = 32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.gfx1250.wmma_scale<32x16x128, (f4E2M1FN, f4E2M1FN) -> f32, opselA = 0, opselB = 1, modC = 0, reuseA = false, reuseB = false, blockSize = 32>>, vector<128xi4>, vector<64xi4>, vector<16xf32>) -> vector<16xf32>
  return %d : vector<16xf32>
}

// Blocks that share A: CBSZ is the logarithm of their number.

// CHECK-LABEL: @blocks_16(
// CHECK-DAG: %[[ZERO:.*]] = {{.*}}constant{{.*}}0 : i32
// CHECK-DAG: %[[CBSZ:.*]] = {{.*}}constant{{.*}}4 : i32
// CHECK: rocdl.mfma.f32.4x4x4f16 %{{.*}}, %{{.*}}, %{{.*}}, %[[CBSZ]], %[[ZERO]], %[[ZERO]]
func.func @blocks_16(%a: vector<4xf16>, %b: vector<4xf16>, %c: vector<4xf32>) -> vector<4xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<4x64x4, (f16, f16) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<4x64x4, (f16, f16) -> f32>>, vector<4xf16>, vector<4xf16>, vector<4xf32>) -> vector<4xf32>
  return %d : vector<4xf32>
}

// CHECK-LABEL: @blocks_2(
// CHECK-DAG: %[[ZERO:.*]] = {{.*}}constant{{.*}}0 : i32
// CHECK-DAG: %[[CBSZ:.*]] = {{.*}}constant{{.*}}1 : i32
// CHECK: rocdl.mfma.f32.32x32x1f32 %{{.*}}, %{{.*}}, %{{.*}}, %[[CBSZ]], %[[ZERO]], %[[ZERO]]
func.func @blocks_2(%a: f32, %b: f32, %c: vector<32xf32>) -> vector<32xf32> {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<32x64x1, (f32, f32) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<32x64x1, (f32, f32) -> f32>>, f32, f32, vector<32xf32>) -> vector<32xf32>
  return %d : vector<32xf32>
}
