// RUN: fly-opt %s --fly-layout-lowering --split-input-file --verify-diagnostics

func.func @not_unpacked(%layout: !fly.layout<(?,4):(1,?)>) -> i32 {
  // expected-error@+1 {{'fly.size' op operand of type '!fly.layout<(?,4):(1,?)>' is not made by a constructor; run fly-rewrite-func-signature first}}
  %size = fly.size(%layout) : (!fly.layout<(?,4):(1,?)>) -> !fly.int_tuple<?{div=4}>
  %n = fly.get_scalar(%size) : (!fly.int_tuple<?{div=4}>) -> i32
  return %n : i32
}

// -----

func.func @atom_does_not_fit(%src: !fly.memref<f32, global, 6:1>, %dst: !fly.memref<f32, register, 6:1>) {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<128>, 32>
  // expected-error@+1 {{an atom that copies 4 elements does not fit into 6:1 a whole number of times}}
  fly.copy(%atom, %src, %dst) : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, global, 6:1>, !fly.memref<f32, register, 6:1>) -> ()
  return
}

// -----

func.func @neither_one_element_nor_all(%src: !fly.memref<f32, global, 1:0>, %dst: !fly.memref<f32, register, 8:1>) {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<128>, 32>
  // expected-error@+1 {{source 1:0 and destination 8:1 have different sizes}}
  fly.copy(%atom, %src, %dst) : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, global, 1:0>, !fly.memref<f32, register, 8:1>) -> ()
  return
}

// -----

func.func @different_sizes(%src: !fly.memref<f32, global, (4,2):(1,4)>, %dst: !fly.memref<f32, register, (4,3):(1,4)>) {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<128>, 32>
  // expected-error@+1 {{source (4,2):(1,4) and destination (4,3):(1,4) have different sizes past the first mode}}
  fly.copy(%atom, %src, %dst) : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, global, (4,2):(1,4)>, !fly.memref<f32, register, (4,3):(1,4)>) -> ()
  return
}

// -----

func.func @predicate_does_not_fit(%src: !fly.memref<f32, global, (4,2,2):(1,4,8)>, %dst: !fly.memref<f32, register, (4,2,2):(1,4,8)>, %pred: !fly.memref<i1, register, 4:1>) {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<128>, 32>
  // expected-error@+1 {{the predicate 4:1 has neither as many modes as the source (4,2,2):(1,4,8) nor as those past the first; it has one value a call, so its shape is (1,2,2); the first mode may be left out}}
  fly.copy(%atom, %src, %dst, %pred) : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, global, (4,2,2):(1,4,8)>, !fly.memref<f32, register, (4,2,2):(1,4,8)>, !fly.memref<i1, register, 4:1>) -> ()
  return
}

// -----

func.func @gemm_shapes(%d: !fly.memref<f32, register, (1,2,2):(0,1,2)>, %a: !fly.memref<f32, register, (1,3,2):(0,1,3)>, %b: !fly.memref<f32, register, (1,2,2):(0,1,2)>) {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly.universal_fma<1x1x1, (f32, f32) -> f32>>
  // expected-error@+1 {{operands do not agree in (M, N, K)}}
  fly.gemm(%atom, %d, %a, %b, %d) : (!fly.mma_atom<!fly.universal_fma<1x1x1, (f32, f32) -> f32>>, !fly.memref<f32, register, (1,2,2):(0,1,2)>, !fly.memref<f32, register, (1,3,2):(0,1,3)>, !fly.memref<f32, register, (1,2,2):(0,1,2)>, !fly.memref<f32, register, (1,2,2):(0,1,2)>) -> ()
  return
}

// -----

func.func @coordinates_are_no_addresses(%p: !fly.ptr<f32, global>, %v: f32) {
  %s = fly.make_int_tuple() : () -> !fly.int_tuple<(4,8)>
  %d = fly.make_int_tuple() : () -> !fly.int_tuple<(1E0,1E1)>
  %l = fly.make_layout(%s, %d) : (!fly.int_tuple<(4,8)>, !fly.int_tuple<(1E0,1E1)>) -> !fly.layout<(4,8):(1E0,1E1)>
  %m = fly.make_view(%p, %l) : (!fly.ptr<f32, global>, !fly.layout<(4,8):(1E0,1E1)>) -> !fly.memref<f32, global, (4,8):(1E0,1E1)>
  %i = fly.make_int_tuple() : () -> !fly.int_tuple<(1,2)>
  // expected-error@+1 {{a pointer moves by one number, not by (1,2)}}
  fly.memref.store(%v, %m, %i) : (f32, !fly.memref<f32, global, (4,8):(1E0,1E1)>, !fly.int_tuple<(1,2)>) -> ()
  return
}

