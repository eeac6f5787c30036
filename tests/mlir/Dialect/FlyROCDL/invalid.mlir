// RUN: fly-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{there is no MFMA 16x16x8 of 'f16' and 'f16' that sums in 'f32'}}
func.func private @shape(!fly_rocdl.cdna3.mfma<16x16x8, (f16, f16) -> f32>)

// -----

// expected-error @below {{there is no MFMA 16x32x16}}
func.func private @oblong(!fly_rocdl.cdna3.mfma<16x32x16, (f16, f16) -> f32>)

// -----

// The instruction of f64 with four blocks can't share a block of A.
// expected-error @below {{there is no MFMA 4x16x4 of 'f64' and 'f64'}}
func.func private @blocks(!fly_rocdl.cdna3.mfma<4x16x4, (f64, f64) -> f64>)

// -----

// expected-error @below {{there is no MFMA 16x16x16 of 'f16' and 'bf16'}}
func.func private @mixed(!fly_rocdl.cdna3.mfma<16x16x16, (f16, bf16) -> f32>)

// -----

// expected-error @below {{there is no MFMA 16x16x16 of 'f16' and 'f16' that sums in 'f16'}}
func.func private @sum(!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f16>)

// -----

// expected-error @below {{there is no scaled MFMA 16x16x64}}
func.func private @scaled(!fly_rocdl.cdna4.mfma_scale<16x16x64, (f4E2M1FN, f4E2M1FN) -> f32, opselA = 0, opselB = 0>)

// -----

// expected-error @below {{opsel picks one of the bytes 0 to 3, not 4 and 0}}
func.func private @opsel(!fly_rocdl.cdna4.mfma_scale<16x16x128, (f4E2M1FN, f4E2M1FN) -> f32, opselA = 4, opselB = 0>)

// -----

// expected-error @below {{GFX11 WMMA requires M=N=K=16, got 16x16x32}}
func.func private @gfx11(!fly_rocdl.gfx11.wmma<16x16x32, (f16, f16) -> f32, signA = false, signB = false, clamp = false>)

// -----

// expected-error @below {{GFX120X WMMA fp16/bf16 path does not accept signA/signB/clamp: they are for integers, not for 'f16'}}
func.func private @sign(!fly_rocdl.gfx120x.wmma<16x16x16, (f16, f16) -> f32, signA = true, signB = false, clamp = false>)

// -----

// expected-error @below {{unsupported GFX1250 WMMA configuration: 16x16x16 with A='f16', B='f16', sum='f32' (expected f32, f32 -> f32: 16x16x4}}
func.func private @gfx1250(!fly_rocdl.gfx1250.wmma<16x16x16, (f16, f16) -> f32, signA = false, signB = false, clamp = false>)

// -----

// expected-error @below {{GFX1250 WMMA_Scale 32x16x128 requires f4E2M1FN A and B, got 'f8E4M3FN' and 'f8E4M3FN'}}
func.func private @tall(!fly_rocdl.gfx1250.wmma_scale<32x16x128, (f8E4M3FN, f8E4M3FN) -> f32, opselA = 0, opselB = 1, modC = 0, reuseA = true, reuseB = false, blockSize = 16>)

// -----

// expected-error @below {{blockSize must be 16 or 32, got 8}}
func.func private @block(!fly_rocdl.gfx1250.wmma_scale<16x16x128, (f8E4M3FN, f8E4M3FN) -> f32, opselA = 0, opselB = 1, modC = 0, reuseA = true, reuseB = false, blockSize = 8>)

// -----

// expected-error @below {{unsupported MNK for GFX1250 WMMA_Scale: 16x32x128 (expected 16x16x128 or 32x16x128)}}
func.func private @wide(!fly_rocdl.gfx1250.wmma_scale<16x32x128, (f8E4M3FN, f8E4M3FN) -> f32, opselA = 0, opselB = 1, modC = 0, reuseA = true, reuseB = false, blockSize = 16>)

