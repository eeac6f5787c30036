// RUN: fly-opt %s --convert-fly-to-rocdl --split-input-file --verify-diagnostics

func.func @not_lowered(%m: !fly.memref<f32, global, 4:1>, %i: i32) -> f32 {
  %at = fly.make_int_tuple(%i) : (i32) -> !fly.int_tuple<?>
  // expected-error@+1 {{failed to legalize operation 'fly.memref.load'}}
  %x = fly.memref.load(%m, %at) : (!fly.memref<f32, global, 4:1>, !fly.int_tuple<?>) -> f32
  return %x : f32
}

// -----

gpu.module @m {
  gpu.func @alignment_is_no_power_of_two() kernel {
    // expected-error@+2 {{in shared memory needs allocBytes, and allocAlign that is a power of two}}
    // expected-error@+1 {{failed to legalize}}
    %a = fly.make_ptr() {dictAttrs = {allocBytes = 256 : i64, allocAlign = 24 : i64}} : () -> !fly.ptr<f32, shared>
    gpu.return
  }
}

// -----

func.func @register_size() {
  // expected-error@+2 {{in register memory needs a positive allocSize}}
  // expected-error@+1 {{failed to legalize}}
  %a = fly.make_ptr() {dictAttrs = {allocSize = 0 : i64}} : () -> !fly.ptr<f32, register>
  return
}

// -----

func.func @bits_do_not_fit(%src: !fly.memref<f32, global, 4:1>) -> vector<2xf32> {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<128>, 32>
  // expected-error@+2 {{the atom '!fly.copy_atom<!fly.universal_copy<128>, 32>' can't copy from '!fly.memref<f32, global, 4:1>' to 'vector<2xf32>'}}
  // expected-error@+1 {{failed to legalize}}
  %r = fly.copy_atom_call_ssa(%atom, %src) {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, global, 4:1>) -> vector<2xf32>
  return %r : vector<2xf32>
}

// -----

func.func @wide_access_through_swizzle(%p: !fly.ptr<f32, shared, align<64>, S<2,3,3>>) -> vector<4xf32> {
  // expected-error@+2 {{accesses 16 bytes through a swizzle that keeps only 8 bytes together}}
  // expected-error@+1 {{failed to legalize}}
  %x = fly.ptr.load(%p) : (!fly.ptr<f32, shared, align<64>, S<2,3,3>>) -> vector<4xf32>
  return %x : vector<4xf32>
}

// -----

func.func @fragment_too_short(%m: !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>, %a: !fly.memref<f16, register, 2:1>, %b: !fly.memref<f16, register, 4:1>, %c: !fly.memref<f32, register, 4:1>) {
  // expected-error@+2 {{expected a fragment A of 64 bits for 'vector<4xf16>', found 32 bits in '!fly.memref<f16, register, 2:1>'}}
  // expected-error@+1 {{failed to legalize}}
  fly.mma_atom_call(%m, %c, %a, %b, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>, !fly.memref<f32, register, 4:1>, !fly.memref<f16, register, 2:1>, !fly.memref<f16, register, 4:1>, !fly.memref<f32, register, 4:1>) -> ()
  return
}

// -----

// Far more than a thread's registers: refused at once.
func.func @fragment_too_long(%m: !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>, %a: !fly.memref<f16, register, 4:1>, %c: !fly.memref<f32, register, (65536,65536):(131072,1)>) {
  // expected-error@+2 {{expected a fragment C of 128 bits for 'vector<4xf32>', found 137438953472 bits}}
  // expected-error@+1 {{failed to legalize}}
  fly.mma_atom_call(%m, %c, %a, %a, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>, !fly.memref<f32, register, (65536,65536):(131072,1)>, !fly.memref<f16, register, 4:1>, !fly.memref<f16, register, 4:1>, !fly.memref<f32, register, (65536,65536):(131072,1)>) -> ()
  return
}

// -----

