// RUN: fly-opt %s --fly-layout-lowering --split-input-file | FileCheck %s

// Only what the result needs is computed, each thing once.
// CHECK-LABEL: @index_of_coordinate
// CHECK-SAME: (%[[I:.*]]: i32, %[[J:.*]]: i32, %[[S:.*]]: i64)
// CHECK: %[[WIDE:.*]] = arith.extsi %[[J]] : i32 to i64
// CHECK: %[[OFF:.*]] = arith.muli %[[WIDE]], %[[S]] : i64
// CHECK: %[[WIDEI:.*]] = arith.extsi %[[I]] : i32 to i64
// CHECK: %[[SUM:.*]] = arith.addi %[[WIDEI]], %[[OFF]] : i64
// CHECK-NEXT: return %[[SUM]]
func.func @index_of_coordinate(%i: i32, %j: i32, %s: i64) -> i64 {
  %shape = fly.make_int_tuple() : () -> !fly.int_tuple<(64,128)>
  %stride = fly.make_int_tuple(%s) : (i64) -> !fly.int_tuple<(1,?{i64})>
  %layout = fly.make_layout(%shape, %stride) : (!fly.int_tuple<(64,128)>, !fly.int_tuple<(1,?{i64})>) -> !fly.layout<(64,128):(1,?{i64})>
  %coord = fly.make_int_tuple(%i, %j) : (i32, i32) -> !fly.int_tuple<(?,?)>
  %index = fly.crd2idx(%coord, %layout) : (!fly.int_tuple<(?,?)>, !fly.layout<(64,128):(1,?{i64})>) -> !fly.int_tuple<?{i64}>
  %number = fly.get_scalar(%index) : (!fly.int_tuple<?{i64}>) -> i64
  return %number : i64
}

// -----

// A thread's number is not negative: no division, no signed remainder.
// CHECK-LABEL: gpu.func @thread_coordinate
// CHECK-NOT: div
// CHECK-NOT: rem
// CHECK: %[[T:.*]] = arith.index_cast
// CHECK-DAG: arith.andi %[[T]], %c15_i32
// CHECK-DAG: arith.shrui %[[T]], %c4_i32
gpu.module @threads {
  gpu.func @thread_coordinate() kernel {
    %tid = gpu.thread_id x
    %t = arith.index_cast %tid : index to i32
    %shape = fly.make_int_tuple() : () -> !fly.int_tuple<(16,8)>
    %stride = fly.make_int_tuple() : () -> !fly.int_tuple<(1,16)>
    %layout = fly.make_layout(%shape, %stride) : (!fly.int_tuple<(16,8)>, !fly.int_tuple<(1,16)>) -> !fly.layout<(16,8):(1,16)>
    %index = fly.make_int_tuple(%t) : (i32) -> !fly.int_tuple<?>
    %coord = fly.idx2crd(%index, %layout) : (!fly.int_tuple<?>, !fly.layout<(16,8):(1,16)>) -> !fly.int_tuple<(?,?)>
    %leaves:2 = fly.get_leaves(%coord) {dynamicOnly = true} : (!fly.int_tuple<(?,?)>) -> (i32, i32)
    gpu.printf "%d %d\n", %leaves#0, %leaves#1 : i32, i32
    gpu.return
  }
}

// -----

// What a loop does not change is computed in front of it.
// CHECK-LABEL: @hoisted_out_of_loop
// CHECK-SAME: (%[[P:.*]]: !fly.ptr<f32, global>, %[[ROW:.*]]: i32, %[[N:.*]]: index
// CHECK: %[[OFF:.*]] = arith.muli %{{.*}}, %{{.*}} : i64
// CHECK: scf.for
// CHECK-NOT: arith.muli
// CHECK: return
func.func @hoisted_out_of_loop(%p: !fly.ptr<f32, global>, %row: i32, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %shape = fly.make_int_tuple() : () -> !fly.int_tuple<(32,8)>
  %stride = fly.make_int_tuple() : () -> !fly.int_tuple<(8,1)>
  %layout = fly.make_layout(%shape, %stride) : (!fly.int_tuple<(32,8)>, !fly.int_tuple<(8,1)>) -> !fly.layout<(32,8):(8,1)>
  %view = fly.make_view(%p, %layout) : (!fly.ptr<f32, global>, !fly.layout<(32,8):(8,1)>) -> !fly.memref<f32, global, (32,8):(8,1)>
  scf.for %i = %c0 to %n step %c1 {
    %coord = fly.make_int_tuple(%row) : (i32) -> !fly.int_tuple<(?,3)>
    fly.memref.store(%v, %view, %coord) : (f32, !fly.memref<f32, global, (32,8):(8,1)>, !fly.int_tuple<(?,3)>) -> ()
  }
  return
}