// -----

// expected-error @below {{signA/signB/clamp are only valid for integer (iu4/iu8) WMMA, not for 'f32'}}
func.func private @clamp(!fly_rocdl.gfx1250.wmma<16x16x4, (f32, f32) -> f32, signA = false, signB = false, clamp = true>)

// -----

// expected-error @below {{unsupported GFX120X WMMA configuration: 16x16x16 with A='f8E5M2', B='f8E5M2', sum='f16' (expected f16, f16 -> f32: 16x16x16}}
func.func private @f8(!fly_rocdl.gfx120x.wmma<16x16x16, (f8E5M2, f8E5M2) -> f16, signA = false, signB = false, clamp = false>)

// -----

// expected-error @below {{a buffer copy moves 8, 16, 32, 64, 96 or 128 bits, not 48}}
func.func private @buffer(!fly_rocdl.cdna3.buffer_copy<48>)

// -----

// expected-error @below {{a buffer copy to LDS moves 32 bits, or 128 on gfx950, not 64}}
func.func private @lds(!fly_rocdl.cdna3.buffer_copy_lds<64>)

// -----

// expected-error @below {{an asynchronous copy to LDS moves 32, 96 or 128 bits, not 64}}
func.func private @async(!fly_rocdl.cdna4.global_load_async_lds<64>)

// -----

// expected-error @below {{64 bits by 4, 8 or 16, or 96 bits by 6, not 64 by 6}}
func.func private @transpose(!fly_rocdl.cdna4.lds_read_trans<trans = 6b, 64>)

// -----

// expected-error @below {{the data mover moves tensors of rank 1 to 5, not 6}}
func.func private @rank(!fly_rocdl.gfx1250.tdm<rank = 6, warps = 1, pad = 0, 0, cache = 0, barrier = false, timeout = false>)

// -----

// expected-error @below {{numWarps must be a positive power of two, got 3}}
func.func private @waves(!fly_rocdl.gfx1250.tdm<rank = 2, warps = 3, pad = 0, 0, cache = 0, barrier = false, timeout = false>)

// -----

// expected-error @below {{padInterval must be a power of two (in elements), got 48}}
func.func private @interval(!fly_rocdl.gfx1250.tdm<rank = 2, warps = 1, pad = 48, 8, cache = 0, barrier = false, timeout = false>)

// -----

// expected-error @below {{padInterval and padAmount must both be zero or both non-zero, got 8 and 0}}
func.func private @padding(!fly_rocdl.gfx1250.tdm<rank = 2, warps = 1, pad = 8, 0, cache = 0, barrier = false, timeout = false>)

// -----

func.func @resource(%p: !fly.ptr<f32, global>) {
  // expected-error @below {{expected a pointer in #fly_rocdl.buffer_desc, found '!fly.ptr<f32, global>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly_rocdl.get_buffer_rsrc(%p) : (!fly.ptr<f32, global>) -> !llvm.ptr<8>
  return
}

// -----

!tall = !fly.mma_atom<!fly_rocdl.gfx1250.wmma_scale<32x16x128, (f4E2M1FN, f4E2M1FN) -> f32, opselA = 0, opselB = 1, modC = 0, reuseA = true, reuseB = false, blockSize = 16>>
func.func @tall_layout(%m: !fly.tiled_mma<!tall, !fly.layout<(1,1,1):(0,0,0)>>, %a: !fly.coord_tensor<(0,0), (32,128):(1E0,1E1)>) {
  %i = fly.static : !fly.int_tuple<0>
  // expected-error @below {{the thread-value layout of the 32x16x128 scaled WMMA is not known}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.tiled_mma.partition(a, %m, %a, %i) : (!fly.tiled_mma<!tall, !fly.layout<(1,1,1):(0,0,0)>>, !fly.coord_tensor<(0,0), (32,128):(1E0,1E1)>, !fly.int_tuple<0>) -> !fly.coord_tensor<(0,0), 1:0>
  return
}