func.func @copy_too_long(%m: !fly.copy_atom<!fly.universal_copy<128>, 32>, %a: !fly.memref<f32, global, (65536,65536):(131072,1)>, %c: !fly.memref<f32, register, (65536,65536):(131072,1)>) {
  // expected-error@+2 {{a fragment of 4294967296 elements is more than registers hold}}
  // expected-error@+1 {{failed to legalize}}
  fly.copy_atom_call(%m, %c, %a) : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, register, (65536,65536):(131072,1)>, !fly.memref<f32, global, (65536,65536):(131072,1)>) -> ()
  return
}

// -----

!mover = !fly.copy_atom<!fly_rocdl.gfx1250.tdm<rank = 2, warps = 8, pad = 0, 0, cache = 0, barrier = false, timeout = false>, 0>
func.func @uneven_waves(%atom: !mover, %g: !fly.memref<f16, global, (12,64):(64,1)>, %l: !fly.memref<f16, shared, (12,64):(64,1)>) {
  // expected-error@+2 {{gfx1250 TDM: 8 waves can't share a tile of this shape in equal parts}}
  // expected-error@+1 {{failed to legalize}}
  fly.copy_atom_call(%atom, %g, %l) : (!mover, !fly.memref<f16, global, (12,64):(64,1)>, !fly.memref<f16, shared, (12,64):(64,1)>) -> ()
  return
}

// -----

!mover = !fly.copy_atom<!fly_rocdl.gfx1250.tdm<rank = 3, warps = 1, pad = 0, 0, cache = 0, barrier = false, timeout = false>, 0>
func.func @other_rank(%atom: !mover, %g: !fly.memref<f16, global, (12,64):(64,1)>, %l: !fly.memref<f16, shared, (12,64):(64,1)>) {
  // expected-error@+2 {{gfx1250 TDM: expected a tile of rank 3 and static shape in global memory, found (12,64):(64,1)}}
  // expected-error@+1 {{failed to legalize}}
  fly.copy_atom_call(%atom, %g, %l) : (!mover, !fly.memref<f16, global, (12,64):(64,1)>, !fly.memref<f16, shared, (12,64):(64,1)>) -> ()
  return
}

// -----

!mover = !fly.copy_atom<!fly_rocdl.gfx1250.tdm<rank = 2, warps = 1, pad = 2, 8, cache = 0, barrier = false, timeout = false>, 0>
func.func @padding_too_fine(%atom: !mover, %g: !fly.memref<f16, global, (12,64):(64,1)>, %l: !fly.memref<f16, shared, (12,64):(64,1)>) {
  // expected-error@+2 {{gfx1250 TDM: padding (interval=2, amount=8 elements at 16-bit) is not encodable}}
  // expected-error@+1 {{failed to legalize}}
  fly.copy_atom_call(%atom, %g, %l) : (!mover, !fly.memref<f16, global, (12,64):(64,1)>, !fly.memref<f16, shared, (12,64):(64,1)>) -> ()
  return
}

// -----

!mover = !fly.copy_atom<!fly_rocdl.gfx1250.tdm<rank = 2, warps = 1, pad = 32, 2, cache = 0, barrier = false, timeout = false>, 0>
func.func @padding_undefined(%atom: !mover, %g: !fly.memref<f16, global, (12,32):(32,1)>, %l: !fly.memref<f16, shared, (12,32):(34,1)>) {
  // expected-error@+2 {{gfx1250 TDM: padding of 1 words of 32 bits after every 16 is not defined}}
  // expected-error@+1 {{failed to legalize}}
  fly.copy_atom_call(%atom, %g, %l) : (!mover, !fly.memref<f16, global, (12,32):(32,1)>, !fly.memref<f16, shared, (12,32):(34,1)>) -> ()
  return
}

// -----