// -----

// A division by what may be zero stays where the program asks for it.
// CHECK-LABEL: @division_not_speculated
// CHECK: scf.if
// CHECK: arith.divsi
func.func @division_not_speculated(%c: i1, %a: i32, %b: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %ta = fly.make_int_tuple(%a) : (i32) -> !fly.int_tuple<?>
  %tb = fly.make_int_tuple(%b) : (i32) -> !fly.int_tuple<?>
  %q = fly.int_tuple_div(%ta, %tb) : (!fly.int_tuple<?>, !fly.int_tuple<?>) -> !fly.int_tuple<?>
  %r = scf.if %c -> (i32) {
    %n = fly.get_scalar(%q) : (!fly.int_tuple<?>) -> i32
    scf.yield %n : i32
  } else {
    scf.yield %c0 : i32
  }
  return %r : i32
}

// -----

// What arith can't hold in 32 bits goes through 64; a coordinate of LDS stays in 32.
// CHECK-LABEL: @address_widths
// CHECK-SAME: (%{{.*}}, %{{.*}}, %[[I:.*]]: i32)
// CHECK: %[[NEAR:.*]] = arith.muli %[[I]], %{{.*}} : i32
// CHECK: fly.make_int_tuple(%[[NEAR]]) : (i32) -> !fly.int_tuple<?{div=1024}>
// CHECK: %[[WIDE:.*]] = arith.extsi %[[I]] : i32 to i64
// CHECK: %[[FAR:.*]] = arith.muli %[[WIDE]], %{{.*}} : i64
// CHECK: fly.make_int_tuple(%[[FAR]]) : (i64) -> !fly.int_tuple<?{i64 div=1024}>
func.func @address_widths(%g: !fly.ptr<f32, global, align<4096>>, %s: !fly.ptr<f32, shared, align<4096>>, %i: i32) -> (f32, f32) {
  %shape = fly.make_int_tuple() : () -> !fly.int_tuple<(8,4)>
  %stride = fly.make_int_tuple() : () -> !fly.int_tuple<(1024,1)>
  %layout = fly.make_layout(%shape, %stride) : (!fly.int_tuple<(8,4)>, !fly.int_tuple<(1024,1)>) -> !fly.layout<(8,4):(1024,1)>
  %coord = fly.make_int_tuple(%i) : (i32) -> !fly.int_tuple<(?,0)>
  %gv = fly.make_view(%g, %layout) : (!fly.ptr<f32, global, align<4096>>, !fly.layout<(8,4):(1024,1)>) -> !fly.memref<f32, global, (8,4):(1024,1), align<4096>>
  %sv = fly.make_view(%s, %layout) : (!fly.ptr<f32, shared, align<4096>>, !fly.layout<(8,4):(1024,1)>) -> !fly.memref<f32, shared, (8,4):(1024,1), align<4096>>
  %a = fly.memref.load(%gv, %coord) : (!fly.memref<f32, global, (8,4):(1024,1), align<4096>>, !fly.int_tuple<(?,0)>) -> f32
  %b = fly.memref.load(%sv, %coord) : (!fly.memref<f32, shared, (8,4):(1024,1), align<4096>>, !fly.int_tuple<(?,0)>) -> f32
  return %a, %b : f32, f32
}

// -----