// -----

// Nothing is taken apart into more pieces than a program can hold.
func.func @copy_too_large(%src: !fly.memref<f32, global, 1048576:1>, %dst: !fly.memref<f32, shared, 1048576:1>) {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<32>, 32>
  // expected-error@+1 {{a copy becomes at most 16384 atom calls; copy 1048576:1 in a loop over tiles}}
  fly.copy(%atom, %src, %dst) : (!fly.copy_atom<!fly.universal_copy<32>, 32>, !fly.memref<f32, global, 1048576:1>, !fly.memref<f32, shared, 1048576:1>) -> ()
  return
}

// -----

func.func @gemm_too_large(%d: !fly.memref<f32, register, (1,65536,65536):(1,1,65536)>, %a: !fly.memref<f32, register, (1,65536,2):(1,1,65536)>) {
  %atom = fly.make_mma_atom : !fly.mma_atom<!fly.universal_fma<1x1x1, (f32, f32) -> f32>>
  // expected-error@+1 {{a gemm becomes at most 16384 atom calls, not (65536,65536,2)}}
  fly.gemm(%atom, %d, %a, %a, %d) : (!fly.mma_atom<!fly.universal_fma<1x1x1, (f32, f32) -> f32>>, !fly.memref<f32, register, (1,65536,65536):(1,1,65536)>, !fly.memref<f32, register, (1,65536,2):(1,1,65536)>, !fly.memref<f32, register, (1,65536,2):(1,1,65536)>, !fly.memref<f32, register, (1,65536,65536):(1,1,65536)>) -> ()
  return
}

// -----

func.func @vector_too_large(%m: !fly.memref<f32, global, 2147483648:2>) {
  // expected-error@+1 {{a vector of 2147483648 elements of 2147483648:2 is more than registers hold, which is 65536}}
  %v = fly.memref.load_vec(%m) : (!fly.memref<f32, global, 2147483648:2>) -> vector<2147483648xf32>
  return
}

// -----

func.func @vector_in_too_many_pieces(%v: vector<65536xf32>, %m: !fly.memref<f32, global, 65536:2>) {
  // expected-error@+1 {{a vector in 65536 pieces of 65536:2 is more than the 16384 accesses that one load or store becomes}}
  fly.memref.store_vec(%v, %m) : (vector<65536xf32>, !fly.memref<f32, global, 65536:2>) -> ()
  return
}

// -----

func.func @too_many_coordinates() -> vector<65536xi32> {
  %b = fly.make_int_tuple() : () -> !fly.int_tuple<0>
  %l = fly.static : !fly.layout<65536:2>
  %m = fly.make_view(%b, %l) : (!fly.int_tuple<0>, !fly.layout<65536:2>) -> !fly.coord_tensor<0, 65536:2>
  // expected-error@+1 {{gives at most 16384 coordinates, not 65536}}
  %v = fly.memref.load_vec(%m) : (!fly.coord_tensor<0, 65536:2>) -> vector<65536xi32>
  return %v : vector<65536xi32>
}

// -----

func.func @registers_too_large() -> !fly.memref<f32, register, 1048576:1> {
  %l = fly.static : !fly.layout<1048576:1>
  // expected-error@+1 {{register memory of 1048576 elements is more than the 65536 that a fragment has at most}}
  %m = fly.memref.alloca(%l) : (!fly.layout<1048576:1>) -> !fly.memref<f32, register, 1048576:1>
  return %m : !fly.memref<f32, register, 1048576:1>
}

// -----

func.func @predicate_of_elements(%src: !fly.memref<f32, global, 8:1>, %dst: !fly.memref<f32, register, 8:1>, %pred: !fly.memref<i1, register, 8:1>) {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<128>, 32>
  // expected-error@+1 {{the predicate 8:1 has 8 values for 2 calls of an atom that copies 4 elements at once; it has one value a call, so its shape is 2}}
  fly.copy(%atom, %src, %dst, %pred) : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, global, 8:1>, !fly.memref<f32, register, 8:1>, !fly.memref<i1, register, 8:1>) -> ()
  return
}