!mover = !fly.copy_atom<!fly_rocdl.gfx1250.tdm<rank = 2, warps = 1, pad = 64, 8, cache = 0, barrier = false, timeout = false>, 0>
func.func @padding_between_rows(%atom: !mover, %g: !fly.memref<f16, global, (12,32):(32,1)>, %l: !fly.memref<f16, shared, ((2,6),32):((32,72),1)>) {
  // expected-error@+2 {{gfx1250 TDM: a store leaves out the gap after each row, of 32 elements in this box, and none after every 64 elements}}
  // expected-error@+1 {{failed to legalize}}
  fly.copy_atom_call(%atom, %l, %g) : (!mover, !fly.memref<f16, shared, ((2,6),32):((32,72),1)>, !fly.memref<f16, global, (12,32):(32,1)>) -> ()
  return
}

// -----

!mover = !fly.copy_atom<!fly_rocdl.gfx1250.tdm<rank = 2, warps = 1, pad = 0, 0, cache = 0, barrier = false, timeout = false>, 0>
func.func @unknown_stride(%g: !fly.memref<f16, global, (12,64):(?,1)>, %l: !fly.memref<f16, shared, (12,64):(64,1)>) {
  %atom = fly.make_copy_atom {valBits = 0 : i32} : !mover
  // expected-error@+2 {{gfx1250 TDM: expected 'stride_0' to be set, as the tile's own stride is known at run time only}}
  // expected-error@+1 {{failed to legalize}}
  fly.copy_atom_call(%atom, %g, %l) : (!mover, !fly.memref<f16, global, (12,64):(?,1)>, !fly.memref<f16, shared, (12,64):(64,1)>) -> ()
  return
}

// -----

func.func @wide_copy_through_swizzle(%p: !fly.memref<f32, shared, 4:1, align<16>, S<2,3,3>>) -> vector<4xf32> {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<128>, 32>
  // expected-error@+2 {{accesses 16 bytes through a swizzle that keeps only 8 bytes together}}
  // expected-error@+1 {{failed to legalize}}
  %r = fly.copy_atom_call_ssa(%atom, %p) {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, shared, 4:1, align<16>, S<2,3,3>>) -> vector<4xf32>
  return %r : vector<4xf32>
}

// -----

// What fills LDS lane after lane sees no swizzle.
func.func @swizzled_destination_of_a_load_into_lds(%g: !fly.memref<f32, global, 1:1>, %s: !fly.memref<f32, shared, 1:1, align<64>, S<2,3,3>>) {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly_rocdl.cdna4.global_load_async_lds<32>, 32>
  // expected-error@+2 {{can't copy from '!fly.memref<f32, global, 1:1>' to '!fly.memref<f32, shared, 1:1, align<64>, S<2,3,3>>'}}
  // expected-error@+1 {{failed to legalize}}
  fly.copy_atom_call(%atom, %g, %s) : (!fly.copy_atom<!fly_rocdl.cdna4.global_load_async_lds<32>, 32>, !fly.memref<f32, global, 1:1>, !fly.memref<f32, shared, 1:1, align<64>, S<2,3,3>>) -> ()
  return
}

// -----

func.func @part_of_a_byte(%p: !fly.ptr<f4E2M1FN, global>) -> f4E2M1FN {
  // expected-error@+2 {{accesses 4 bits through '!fly.ptr<f4E2M1FN, global>', which has no address for parts of a byte}}
  // expected-error@+1 {{failed to legalize}}
  %x = fly.ptr.load(%p) : (!fly.ptr<f4E2M1FN, global>) -> f4E2M1FN
  return %x : f4E2M1FN
}

// -----

func.func @middle_of_a_byte(%p: !fly.ptr<i4, global>) -> !fly.ptr<i4, global> {
  %three = fly.make_int_tuple() : () -> !fly.int_tuple<3>
  // expected-error@+2 {{moves by 3 elements of 4 bits, into the middle of a byte}}
  // expected-error@+1 {{failed to legalize}}
  %q = fly.add_offset(%p, %three) : (!fly.ptr<i4, global>, !fly.int_tuple<3>) -> !fly.ptr<i4, global>
  return %q : !fly.ptr<i4, global>
}