// A divisor that is a power of two needs no division, whatever the dividend's sign: towards zero.
// CHECK-LABEL: @division_by_power_of_two
// CHECK-SAME: (%[[X:.*]]: i32)
// CHECK-NOT: div
// CHECK-NOT: rem
// CHECK-DAG: %[[SIGN:.*]] = arith.shrsi %[[X]], %c31_i32
// CHECK-DAG: %[[BIAS:.*]] = arith.shrui %[[SIGN]], %c29_i32
// CHECK-DAG: %[[UP:.*]] = arith.addi %[[X]], %[[BIAS]]
// CHECK-DAG: %[[Q:.*]] = arith.shrsi %[[UP]], %c3_i32
// CHECK-DAG: %[[LOW:.*]] = arith.andi %[[UP]], %c7_i32
// CHECK-DAG: %[[R:.*]] = arith.subi %[[LOW]], %[[BIAS]]
// CHECK: return %[[Q]], %[[R]]
func.func @division_by_power_of_two(%x: i32) -> (i32, i32) {
  %t = fly.make_int_tuple(%x) : (i32) -> !fly.int_tuple<?>
  %eight = fly.make_int_tuple() : () -> !fly.int_tuple<8>
  %q = fly.int_tuple_div(%t, %eight) : (!fly.int_tuple<?>, !fly.int_tuple<8>) -> !fly.int_tuple<?>
  %r = fly.int_tuple_mod(%t, %eight) : (!fly.int_tuple<?>, !fly.int_tuple<8>) -> !fly.int_tuple<?>
  %a = fly.get_scalar(%q) : (!fly.int_tuple<?>) -> i32
  %b = fly.get_scalar(%r) : (!fly.int_tuple<?>) -> i32
  return %a, %b : i32, i32
}

// -----

// What the divisor is known to divide needs none either; what nobody uses is not computed.
// CHECK-LABEL: @known_divisor
// CHECK-SAME: (%[[X:.*]]: i32, %{{.*}}: i32)
// CHECK-NEXT: return %[[X]] : i32
func.func @known_divisor(%x: i32, %y: i32) -> i32 {
  %t = fly.make_int_tuple(%x) : (i32) -> !fly.int_tuple<?>
  %u = fly.make_int_tuple(%y) : (i32) -> !fly.int_tuple<?>
  %six = fly.make_int_tuple() : () -> !fly.int_tuple<6>
  %p = fly.int_tuple_mul(%t, %six) : (!fly.int_tuple<?>, !fly.int_tuple<6>) -> !fly.int_tuple<?{div=6}>
  %q = fly.int_tuple_div(%p, %six) : (!fly.int_tuple<?{div=6}>, !fly.int_tuple<6>) -> !fly.int_tuple<?>
  %unused = fly.int_tuple_div(%u, %t) : (!fly.int_tuple<?>, !fly.int_tuple<?>) -> !fly.int_tuple<?>
  %a = fly.get_scalar(%q) : (!fly.int_tuple<?>) -> i32
  return %a : i32
}

// -----

// What the program promises of a number costs nothing and stays in the types of what comes from it.
// CHECK-LABEL: @assumed
// CHECK-SAME: (%[[P:.*]]: !fly.ptr<f32, global, align<64>>, %[[X:.*]]: i32)
// CHECK: %[[BY:.*]] = fly.make_int_tuple(%[[X]]) : (i32) -> !fly.int_tuple<?{div=16}>
// CHECK: fly.add_offset(%[[P]], %[[BY]]) : (!fly.ptr<f32, global, align<64>>, !fly.int_tuple<?{div=16}>) -> !fly.ptr<f32, global, align<64>>
func.func @assumed(%p: !fly.ptr<f32, global, align<64>>, %x: i32) -> f32 {
  %sixteen = fly.make_int_tuple() : () -> !fly.int_tuple<16>
  %n = fly.make_int_tuple(%x) : (i32) -> !fly.int_tuple<?>
  %a = fly.assume(%sixteen, %n) : (!fly.int_tuple<16>, !fly.int_tuple<?>) -> !fly.int_tuple<?{div=16}>
  %q = fly.add_offset(%p, %a) : (!fly.ptr<f32, global, align<64>>, !fly.int_tuple<?{div=16}>) -> !fly.ptr<f32, global, align<64>>
  %v = fly.ptr.load(%q) : (!fly.ptr<f32, global, align<64>>) -> f32
  return %v : f32
}

// -----

