// RUN: fly-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{there is no MFMA 16x16x8 of 'f16' and 'f16' that sums in 'f32'}}
func.func private @shape(!fly_rocdl.cdna3.mfma<16x16x8, (f16, f16) -> f32>)

// -----

// expected-error @below {{there is no MFMA 16x32x16}}
func.func private @oblong(!fly_rocdl.cdna3.mfma<16x32x16, (f16, f16) -> f32>)

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

// expected-error @below {{there is no WMMA 16x16x32 of 'f16' and 'f16' that sums in 'f32' on gfx11}}
func.func private @gfx11(!fly_rocdl.gfx11.wmma<16x16x32, (f16, f16) -> f32, signA = false, signB = false, clamp = false>)

// -----

// expected-error @below {{signA, signB and clamp are for integers, not for 'f16'}}
func.func private @sign(!fly_rocdl.gfx120x.wmma<16x16x16, (f16, f16) -> f32, signA = true, signB = false, clamp = false>)

// -----

// expected-error @below {{there is no WMMA 16x16x16 of 'f16' and 'f16' that sums in 'f32' on gfx1250}}
func.func private @gfx1250(!fly_rocdl.gfx1250.wmma<16x16x16, (f16, f16) -> f32, signA = false, signB = false, clamp = false>)

// -----

// expected-error @below {{there is no scaled WMMA 32x16x128 of 'f8E4M3FN'}}
func.func private @tall(!fly_rocdl.gfx1250.wmma_scale<32x16x128, (f8E4M3FN, f8E4M3FN) -> f32, opselA = 0, opselB = 1, modC = 0, reuseA = true, reuseB = false, blockSize = 16>)

// -----

// expected-error @below {{blocks of 16 or 32 elements share a scale, not of 8}}
func.func private @block(!fly_rocdl.gfx1250.wmma_scale<16x16x128, (f8E4M3FN, f8E4M3FN) -> f32, opselA = 0, opselB = 1, modC = 0, reuseA = true, reuseB = false, blockSize = 8>)

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

// expected-error @below {{a power of two of waves shares a tile, not 3}}
func.func private @waves(!fly_rocdl.gfx1250.tdm<rank = 2, warps = 3, pad = 0, 0, cache = 0, barrier = false, timeout = false>)

// -----

// expected-error @below {{padding needs an interval and an amount}}
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
