// Events become records; tokens are numbers wherever control flow carries them.
// RUN: fly-opt %s --fly-lower-ktrace="chipset=gfx942" | FileCheck %s --check-prefixes=CHECK,WAVE64
// RUN: fly-opt %s --fly-lower-ktrace="chipset=gfx1201" | FileCheck %s --check-prefixes=CHECK,WAVE32

gpu.module @kernels {
  // CHECK-DAG: llvm.mlir.global external protected constant @__flydsl_ktrace_names("start\00tile\00") {addr_space = 4 : i32
  // CHECK-DAG: llvm.mlir.global external @__flydsl_ktrace_counts() {addr_space = 3 : i32

  // CHECK-LABEL: gpu.func @loop
  gpu.func @loop(%buffer: !llvm.ptr<1>) kernel {
    // The clock is read first. One lane takes a place in the region of its wave, and writes if it is
    // in there: clock, place of the wave, name and kind (mark 0, range_start 3, range_stop 4).
    // CHECK: llvm.call_intrinsic "llvm.readsteadycounter"() : () -> i64
    // WAVE64: rocdl.ballot %{{.*}} : i64
    // WAVE32: rocdl.ballot %{{.*}} : i32
    // CHECK: llvm.atomicrmw add %{{.*}}, %{{.*}} syncscope("wavefront") monotonic : !llvm.ptr<3>, i32
    // WAVE64: arith.constant 63492 : i32
    // WAVE64: llvm.call_intrinsic "llvm.amdgcn.s.getreg"
    // WAVE64: arith.constant 6164 : i32
    // WAVE32: arith.constant 63511 : i32
    // CHECK: arith.constant 1 : i32
    // CHECK: llvm.atomicrmw add %{{.*}}, %{{.*}} syncscope("agent") monotonic : !llvm.ptr<1>, i32
    fly_ktrace.mark "start"
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %four = arith.constant 4 : index
    // CHECK-NOT: fly_ktrace
    %none = fly_ktrace.inactive_token -> !fly_ktrace.token
    // CHECK: scf.for {{.*}} iter_args(%[[T:.*]] = %{{.*}}) -> (i32)
    %last = scf.for %i = %zero to %four step %one iter_args(%t = %none) -> (!fly_ktrace.token) {
      // Nothing is stopped where nothing was started.
      // CHECK: arith.cmpi ne, %[[T]], %{{.*}} : i32
      fly_ktrace.range_stop %t, "tile" : !fly_ktrace.token
      %next = fly_ktrace.range_start "tile" -> !fly_ktrace.token
      // CHECK: scf.yield %{{.*}} : i32
      scf.yield %next : !fly_ktrace.token
    }
    fly_ktrace.range_stop %last, "tile" : !fly_ktrace.token
    gpu.return
  }
}
