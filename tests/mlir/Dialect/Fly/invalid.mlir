// RUN: fly-opt %s -split-input-file -verify-diagnostics

func.func @wrong_size() {
  %l = fly.static : !fly.layout<(4,8):(8,1)>
  // expected-error @below {{inferred type(s) '!fly.int_tuple<32>' are incompatible with return type(s) of operation '!fly.int_tuple<33>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.size(%l) : (!fly.layout<(4,8):(8,1)>) -> !fly.int_tuple<33>
  return
}

// -----

func.func @dynamic_static() {
  // expected-error @below {{expected a type that determines its value, found '!fly.layout<(4,?):(8,1)>'}}
  %l = fly.static : !fly.layout<(4,?):(8,1)>
  return
}

// -----

func.func @operands(%i: i32) {
  // expected-error @below {{expected 2 operands, one per dynamic leaf of '!fly.int_tuple<(?,?)>', found 1}}
  %0 = fly.make_int_tuple(%i) : (i32) -> !fly.int_tuple<(?,?)>
  return
}

// -----

func.func @incongruent() {
  %s = fly.static : !fly.int_tuple<(4,8)>
  %d = fly.static : !fly.int_tuple<(1,(2,3))>
  // expected-error @below {{shape (4,8) and stride (1,(2,3))}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.make_layout(%s, %d) : (!fly.int_tuple<(4,8)>, !fly.int_tuple<(1,(2,3))>) -> !fly.layout<(4,8):(1,2)>
  return
}

// -----

func.func @no_composition() {
  %a = fly.static : !fly.layout<(4,6):(1,10)>
  %b = fly.static : !fly.layout<6:3>
  // expected-error @below {{composition of (4,6):(1,10) with 6:3 is not a layout}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.composition(%a, %b) : (!fly.layout<(4,6):(1,10)>, !fly.layout<6:3>) -> !fly.layout<6:3>
  return
}

// -----

func.func @no_complement() {
  %a = fly.static : !fly.layout<(4,4):(1,2)>
  // expected-error @below {{complement of (4,4):(1,2): the mode 4:2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.complement(%a) : (!fly.layout<(4,4):(1,2)>) -> !fly.layout<1:0>
  return
}

// -----

func.func @composed_complement(%a: !fly.composed_layout<S<1,0,2> o 0 o 8:1>) {
  // expected-error @below {{expected a plain layout for operand 0, found S<1,0,2> o 0 o 8:1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.complement(%a) : (!fly.composed_layout<S<1,0,2> o 0 o 8:1>) -> !fly.layout<1:0>
  return
}

// -----

func.func @composed_stride(%a: !fly.composed_layout<S<1,0,2> o 0 o 8:1>) {
  // expected-error @below {{a composed layout has no stride: S<1,0,2> o 0 o 8:1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.get_stride(%a) : (!fly.composed_layout<S<1,0,2> o 0 o 8:1>) -> !fly.int_tuple<1>
  return
}

// -----

func.func @overflow() {
  %a = fly.static : !fly.int_tuple<(4611686018427387904,4)>
  // expected-error @below {{does not fit 64 bits}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.int_tuple_product(%a) : (!fly.int_tuple<(4611686018427387904,4)>) -> !fly.int_tuple<0>
  return
}

// -----

func.func @division_by_zero() {
  %a = fly.static : !fly.int_tuple<4>
  %b = fly.static : !fly.int_tuple<0>
  // expected-error @below {{division by zero}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.int_tuple_div(%a, %b) : (!fly.int_tuple<4>, !fly.int_tuple<0>) -> !fly.int_tuple<0>
  return
}

// -----

func.func @no_mode() {
  %a = fly.static : !fly.int_tuple<(4,8)>
  // expected-error @below {{mode 2 of (4,8), which has rank 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.get(%a) {mode = array<i32: 2>} : (!fly.int_tuple<(4,8)>) -> !fly.int_tuple<8>
  return
}

// -----

func.func @negative_mode() {
  %a = fly.static : !fly.int_tuple<(4,8)>
  // expected-error @below {{mode -1 of (4,8), which has rank 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.select(%a) {indices = array<i32: -1>} : (!fly.int_tuple<(4,8)>) -> !fly.int_tuple<8>
  return
}

// -----

func.func @bad_range() {
  %a = fly.static : !fly.int_tuple<(4,8)>
  // expected-error @below {{take of modes [1, 5) of (4,8), which has rank 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.take(%a) {begin = 1 : i32, end = 5 : i32} : (!fly.int_tuple<(4,8)>) -> !fly.int_tuple<8>
  return
}

// -----

func.func @mixed(%l: !fly.layout<4:1>) {
  %a = fly.static : !fly.int_tuple<(4,8)>
  // expected-error @below {{expected a tuple for operand 1, found 4:1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.append(%a, %l) : (!fly.int_tuple<(4,8)>, !fly.layout<4:1>) -> !fly.int_tuple<(4,8,4)>
  return
}

// -----

func.func @tuple_offset(%p: !fly.ptr<f32, global>) {
  %o = fly.static : !fly.int_tuple<(1,2)>
  // expected-error @below {{a pointer moves by one number, not by (1,2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.add_offset(%p, %o) : (!fly.ptr<f32, global>, !fly.int_tuple<(1,2)>) -> !fly.ptr<f32, global>
  return
}

// -----

func.func @alignment(%p: !fly.ptr<f32, global, align<16>>) {
  %o = fly.static : !fly.int_tuple<1>
  // expected-error @below {{inferred type(s) '!fly.ptr<f32, global>' are incompatible with return type(s) of operation '!fly.ptr<f32, global, align<16>>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.add_offset(%p, %o) : (!fly.ptr<f32, global, align<16>>, !fly.int_tuple<1>) -> !fly.ptr<f32, global, align<16>>
  return
}

