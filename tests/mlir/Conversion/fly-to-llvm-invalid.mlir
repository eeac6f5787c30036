// What is another target's does not slip through the neutral conversion.
// RUN: fly-opt %s --convert-fly-to-llvm --split-input-file --verify-diagnostics

func.func @mma_of_amd(%a: vector<4xf16>, %c: vector<4xf32>) -> vector<4xf32> {
  // expected-error@+2 {{the instruction '!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>' is one of another target's; universal atoms work on every target}}
  // expected-error@+1 {{failed to legalize}}
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>
  %d = fly.mma_atom_call_ssa(%atom, %a, %a, %c) : (!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>, vector<4xf16>, vector<4xf16>, vector<4xf32>) -> vector<4xf32>
  return %d : vector<4xf32>
}

// -----

func.func @copy_of_amd() {
  // expected-error@+2 {{is one of another target's; universal atoms work on every target}}
  // expected-error@+1 {{failed to legalize}}
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<32>, 32>
  return
}

// -----

func.func @static_atom_of_amd() {
  // expected-error@+2 {{the instruction '!fly_rocdl.cdna4.lds_read_trans<trans = 16b, 64>' is one of another target's; universal atoms work on every target}}
  // expected-error@+1 {{failed to legalize}}
  %atom = fly.static : !fly.copy_atom<!fly_rocdl.cdna4.lds_read_trans<trans = 16b, 64>, 16>
  return
}

// -----

func.func @buffer_of_amd(%p: !llvm.ptr, %stride: i16, %size: i64, %flags: i32) {
  // expected-error@+2 {{can't make a pointer of type '!fly.ptr<f32, #fly_rocdl.buffer_desc>'}}
  // expected-error@+1 {{failed to legalize}}
  %b = fly.make_ptr(%p, %stride, %size, %flags) : (!llvm.ptr, i16, i64, i32) -> !fly.ptr<f32, #fly_rocdl.buffer_desc>
  return
}

// -----

// expected-error@+1 {{failed to legalize operation 'func.func'}}
func.func @buffer_as_argument(%p: !fly.ptr<f32, #fly_rocdl.buffer_desc>) {
  return
}
