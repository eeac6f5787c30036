// RUN: fly-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{unbalanced '('}}
func.func private @unclosed(!fly.int_tuple<(8, 4>)

// -----

// expected-error @below {{expected}}
func.func private @empty(!fly.int_tuple<()>)

// -----

// expected-error @below {{64 bits}}
func.func private @too_large(!fly.int_tuple<9223372036854775808>)

// -----

// expected-error @below {{expected}}
func.func private @width(!fly.int_tuple<?{i16}>)

// -----

// expected-error @below {{divisibility}}
func.func private @divisibility(!fly.int_tuple<?{div=0}>)

// -----

// expected-error @below {{shape (4,8) and stride (1,(2,3))}}
func.func private @incongruent(!fly.layout<(4,8):(1,(2,3))>)

// -----

// expected-error @below {{expected}}
func.func private @no_stride(!fly.layout<(4,8)>)

// -----

// expected-error @below {{negative}}
func.func private @negative_shape(!fly.layout<(4,-8):(1,4)>)

// -----

// expected-error @below {{}}
func.func private @plain(!fly.composed_layout<(4,8):(1,4)>)

// -----

// expected-error @below {{}}
func.func private @swizzle_range(!fly.swizzle<S<40,20,10>>)

// -----

// expected-error @below {{expected a basis such as 2E1}}
func.func private @no_basis(!fly.basis<2>)

// -----

// expected-error @below {{expected an address space}}
func.func private @space(!fly.ptr<f32, texture>)

// -----

// expected-error @below {{alignment must be positive, and a multiple or a divisor of the element's size of 4 bytes, but is 6}}
func.func private @alignment(!fly.ptr<f32, global, align<6>>)

// -----

// expected-error @below {{alignment must be positive, and a multiple or a divisor of the element's size of 4 bytes, but is 0}}
func.func private @alignment(!fly.memref<f32, global, 4:1, align<0>>)

// -----

// expected-error @below {{the element of a pointer is an integer or a float}}
func.func private @element(!fly.ptr<vector<4xf32>, global>)

// -----

// expected-error @below {{must be a copy}}
func.func private @copy_atom(!fly.copy_atom<f32, 32>)

// -----

// expected-error @below {{at least 1 bit, not 0}}
func.func private @no_bits(!fly.copy_atom<!fly.universal_copy<32>, 0>)

// -----

// expected-error @below {{must be a multiplication}}
func.func private @mma_atom(!fly.mma_atom<!fly.universal_copy<32>>)

// -----

// expected-error @below {{a universal FMA is 1x1x1, not 2x1x1}}
func.func private @fma_shape(!fly.universal_fma<2x1x1, (f32, f32) -> f32>)

// -----

// expected-error @below {{a universal FMA has one element type}}
func.func private @fma_types(!fly.universal_fma<1x1x1, (f32, f16) -> f32>)

// -----

// expected-error @below {{needs a static (thread, value) layout}}
func.func private @tiled_copy(!fly.tiled_copy<!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.layout<(?,4):(4,1)>, !fly.tile<[8|64]>>)

// -----

// expected-error @below {{needs a static (M, N, K) layout of atoms}}
func.func private @tiled_mma(!fly.tiled_mma<!fly.mma_atom<!fly.universal_fma<1x1x1, (f32, f32) -> f32>>, !fly.layout<(4,4):(1,4)>>)

// -----

// expected-error @below {{the element of a pointer is an integer or a float, not 'i0'}}
func.func private @no_element_bits(!fly.ptr<i0, shared>)

// -----

// expected-error @below {{an atomic works on an integer or a float, not 'i0'}}
func.func private @no_atomic_bits(!fly.copy_atom<!fly.universal_atomic<add, i0>, 32>)

// -----

// expected-error @below {{a universal FMA works on integers or floats, not 'i0'}}
func.func private @no_fma_bits(!fly.universal_fma<1x1x1, (i0, i0) -> i0>)

// -----

// An attribute that is no address space is not taken for a target's.
// expected-error@+1 {{the address space of a pointer is generic, global, shared, register or a target's own (#fly_rocdl.buffer_desc), not 5 : i32}}
func.func private @number_as_address_space(!fly.ptr<f32, 5 : i32>)
