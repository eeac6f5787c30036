// RUN: fly-opt %s --split-input-file --fly-check-register-reads --verify-diagnostics
// RUN: fly-opt %s --split-input-file --verify-diagnostics \
// RUN:   --pass-pipeline='builtin.module(fly-check-register-reads{unwritten="v_mov_b32 $0, 7" constraint==v})' | FileCheck %s

!reg = !fly.ptr<f32, register>

gpu.module @m {
  // The sum is read in the first round, before anything is in it.
  gpu.func @sum_in_loop(%out: !fly.ptr<f32, global>, %n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %one = arith.constant 1.0 : f32
    %reg = fly.make_ptr() {dictAttrs = {allocSize = 1 : i64}} : () -> !reg
    scf.for %i = %c0 to %n step %c1 : i32 {
      // expected-error@+1 {{a fragment of 1 element of 'f32' in registers, made at}}
      %x = fly.ptr.load(%reg) : (!reg) -> f32
      %y = arith.addf %x, %one : f32
      fly.ptr.store(%y, %reg) : (f32, !reg) -> ()
    }
    %z = fly.ptr.load(%reg) : (!reg) -> f32
    fly.ptr.store(%z, %out) : (f32, !fly.ptr<f32, global>) -> ()
    gpu.return
  }
}

// -----

!reg = !fly.ptr<f32, register>

gpu.module @m {
  gpu.func @part(%out: !fly.ptr<f32, global>) kernel {
    %one = arith.constant dense<1.0> : vector<2xf32>
    %reg = fly.make_ptr() {dictAttrs = {allocSize = 4 : i64}} : () -> !reg
    fly.ptr.store(%one, %reg) : (vector<2xf32>, !reg) -> ()
    // expected-error@+1 {{its elements 2 to 3; .fill, .store or fx::copy gives it values}}
    %all = fly.ptr.load(%reg) : (!reg) -> vector<4xf32>
    fly.ptr.store(%all, %out) : (vector<4xf32>, !fly.ptr<f32, global>) -> ()
    gpu.return
  }
}

// -----

!reg = !fly.ptr<f32, register>

gpu.module @m {
  // What is taken out of a loaded vector counts, not what is loaded with it.
  // CHECK-LABEL: @part_taken
  // CHECK-NOT: llvm.inline_asm
  gpu.func @part_taken(%out: !fly.ptr<f32, global>) kernel {
    %one = arith.constant dense<1.0> : vector<2xf32>
    %reg = fly.make_ptr() {dictAttrs = {allocSize = 4 : i64}} : () -> !reg
    fly.ptr.store(%one, %reg) : (vector<2xf32>, !reg) -> ()
    %all = fly.ptr.load(%reg) : (!reg) -> vector<4xf32>
    %x = vector.extract %all[1] : f32 from vector<4xf32>
    fly.ptr.store(%x, %out) : (f32, !fly.ptr<f32, global>) -> ()
    gpu.return
  }
}

// -----

!reg = !fly.ptr<f32, register>

gpu.module @m {
  // The first round does not read.
  // CHECK-LABEL: @later_rounds
  // CHECK: llvm.inline_asm
  gpu.func @later_rounds(%out: !fly.ptr<f32, global>, %n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %one = arith.constant 1.0 : f32
    %reg = fly.make_ptr() {dictAttrs = {allocSize = 1 : i64}} : () -> !reg
    scf.for %i = %c0 to %n step %c1 : i32 {
      %later = arith.cmpi sgt, %i, %c0 : i32
      scf.if %later {
        %x = fly.ptr.load(%reg) : (!reg) -> f32
        fly.ptr.store(%x, %out) : (f32, !fly.ptr<f32, global>) -> ()
      }
      scf.for %j = %c0 to %i step %c1 : i32 {
        %x = fly.ptr.load(%reg) : (!reg) -> f32
        fly.ptr.store(%x, %out) : (f32, !fly.ptr<f32, global>) -> ()
      }
      fly.ptr.store(%one, %reg) : (f32, !reg) -> ()
    }
    gpu.return
  }
}

// -----

!reg = !fly.ptr<f32, register>

gpu.module @m {
  // A branch that is the same in each round reads in the first one too.
  gpu.func @same_branch(%out: !fly.ptr<f32, global>, %n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %one = arith.constant 1.0 : f32
    %reg = fly.make_ptr() {dictAttrs = {allocSize = 1 : i64}} : () -> !reg
    scf.for %i = %c0 to %n step %c1 : i32 {
      %twice = arith.addi %n, %n : i32
      %always = arith.cmpi sgt, %twice, %c1 : i32
      scf.if %always {
        // expected-error@+1 {{is read here before anything has written it}}
        %x = fly.ptr.load(%reg) : (!reg) -> f32
        fly.ptr.store(%x, %out) : (f32, !fly.ptr<f32, global>) -> ()
      }
      fly.ptr.store(%one, %reg) : (f32, !reg) -> ()
    }
    gpu.return
  }
}