// -----

func.func @ptrtoint(%p: !fly.ptr<f32, register>) {
  // expected-error @below {{expected a pointer to shared or global memory}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.ptrtoint(%p) : (!fly.ptr<f32, register>) -> i64
  return
}

// -----

func.func @llvm_space(%p: !fly.ptr<f32, global>) {
  // expected-error @below {{expected an address space of at least 0}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.to_llvm_ptr(%p) {llvm_address_space = -1 : i32} : (!fly.ptr<f32, global>) -> !llvm.ptr
  return
}

// -----

func.func @no_scalar() {
  %a = fly.static : !fly.int_tuple<(4,8)>
  // expected-error @below {{expected a tuple of one number, found (4,8)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.get_scalar(%a) : (!fly.int_tuple<(4,8)>) -> i32
  return
}

// -----

func.func @dynamic_fragment(%m: !fly.memref<f32, global, (4,?):(1,4)>) {
  // expected-error @below {{needs a static shape, but this one is like (4,?):(1,4)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.make_fragment_like(%m) : (!fly.memref<f32, global, (4,?):(1,4)>) -> !fly.memref<f32, register, 4:1>
  return
}

// -----

func.func @fragment_type(%l: !fly.layout<4:1>) {
  // expected-error @below {{needs an element type for '!fly.layout<4:1>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.make_fragment_like(%l) : (!fly.layout<4:1>) -> !fly.memref<f32, register, 4:1>
  return
}

// -----

func.func @dynamic_vector(%m: !fly.memref<f32, register, ?:1>) {
  // expected-error @below {{expected a static number of elements, found ?}}
  // expected-error @below {{failed to infer returned types}}
  %0 = fly.memref.load_vec(%m) : (!fly.memref<f32, register, ?:1>) -> vector<4xf32>
  return
}

// -----

func.func @alloca() {
  %l = fly.static : !fly.layout<4:1>
  // expected-error @below {{expected a result with the layout 4:1}}
  %0 = fly.memref.alloca(%l) : (!fly.layout<4:1>) -> !fly.memref<f32, register, 8:1>
  return
}

// -----

func.func @val_bits() {
  // expected-error @below {{expected valBits of 32 as in '!fly.copy_atom<!fly.universal_copy<128>, 32>', found 16}}
  %0 = fly.make_copy_atom {valBits = 16 : i32} : !fly.copy_atom<!fly.universal_copy<128>, 32>
  return
}

// -----

func.func @no_state(%a: !fly.copy_atom<!fly.universal_copy<128>, 32>, %i: i32) {
  // expected-error @below {{has nothing to set: '!fly.universal_copy<128>' has no state}}
  %0 = fly.atom.set_value(%a, "soffset", %i) : (!fly.copy_atom<!fly.universal_copy<128>, 32>, i32) -> !fly.copy_atom<!fly.universal_copy<128>, 32>
  return
}

// -----

func.func @no_field(%a: !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 32>, %i: i32) {
  // expected-error @below {{expected a field of '!fly_rocdl.cdna3.buffer_copy<128>', found 'offset'}}
  %0 = fly.atom.set_value(%a, "offset", %i) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 32>, i32) -> !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 32>
  return
}

// -----

func.func @field_type(%a: !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 32>, %i: i64) {
  // expected-error @below {{expected a value of the size of 'i32' for the field 'soffset', found 'i64'}}
  %0 = fly.atom.set_value(%a, "soffset", %i) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 32>, i64) -> !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 32>
  return
}

// -----

func.func @atom_of_copy(%m: !fly.memref<f32, global, 4:1>, %i: i32) {
  // expected-error @below {{expected a copy atom or a tiled copy, found 'i32'}}
  fly.copy(%i, %m, %m) : (i32, !fly.memref<f32, global, 4:1>, !fly.memref<f32, global, 4:1>) -> ()
  return
}

// -----

func.func @predicate(%m: !fly.memref<f32, global, 4:1>, %a: !fly.copy_atom<!fly.universal_copy<128>, 32>) {
  // expected-error @below {{expected a predicate of truth values}}
  fly.copy(%a, %m, %m, %m) : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, global, 4:1>, !fly.memref<f32, global, 4:1>, !fly.memref<f32, global, 4:1>) -> ()
  return
}

// -----

func.func @ssa_result(%m: !fly.memref<f32, global, 4:1>, %a: !fly.copy_atom<!fly.universal_copy<128>, 32>) {
  // expected-error @below {{expected a result, as the destination is no memory}}
  fly.copy_atom_call_ssa(%a, %m) {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (!fly.copy_atom<!fly.universal_copy<128>, 32>, !fly.memref<f32, global, 4:1>) -> ()
  return
}

// -----

// expected-error @below {{the 32 bits of '!fly.universal_copy<32>' are no whole number of values of 24 bits}}
func.func private @value_bits(!fly.copy_atom<!fly.universal_copy<32>, 24>)

// -----

// expected-note @below {{prior use here}}
func.func @types(%i: i32) {
  // expected-error @below {{expects different type than prior uses}}
  %0 = fly.crd2idx(%i, %i) : (!fly.int_tuple<4>, !fly.layout<4:1>) -> !fly.int_tuple<4>
  return
}

// -----

func.func @operand_type(%i: i32) {
  // expected-error @below {{operand #0 must be}}
  %0 = fly.int_tuple_product(%i) : (i32) -> !fly.int_tuple<4>
  return
}
