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