// A promised divisor leaves nothing to round.
// CHECK-LABEL: @assumed_division
// CHECK-SAME: (%[[X:.*]]: i32)
// CHECK-NOT: arith.add
// CHECK: %[[Q:.*]] = arith.shrsi %[[X]], %c4_i32
// CHECK-NEXT: return %[[Q]]
func.func @assumed_division(%x: i32) -> i32 {
  %sixteen = fly.make_int_tuple() : () -> !fly.int_tuple<16>
  %n = fly.make_int_tuple(%x) : (i32) -> !fly.int_tuple<?>
  %a = fly.assume(%sixteen, %n) : (!fly.int_tuple<16>, !fly.int_tuple<?>) -> !fly.int_tuple<?{div=16}>
  %q = fly.int_tuple_div(%a, %sixteen) : (!fly.int_tuple<?{div=16}>, !fly.int_tuple<16>) -> !fly.int_tuple<?>
  %v = fly.get_scalar(%q) : (!fly.int_tuple<?>) -> i32
  return %v : i32
}

// -----

// A truth value extended with its sign is -1, which is divided as a negative number.
// CHECK-LABEL: @sign_of_a_truth_value
// CHECK: arith.shrsi
func.func @sign_of_a_truth_value(%c: i1) -> i32 {
  %x = arith.extsi %c : i1 to i32
  %a = fly.make_int_tuple(%x) : (i32) -> !fly.int_tuple<?>
  %b = fly.make_int_tuple() : () -> !fly.int_tuple<2>
  %q = fly.int_tuple_div(%a, %b) : (!fly.int_tuple<?>, !fly.int_tuple<2>) -> !fly.int_tuple<?>
  %number = fly.get_scalar(%q) : (!fly.int_tuple<?>) -> i32
  return %number : i32
}

// -----

// A product that is computed in 32 bits, as its type says, and the offset that must not wrap.
// CHECK-LABEL: @typed_and_exact
// CHECK: %[[EXACT:.*]] = arith.muli %{{.*}} : i64
// CHECK: fly.make_int_tuple(%[[EXACT]]) : (i64)
// CHECK: %[[TYPED:.*]] = arith.muli %{{.*}} : i32
// CHECK: arith.extsi %[[TYPED]] : i32 to i64
func.func @typed_and_exact(%p: !fly.ptr<i8, global>, %m: i32, %n: i32, %k: i64) -> (i64, i8) {
  %a = fly.make_int_tuple(%m) : (i32) -> !fly.int_tuple<?>
  %b = fly.make_int_tuple(%n) : (i32) -> !fly.int_tuple<?>
  %c = fly.make_int_tuple(%k) : (i64) -> !fly.int_tuple<?{i64}>
  %ab = fly.int_tuple_mul(%a, %b) : (!fly.int_tuple<?>, !fly.int_tuple<?>) -> !fly.int_tuple<?>
  %sum = fly.int_tuple_add(%ab, %c) : (!fly.int_tuple<?>, !fly.int_tuple<?{i64}>) -> !fly.int_tuple<?{i64}>
  %number = fly.get_scalar(%sum) : (!fly.int_tuple<?{i64}>) -> i64
  %q = fly.add_offset(%p, %ab) : (!fly.ptr<i8, global>, !fly.int_tuple<?>) -> !fly.ptr<i8, global>
  %x = fly.ptr.load(%q) : (!fly.ptr<i8, global>) -> i8
  return %number, %x : i64, i8
}

// -----

// What one branch promises of a number holds in that branch.
// CHECK-LABEL: @promise_in_a_branch
// CHECK: %[[REST:.*]] = arith.subi
// CHECK: scf.if
// CHECK-NEXT: scf.yield %c0_i32
// CHECK: else
// CHECK-NEXT: scf.yield %[[REST]]
func.func @promise_in_a_branch(%c: i1, %n: i32) -> i32 {
  %r = scf.if %c -> (i32) {
    %a = fly.make_int_tuple(%n) : (i32) -> !fly.int_tuple<?{div=8}>
    %b = fly.make_int_tuple() : () -> !fly.int_tuple<8>
    %q = fly.int_tuple_mod(%a, %b) : (!fly.int_tuple<?{div=8}>, !fly.int_tuple<8>) -> !fly.int_tuple<?{div=8}>
    %x = fly.get_scalar(%q) : (!fly.int_tuple<?{div=8}>) -> i32
    scf.yield %x : i32
  } else {
    %a = fly.make_int_tuple(%n) : (i32) -> !fly.int_tuple<?>
    %b = fly.make_int_tuple() : () -> !fly.int_tuple<8>
    %q = fly.int_tuple_mod(%a, %b) : (!fly.int_tuple<?>, !fly.int_tuple<8>) -> !fly.int_tuple<?>
    %x = fly.get_scalar(%q) : (!fly.int_tuple<?>) -> i32
    scf.yield %x : i32
  }
  return %r : i32
}

