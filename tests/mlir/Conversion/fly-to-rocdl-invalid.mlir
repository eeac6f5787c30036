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