// -----

!reg = !fly.ptr<f32, register>

gpu.module @m {
  // One path writes, a place that only the launch knows is written, and a pointer goes elsewhere.
  gpu.func @may_be_written(%out: !fly.ptr<f32, global>, %p: i1, %i: i32) kernel {
    %one = arith.constant 1.0 : f32
    // What one path writes begins with the mark; so does what is written at a place that is not known.
    // CHECK-LABEL: @may_be_written
    // CHECK:      %[[A:.*]] = fly.make_ptr() {dictAttrs = {allocSize = 1
    // CHECK-NEXT: %[[MARK:.*]] = llvm.inline_asm "v_mov_b32 $0, 7", "=v" : () -> i32
    // CHECK:      fly.ptr.store(%{{.*}}, %[[A]]) : (vector<1xf32>
    // CHECK:      %[[B:.*]] = fly.make_ptr() {dictAttrs = {allocSize = 4
    // CHECK:      llvm.inline_asm
    // CHECK:      fly.ptr.store(%{{.*}}, %[[B]]) : (vector<4xf32>
    %a = fly.make_ptr() {dictAttrs = {allocSize = 1 : i64}} : () -> !reg
    %b = fly.make_ptr() {dictAttrs = {allocSize = 4 : i64}} : () -> !reg
    scf.if %p {
      fly.ptr.store(%one, %a) : (f32, !reg) -> ()
    }
    %x = fly.ptr.load(%a) : (!reg) -> f32
    fly.ptr.store(%x, %out) : (f32, !fly.ptr<f32, global>) -> ()
    %off = fly.make_int_tuple(%i) : (i32) -> !fly.int_tuple<?>
    %slot = fly.add_offset(%b, %off) : (!reg, !fly.int_tuple<?>) -> !reg
    fly.ptr.store(%one, %slot) : (f32, !reg) -> ()
    %y = fly.ptr.load(%b) : (!reg) -> vector<4xf32>
    fly.ptr.store(%y, %out) : (vector<4xf32>, !fly.ptr<f32, global>) -> ()
    gpu.return
  }
}

// -----

!reg = !fly.ptr<f32, register>

gpu.module @m {
  // A branch without a write, after one that writes another element.
  gpu.func @other_element(%out: !fly.ptr<f32, global>, %p: i1, %i: i32) kernel {
    %one = arith.constant 1.0 : f32
    %reg = fly.make_ptr() {dictAttrs = {allocSize = 2 : i64}} : () -> !reg
    %off = fly.make_int_tuple() : () -> !fly.int_tuple<1>
    %second = fly.add_offset(%reg, %off) : (!reg, !fly.int_tuple<1>) -> !reg
    scf.if %p {
      fly.ptr.store(%one, %reg) : (f32, !reg) -> ()
    } else {
      // expected-error@+1 {{a fragment of 2 elements of 'f32' in registers}}
      %x = fly.ptr.load(%second) : (!reg) -> f32
      fly.ptr.store(%x, %out) : (f32, !fly.ptr<f32, global>) -> ()
    }
    gpu.return
  }
}

// -----

!reg = !fly.ptr<f32, register>

gpu.module @m {
  gpu.func @while(%out: !fly.ptr<f32, global>, %p: i1) kernel {
    %reg = fly.make_ptr() {dictAttrs = {allocSize = 1 : i64}} : () -> !reg
    scf.while : () -> () {
      scf.condition(%p)
    } do {
      // expected-error@+1 {{is read here before anything has written it}}
      %x = fly.ptr.load(%reg) : (!reg) -> f32
      fly.ptr.store(%x, %reg) : (f32, !reg) -> ()
      scf.yield
    }
    gpu.return
  }
}

// -----

!six = !fly.ptr<f6E2M3FN, register>

gpu.module @m {
  // 16 elements of 6 bits lie in three words.
  // CHECK-LABEL: @elements_of_6_bits
  // CHECK:      %[[WORDS:.*]] = vector.broadcast %{{.*}} : i32 to vector<3xi32>
  // CHECK-NEXT: %[[ELEMENTS:.*]] = vector.bitcast %[[WORDS]] : vector<3xi32> to vector<16xi6>
  // CHECK-NEXT: vector.extract_strided_slice %[[ELEMENTS]] {offsets = [0], sizes = [5], strides = [1]} : vector<16xi6> to vector<5xi6>
  gpu.func @elements_of_6_bits(%out: !fly.ptr<i8, global>, %p: i1, %x: i6) kernel {
    %reg = fly.make_ptr() {dictAttrs = {allocSize = 5 : i64}} : () -> !six
    scf.if %p {
      fly.ptr.store(%x, %reg) : (i6, !six) -> ()
    }
    %y = fly.ptr.load(%reg) : (!six) -> i6
    %z = arith.extui %y : i6 to i8
    fly.ptr.store(%z, %out) : (i8, !fly.ptr<i8, global>) -> ()
    gpu.return
  }
}