// -----

// A loop whose results are not read is erased with all that it holds.
// CHECK-LABEL: @dead_loop
// CHECK-NOT: scf.while
// CHECK-NOT: arith.addi
// CHECK: return %{{.*}} : i32
func.func @dead_loop(%n: i32, %c: i1) -> i32 {
  %layout = fly.make_int_tuple(%n) : (i32) -> !fly.int_tuple<?>
  %many = scf.while (%a = %n) : (i32) -> i32 {
    %next = arith.addi %a, %n : i32
    %tuple = fly.make_int_tuple(%next) : (i32) -> !fly.int_tuple<?>
    %x = fly.get_scalar(%tuple) : (!fly.int_tuple<?>) -> i32
    scf.condition(%c) %x : i32
  } do {
  ^bb0(%x: i32):
    %twice = arith.addi %x, %x : i32
    scf.yield %twice : i32
  }
  %r = fly.get_scalar(%layout) : (!fly.int_tuple<?>) -> i32
  return %r : i32
}

// -----

// What the kernel assumes of a stride in 64 bits makes the arithmetic of a place 32 bits wide; the block's coordinate, about which nothing is assumed,
// stays in 64 bits.
// CHECK-LABEL: @assumed_stride
// CHECK: arith.muli %{{.*}}, %{{.*}} : i64
// CHECK: %[[STRIDE:.*]] = arith.trunci %{{.*}} : i64 to i32
// CHECK: arith.muli %{{.*}}, %[[STRIDE]] : i32
func.func @assumed_stride(%p: !fly.ptr<f16, global>, %s: i64, %block: i64) -> (f16, f16) {
  %most = arith.constant 1000000 : i64
  %below = arith.cmpi ult, %s, %most : i64
  llvm.intr.assume %below : i1
  %thread = gpu.thread_id x
  %t = arith.index_cast %thread : index to i32
  %stride = fly.make_int_tuple(%s) : (i64) -> !fly.int_tuple<?{i64}>
  %row = fly.make_int_tuple(%t) : (i32) -> !fly.int_tuple<?>
  %far = fly.make_int_tuple(%block) : (i64) -> !fly.int_tuple<?{i64}>
  %near = fly.int_tuple_mul(%row, %stride) : (!fly.int_tuple<?>, !fly.int_tuple<?{i64}>) -> !fly.int_tuple<?{i64}>
  %away = fly.int_tuple_mul(%far, %stride) : (!fly.int_tuple<?{i64}>, !fly.int_tuple<?{i64}>) -> !fly.int_tuple<?{i64}>
  %q = fly.add_offset(%p, %near) : (!fly.ptr<f16, global>, !fly.int_tuple<?{i64}>) -> !fly.ptr<f16, global>
  %x = fly.ptr.load(%q) : (!fly.ptr<f16, global>) -> f16
  %r = fly.add_offset(%p, %away) : (!fly.ptr<f16, global>, !fly.int_tuple<?{i64}>) -> !fly.ptr<f16, global>
  %y = fly.ptr.load(%r) : (!fly.ptr<f16, global>) -> f16
  return %x, %y : f16, f16
}

// -----

// What a select takes is within the bounds of its condition: the place is not negative, and 32 bits hold it.
// CHECK-LABEL: @guarded
// CHECK-SAME: (%[[I:.*]]: i64, %[[N:.*]]: i32)
func.func @guarded(%i: i64, %n: i32) -> (i64, i64) {
  %c0 = arith.constant 0 : i64
  %wide = arith.extsi %n : i32 to i64
  %low = arith.cmpi sge, %i, %c0 : i64
  %high = arith.cmpi slt, %i, %wide : i64
  %inside = arith.andi %low, %high : i1
  // CHECK: %[[PLACE:.*]] = arith.select
  %place = arith.select %inside, %i, %c0 : i64
  %at = fly.make_int_tuple(%place) : (i64) -> !fly.int_tuple<?{i64}>
  %c16 = fly.make_int_tuple() : () -> !fly.int_tuple<16>
  // CHECK: arith.shrui
  // CHECK-NOT: arith.shrsi
  %q = fly.int_tuple_div(%at, %c16) : (!fly.int_tuple<?{i64}>, !fly.int_tuple<16>) -> !fly.int_tuple<?{i64}>
  %block = fly.get_scalar(%q) : (!fly.int_tuple<?{i64}>) -> i64
  // The other branch of the other comparison, with the number on its right.
  // CHECK: arith.select
  %negative = arith.cmpi sgt, %c0, %i : i64
  %floor = arith.select %negative, %c0, %i : i64
  %at2 = fly.make_int_tuple(%floor) : (i64) -> !fly.int_tuple<?{i64}>
  // CHECK: arith.shrui
  // CHECK-NOT: arith.shrsi
  %q2 = fly.int_tuple_div(%at2, %c16) : (!fly.int_tuple<?{i64}>, !fly.int_tuple<16>) -> !fly.int_tuple<?{i64}>
  %block2 = fly.get_scalar(%q2) : (!fly.int_tuple<?{i64}>) -> i64
  return %block, %block2 : i64, i64
}

