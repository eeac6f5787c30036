// Scheduling masks by name, as later versions of MLIR write them, are read as their numbers.
// RUN: fly-opt %s | FileCheck %s

// CHECK-LABEL: @masks
func.func @masks() {
  // CHECK-NEXT: rocdl.sched.barrier 0
  rocdl.sched.barrier none
  // CHECK-NEXT: rocdl.sched.barrier 18
  rocdl.sched.barrier valu|all_vmem
  // CHECK-NEXT: rocdl.sched.group.barrier 256, 2, 0
  rocdl.sched.group.barrier ds_read, 2, 0
  // CHECK-NEXT: rocdl.sched.group.barrier 8, 1, 0
  rocdl.sched.group.barrier mfma_wmma, 1, 0
  // CHECK-NEXT: rocdl.sched.group.barrier 512, 2, 1
  rocdl.sched.group.barrier 512, 2, 1
  return
}
