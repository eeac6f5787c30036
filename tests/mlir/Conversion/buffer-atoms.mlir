// RUN: fly-opt %s --convert-fly-to-rocdl --split-input-file | FileCheck %s

// A buffer pointer is its resource and an offset in elements; both offsets go to the instruction in bytes.
// CHECK-LABEL: @buffer_load
// CHECK-SAME: (%[[BASE:.*]]: !llvm.ptr<1>, %[[BYTES:.*]]: i64, %[[OFF:.*]]: i32, %[[SOFF:.*]]: i32)
// CHECK: %[[RSRC:.*]] = rocdl.make.buffer.rsrc %[[BASE]], %{{.*}}, %[[BYTES]], %{{.*}} : <1> to <8>
// CHECK: %[[ELEMENTS:.*]] = arith.addi %{{.*}}, %[[OFF]] : i32
// CHECK: %[[ATOM:.*]] = llvm.insertvalue %[[SOFF]], %{{.*}}[0]
// CHECK: %[[S:.*]] = llvm.extractvalue %[[ATOM]][0]
// CHECK: %[[SBYTES:.*]] = arith.muli %[[S]], %{{.*}} : i32
// CHECK: %[[X:.*]] = rocdl.raw.ptr.buffer.load %{{.*}}, %{{.*}}, %[[SBYTES]], %{{.*}} : vector<4xi32>
// CHECK: llvm.bitcast %[[X]] : vector<4xi32> to vector<8xf16>
func.func @buffer_load(%base: !fly.ptr<f16, global>, %bytes: i64, %off: i32, %soff: i32) -> vector<8xf16> {
  %c0 = arith.constant 0 : i16
  %flags = arith.constant 159744 : i32
  %eight = fly.make_int_tuple() : () -> !fly.int_tuple<8>
  %one = fly.make_int_tuple() : () -> !fly.int_tuple<1>
  %layout = fly.make_layout(%eight, %one) : (!fly.int_tuple<8>, !fly.int_tuple<1>) -> !fly.layout<8:1>
  %buffer = fly.make_ptr(%base, %c0, %bytes, %flags) : (!fly.ptr<f16, global>, i16, i64, i32) -> !fly.ptr<f16, #fly_rocdl.buffer_desc>
  %t = fly.make_int_tuple(%off) : (i32) -> !fly.int_tuple<?>
  %at = fly.add_offset(%buffer, %t) : (!fly.ptr<f16, #fly_rocdl.buffer_desc>, !fly.int_tuple<?>) -> !fly.ptr<f16, #fly_rocdl.buffer_desc>
  %src = fly.make_view(%at, %layout) : (!fly.ptr<f16, #fly_rocdl.buffer_desc>, !fly.layout<8:1>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, 8:1>
  %atom = fly.make_copy_atom {valBits = 16 : i32} : !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>
  %set = fly.atom.set_value(%atom, "soffset", %soff) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, i32) -> !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>
  %x = fly.copy_atom_call_ssa(%set, %src) {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, !fly.memref<f16, #fly_rocdl.buffer_desc, 8:1>) -> vector<8xf16>
  return %x : vector<8xf16>
}

// -----

// Stores under a predicate, with the cache policy of the atom.
// CHECK-LABEL: @buffer_store
// CHECK: scf.if
// CHECK: %[[NT:.*]] = arith.constant 2 : i32
// CHECK: rocdl.raw.ptr.buffer.store %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[NT]] : i32
func.func @buffer_store(%x: f32, %dst: !fly.memref<f32, #fly_rocdl.buffer_desc, 1:1>, %c: i1) {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<32, cache = 2>, 32>
  fly.copy_atom_call_ssa(%atom, %x, %dst, %c) {operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<32, cache = 2>, 32>, f32, !fly.memref<f32, #fly_rocdl.buffer_desc, 1:1>, i1) -> ()
  return
}

// -----

// CHECK-LABEL: @buffer_atomic
// CHECK: llvm.call_intrinsic "llvm.amdgcn.raw.ptr.buffer.atomic.smin"
func.func @buffer_atomic(%x: i32, %dst: !fly.memref<i32, #fly_rocdl.buffer_desc, 1:1>) {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly_rocdl.cdna3.buffer_atomic<#fly<atomic_op min>, i32>, 32>
  fly.copy_atom_call_ssa(%atom, %x, %dst) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_atomic<#fly<atomic_op min>, i32>, 32>, i32, !fly.memref<i32, #fly_rocdl.buffer_desc, 1:1>) -> ()
  return
}

// -----

// Past the registers, into LDS.
// CHECK-LABEL: @buffer_to_lds
// CHECK: rocdl.raw.ptr.buffer.load.lds
func.func @buffer_to_lds(%src: !fly.memref<f32, #fly_rocdl.buffer_desc, 1:1>, %dst: !fly.memref<f32, shared, 1:1>) {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy_lds<32>, 32>
  fly.copy_atom_call(%atom, %src, %dst) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy_lds<32>, 32>, !fly.memref<f32, #fly_rocdl.buffer_desc, 1:1>, !fly.memref<f32, shared, 1:1>) -> ()
  return
}

// -----

// CHECK-LABEL: @lds_transpose
// CHECK: %[[X:.*]] = rocdl.ds.read.tr16.b64 %{{.*}} -> vector<4xi16>
// CHECK: llvm.bitcast %[[X]] : vector<4xi16> to vector<4xf16>
func.func @lds_transpose(%src: !fly.memref<f16, shared, 4:1>) -> vector<4xf16> {
  %atom = fly.make_copy_atom {valBits = 16 : i32} : !fly.copy_atom<!fly_rocdl.cdna4.lds_read_trans<trans = 16b, 64>, 16>
  %x = fly.copy_atom_call_ssa(%atom, %src) {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (!fly.copy_atom<!fly_rocdl.cdna4.lds_read_trans<trans = 16b, 64>, 16>, !fly.memref<f16, shared, 4:1>) -> vector<4xf16>
  return %x : vector<4xf16>
}

// -----

// Offsets of elements smaller than a byte leave 32 bits no earlier than the bytes do.
// CHECK-LABEL: @packed_buffer
// CHECK: %[[BYTES:.*]] = arith.divui %{{.*}}, %c2_i32
// CHECK: rocdl.raw.ptr.buffer.load %{{.*}}, %[[BYTES]],
func.func @packed_buffer(%p: !fly.ptr<f4E2M1FN, #fly_rocdl.buffer_desc>, %n: i32) -> vector<8xf4E2M1FN> {
  %t = fly.make_int_tuple(%n) : (i32) -> !fly.int_tuple<?{div=8}>
  %at = fly.add_offset(%p, %t) : (!fly.ptr<f4E2M1FN, #fly_rocdl.buffer_desc>, !fly.int_tuple<?{div=8}>) -> !fly.ptr<f4E2M1FN, #fly_rocdl.buffer_desc>
  %x = fly.ptr.load(%at) : (!fly.ptr<f4E2M1FN, #fly_rocdl.buffer_desc>) -> vector<8xf4E2M1FN>
  return %x : vector<8xf4E2M1FN>
}