// A condition on another number says nothing, and neither part of a disjunction holds if it does.
// CHECK-LABEL: @not_guarded
func.func @not_guarded(%i: i64, %j: i64) -> (i64, i64) {
  %c0 = arith.constant 0 : i64
  %c16 = fly.make_int_tuple() : () -> !fly.int_tuple<16>
  %other = arith.cmpi sge, %j, %c0 : i64
  %place = arith.select %other, %i, %c0 : i64
  %at = fly.make_int_tuple(%place) : (i64) -> !fly.int_tuple<?{i64}>
  // CHECK: arith.shrsi
  %q = fly.int_tuple_div(%at, %c16) : (!fly.int_tuple<?{i64}>, !fly.int_tuple<16>) -> !fly.int_tuple<?{i64}>
  %block = fly.get_scalar(%q) : (!fly.int_tuple<?{i64}>) -> i64
  %own = arith.cmpi sge, %i, %c0 : i64
  %either = arith.ori %own, %other : i1
  %place2 = arith.select %either, %i, %c0 : i64
  %at2 = fly.make_int_tuple(%place2) : (i64) -> !fly.int_tuple<?{i64}>
  // CHECK: arith.shrsi
  %q2 = fly.int_tuple_div(%at2, %c16) : (!fly.int_tuple<?{i64}>, !fly.int_tuple<16>) -> !fly.int_tuple<?{i64}>
  %block2 = fly.get_scalar(%q2) : (!fly.int_tuple<?{i64}>) -> i64
  return %block, %block2 : i64, i64
}

// Unsigned quotients, remainders and shifts by a constant are not negative, whatever they are of.
// CHECK-LABEL: @unsigned
func.func @unsigned(%i: i32) -> (i32, i32, i32) {
  %c7 = arith.constant 7 : i32
  %c16 = fly.make_int_tuple() : () -> !fly.int_tuple<16>
  %quotient = arith.divui %i, %c7 : i32
  %rest = arith.remui %i, %c7 : i32
  %shifted = arith.shrui %i, %c7 : i32
  %at = fly.make_int_tuple(%quotient) : (i32) -> !fly.int_tuple<?>
  %at1 = fly.make_int_tuple(%rest) : (i32) -> !fly.int_tuple<?>
  %at2 = fly.make_int_tuple(%shifted) : (i32) -> !fly.int_tuple<?>
  // The remainder is below 16: its quotient is 0.
  // CHECK-NOT: arith.shrsi
  // CHECK: return %{{.*}}, %c0_i32, %{{.*}} : i32, i32, i32
  %q = fly.int_tuple_div(%at, %c16) : (!fly.int_tuple<?>, !fly.int_tuple<16>) -> !fly.int_tuple<?>
  %q1 = fly.int_tuple_div(%at1, %c16) : (!fly.int_tuple<?>, !fly.int_tuple<16>) -> !fly.int_tuple<?>
  %q2 = fly.int_tuple_div(%at2, %c16) : (!fly.int_tuple<?>, !fly.int_tuple<16>) -> !fly.int_tuple<?>
  %a = fly.get_scalar(%q) : (!fly.int_tuple<?>) -> i32
  %b = fly.get_scalar(%q1) : (!fly.int_tuple<?>) -> i32
  %c = fly.get_scalar(%q2) : (!fly.int_tuple<?>) -> i32
  return %a, %b, %c : i32, i32, i32
}
