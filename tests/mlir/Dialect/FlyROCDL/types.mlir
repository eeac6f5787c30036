// RUN: fly-opt %s | fly-opt | FileCheck %s
// RUN: fly-opt %s -mlir-print-op-generic | fly-opt | FileCheck %s
// RUN: fly-opt %s -emit-bytecode | fly-opt | FileCheck %s

// CHECK-LABEL: @copies
func.func private @copies(
  // CHECK-SAME: !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 32>
  !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 32>,
  // CHECK-SAME: !fly_rocdl.cdna3.buffer_copy<64, cache = 2>
  !fly_rocdl.cdna3.buffer_copy<64, cache = 2>,
  // CHECK-SAME: !fly_rocdl.cdna3.buffer_copy_lds<32>, !fly_rocdl.cdna3.buffer_copy_lds<32, cache = 17>
  !fly_rocdl.cdna3.buffer_copy_lds<32>, !fly_rocdl.cdna3.buffer_copy_lds<32, cache = 17>,
  // CHECK-SAME: !fly_rocdl.cdna3.buffer_atomic< add, f32>
  !fly_rocdl.cdna3.buffer_atomic<add, f32>,
  // CHECK-SAME: !fly_rocdl.cdna4.lds_read_trans<trans = 16b, 64>
  !fly_rocdl.cdna4.lds_read_trans<trans = 16b, 64>,
  // CHECK-SAME: !fly_rocdl.cdna4.buffer_load_async_lds<128>, !fly_rocdl.cdna4.global_load_async_lds<96>
  !fly_rocdl.cdna4.buffer_load_async_lds<128>, !fly_rocdl.cdna4.global_load_async_lds<96>,
  // CHECK-SAME: !fly_rocdl.cdna4.buffer_load_async_lds<128, cache = 2>, !fly_rocdl.cdna4.global_load_async_lds<32, cache = 1>
  !fly_rocdl.cdna4.buffer_load_async_lds<128, cache = 2>, !fly_rocdl.cdna4.global_load_async_lds<32, cache = 1>,
  // CHECK-SAME: !fly.copy_atom<!fly_rocdl.gfx1250.tdm<rank = 2, warps = 4, pad = 64, 8, cache = 0, barrier = false, timeout = true>, 0>
  !fly.copy_atom<!fly_rocdl.gfx1250.tdm<rank = 2, warps = 4, pad = 64, 8, cache = 0, barrier = false, timeout = true>, 0>)

// CHECK-LABEL: @products
func.func private @products(
  // CHECK-SAME: !fly_rocdl.cdna3.mfma<32x32x8, (bf16, bf16) -> f32>
  !fly_rocdl.cdna3.mfma<32x32x8, (bf16, bf16) -> f32>,
  // CHECK-SAME: !fly_rocdl.cdna3.mfma<16x16x32, (f8E4M3FNUZ, f8E5M2FNUZ) -> f32>
  !fly_rocdl.cdna3.mfma<16x16x32, (f8E4M3FNUZ, f8E5M2FNUZ) -> f32>,
  // CHECK-SAME: !fly_rocdl.cdna3.mfma<16x16x64, (i8, i8) -> i32>
  !fly_rocdl.cdna3.mfma<16x16x64, (i8, i8) -> i32>,
  // CHECK-SAME: !fly_rocdl.cdna4.mfma_scale<16x16x128, (f4E2M1FN, f8E4M3FN) -> f32, opselA = 1, opselB = 3>
  !fly_rocdl.cdna4.mfma_scale<16x16x128, (f4E2M1FN, f8E4M3FN) -> f32, opselA = 1, opselB = 3>,
  // CHECK-SAME: !fly_rocdl.gfx11.wmma<16x16x16, (i8, i8) -> i32, signA = true, signB = false, clamp = true>
  !fly_rocdl.gfx11.wmma<16x16x16, (i8, i8) -> i32, signA = true, signB = false, clamp = true>,
  // CHECK-SAME: !fly_rocdl.gfx120x.wmma<16x16x16, (f16, f16) -> f32, signA = false, signB = false, clamp = false>
  !fly_rocdl.gfx120x.wmma<16x16x16, (f16, f16) -> f32, signA = false, signB = false, clamp = false>,
  // CHECK-SAME: !fly_rocdl.gfx1250.wmma<16x16x128, (f8E5M2, f8E4M3FN) -> f16, signA = false, signB = false, clamp = false>
  !fly_rocdl.gfx1250.wmma<16x16x128, (f8E5M2, f8E4M3FN) -> f16, signA = false, signB = false, clamp = false>,
  // CHECK-SAME: !fly_rocdl.gfx1250.wmma_scale<32x16x128, (f4E2M1FN, f4E2M1FN) -> f32, opselA = 0, opselB = 1, modC = 0, reuseA = true, reuseB = false, blockSize = 16>
  !fly_rocdl.gfx1250.wmma_scale<32x16x128, (f4E2M1FN, f4E2M1FN) -> f32, opselA = 0, opselB = 1, modC = 0, reuseA = true, reuseB = false, blockSize = 16>)

// CHECK-LABEL: @resource
func.func @resource(%p: !fly.ptr<f32, #fly_rocdl.buffer_desc>) {
  // CHECK: fly_rocdl.get_buffer_rsrc(%{{.*}}) : (!fly.ptr<f32, #fly_rocdl.buffer_desc>) -> !llvm.ptr<8>
  %0 = fly_rocdl.get_buffer_rsrc(%p) : (!fly.ptr<f32, #fly_rocdl.buffer_desc>) -> !llvm.ptr<8>
  return
}
