// RUN: fly-opt %s --fly-promote-regmem-to-vectorssa=require-static --verify-diagnostics

gpu.module @m {
  gpu.func @dynamic_index(%out: !fly.ptr<f32, global>, %i: i32) kernel {
    // expected-note@+1 {{the register memory is made here}}
    %reg = fly.make_ptr() {dictAttrs = {allocSize = 4 : i64}} : () -> !fly.ptr<f32, register>
    %off = fly.make_int_tuple(%i) : (i32) -> !fly.int_tuple<?>
    // expected-error@+1 {{register memory is indexed by a value known only at run time}}
    %slot = fly.add_offset(%reg, %off) : (!fly.ptr<f32, register>, !fly.int_tuple<?>) -> !fly.ptr<f32, register>
    %x = fly.ptr.load(%slot) : (!fly.ptr<f32, register>) -> f32
    fly.ptr.store(%x, %out) : (f32, !fly.ptr<f32, global>) -> ()
    gpu.return
  }
}
