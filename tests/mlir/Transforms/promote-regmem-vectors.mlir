// RUN: fly-opt %s --fly-promote-regmem-to-vectorssa | FileCheck %s --check-prefixes=CHECK,WHOLE
// RUN: fly-opt %s --fly-promote-regmem-to-vectorssa=pieces=true | FileCheck %s --check-prefixes=CHECK,PIECES

// As FlyDSL has it, a store makes the whole vector and a load takes its slice; as pieces, what was stored is what is loaded.
// CHECK-LABEL: @store_and_load
// CHECK-SAME: (%[[X:.*]]: vector<2xf32>)
func.func @store_and_load(%x: vector<2xf32>) -> vector<2xf32> {
  // WHOLE: %[[NONE:.*]] = ub.poison : vector<4xf32>
  // WHOLE: %[[ALL:.*]] = vector.insert_strided_slice %[[X]], %[[NONE]] {offsets = [2], strides = [1]} : vector<2xf32> into vector<4xf32>
  // WHOLE: %[[PART:.*]] = vector.extract_strided_slice %[[ALL]] {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  // WHOLE: return %[[PART]]
  // PIECES-NOT: vector.
  // PIECES: return %[[X]]
  %r = fly.make_ptr() {dictAttrs = {allocSize = 4 : i64}} : () -> !fly.ptr<f32, register>
  %two = fly.make_int_tuple() : () -> !fly.int_tuple<2>
  %at = fly.add_offset(%r, %two) : (!fly.ptr<f32, register>, !fly.int_tuple<2>) -> !fly.ptr<f32, register>
  fly.ptr.store(%x, %at) : (vector<2xf32>, !fly.ptr<f32, register>) -> ()
  %y = fly.ptr.load(%at) : (!fly.ptr<f32, register>) -> vector<2xf32>
  return %y : vector<2xf32>
}

// A loop carries what is accessed in parts as parts, so that it puts nothing together and takes nothing apart; the rest it
// carries as one vector.
// CHECK-LABEL: @carried_in_parts
// CHECK-SAME: %[[N:.*]]: index, %[[X:.*]]: vector<8xf32>
func.func @carried_in_parts(%n: index, %x: vector<8xf32>, %ones: vector<16xf32>) -> (vector<16xf32>, vector<16xf32>) {
  // PIECES: %[[ALL:.*]]:3 = scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}, %[[C:.*]] = %{{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<16xf32>)
  // PIECES-NOT: strided_slice
  // PIECES: %[[NEXT:.*]] = arith.addf %[[A]], %[[X]]
  // PIECES-NEXT: %[[MORE:.*]] = arith.addf %[[C]], %[[C]]
  // PIECES-NEXT: scf.yield %[[B]], %[[NEXT]], %[[MORE]]
  // PIECES: %[[LOW:.*]] = vector.insert_strided_slice %[[ALL]]#0, %{{.*}} {offsets = [0]
  // PIECES: vector.insert_strided_slice %[[ALL]]#1, %[[LOW]] {offsets = [8]
  // WHOLE: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>)
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = fly.make_ptr() {dictAttrs = {allocSize = 16 : i64}} : () -> !fly.ptr<f32, register>
  %s = fly.make_ptr() {dictAttrs = {allocSize = 16 : i64}} : () -> !fly.ptr<f32, register>
  %eight = fly.make_int_tuple() : () -> !fly.int_tuple<8>
  %at = fly.add_offset(%r, %eight) : (!fly.ptr<f32, register>, !fly.int_tuple<8>) -> !fly.ptr<f32, register>
  fly.ptr.store(%ones, %r) : (vector<16xf32>, !fly.ptr<f32, register>) -> ()
  fly.ptr.store(%ones, %s) : (vector<16xf32>, !fly.ptr<f32, register>) -> ()
  scf.for %i = %c0 to %n step %c1 {
    %a = fly.ptr.load(%r) : (!fly.ptr<f32, register>) -> vector<8xf32>
    %b = fly.ptr.load(%at) : (!fly.ptr<f32, register>) -> vector<8xf32>
    %sum = arith.addf %a, %x : vector<8xf32>
    fly.ptr.store(%b, %r) : (vector<8xf32>, !fly.ptr<f32, register>) -> ()
    fly.ptr.store(%sum, %at) : (vector<8xf32>, !fly.ptr<f32, register>) -> ()
    %c = fly.ptr.load(%s) : (!fly.ptr<f32, register>) -> vector<16xf32>
    %more = arith.addf %c, %c : vector<16xf32>
    fly.ptr.store(%more, %s) : (vector<16xf32>, !fly.ptr<f32, register>) -> ()
  }
  %all = fly.ptr.load(%r) : (!fly.ptr<f32, register>) -> vector<16xf32>
  %rest = fly.ptr.load(%s) : (!fly.ptr<f32, register>) -> vector<16xf32>
  return %all, %rest : vector<16xf32>, vector<16xf32>
}

// Branches and loops that test first pass parts on as well.
// CHECK-LABEL: @branches_and_tests
func.func @branches_and_tests(%c: i1, %x: vector<8xf32>, %y: vector<8xf32>) -> vector<8xf32> {
  // PIECES: %[[IF:.*]]:2 = scf.if {{.*}} -> (vector<8xf32>, vector<8xf32>)
  // PIECES: %[[WHILE:.*]]:2 = scf.while (%{{.*}} = %[[IF]]#0, %{{.*}} = %[[IF]]#1) : (vector<8xf32>, vector<8xf32>) -> (vector<8xf32>, vector<8xf32>)
  // PIECES: return %[[WHILE]]#1
  %r = fly.make_ptr() {dictAttrs = {allocSize = 16 : i64}} : () -> !fly.ptr<f32, register>
  %eight = fly.make_int_tuple() : () -> !fly.int_tuple<8>
  %at = fly.add_offset(%r, %eight) : (!fly.ptr<f32, register>, !fly.int_tuple<8>) -> !fly.ptr<f32, register>
  fly.ptr.store(%x, %r) : (vector<8xf32>, !fly.ptr<f32, register>) -> ()
  fly.ptr.store(%x, %at) : (vector<8xf32>, !fly.ptr<f32, register>) -> ()
  scf.if %c {
    fly.ptr.store(%y, %at) : (vector<8xf32>, !fly.ptr<f32, register>) -> ()
  }
  scf.while : () -> () {
    scf.condition(%c)
  } do {
    %a = fly.ptr.load(%r) : (!fly.ptr<f32, register>) -> vector<8xf32>
    %b = fly.ptr.load(%at) : (!fly.ptr<f32, register>) -> vector<8xf32>
    %sum = arith.addf %a, %b : vector<8xf32>
    fly.ptr.store(%sum, %at) : (vector<8xf32>, !fly.ptr<f32, register>) -> ()
    scf.yield
  }
  %last = fly.ptr.load(%at) : (!fly.ptr<f32, register>) -> vector<8xf32>
  return %last : vector<8xf32>
}
