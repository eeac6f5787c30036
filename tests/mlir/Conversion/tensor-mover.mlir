// RUN: fly-opt --convert-fly-to-rocdl --canonicalize --cse %s | FileCheck %s
// The tensor data mover of gfx1250: the descriptor in words, as the tile, the atom and its state say.

!plain = !fly.copy_atom<!fly_rocdl.gfx1250.tdm<rank = 2, warps = 1, pad = 0, 0, cache = 3, barrier = true, timeout = true>, 0>
!wide = !fly.copy_atom<!fly_rocdl.gfx1250.tdm<rank = 5, warps = 1, pad = 0, 0, cache = 0, barrier = false, timeout = false>, 0>
!shared4 = !fly.copy_atom<!fly_rocdl.gfx1250.tdm<rank = 2, warps = 4, pad = 32, 4, cache = 0, barrier = false, timeout = false>, 0>

// A tensor of any size: the extents stay at the largest, the stride is the tile's.
// 0x250000: elements of 2^1 bytes, barrier at bit 18, timeout at bit 21.
// CHECK-LABEL: @defaults
// CHECK-SAME: (%[[G:.*]]: !llvm.ptr<1>, %[[L:.*]]: !llvm.ptr<3>)
// CHECK-DAG: %[[D1:.*]] = arith.constant dense<[2424832, -65536, -32769, 4227071, 16, 256, 0, 0]> : vector<8xi32>
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-DAG: %[[TYPE:.*]] = arith.constant -2147483648 : i32
// CHECK-DAG: %[[HIGH:.*]] = arith.constant 33554431 : i32
// CHECK-DAG: %[[ADDRESS:.*]] = llvm.ptrtoint %[[G]] : !llvm.ptr<1> to i64
// CHECK-DAG: %[[LDS:.*]] = llvm.ptrtoint %[[L]] : !llvm.ptr<3> to i32
// CHECK: %[[W2:.*]] = arith.trunci %[[ADDRESS]]
// CHECK: %[[UPPER:.*]] = arith.shrui %[[ADDRESS]]
// CHECK: %[[UPPER32:.*]] = arith.trunci %[[UPPER]]
// CHECK: %[[FIELD:.*]] = arith.andi %[[UPPER32]], %[[HIGH]]
// CHECK: %[[W3:.*]] = arith.ori %[[FIELD]], %[[TYPE]]
// CHECK: %[[D0:.*]] = vector.from_elements %[[ONE]], %[[LDS]], %[[W2]], %[[W3]] : vector<4xi32>
// CHECK: rocdl.tensor.load.to.lds.d2 %[[D0]], %[[D1]] cachepolicy 3
func.func @defaults(%g: !fly.memref<bf16, global, (16,64):(256,1)>, %l: !fly.memref<bf16, shared, (16,64):(64,1)>) {
  %atom = fly.make_copy_atom {valBits = 0 : i32} : !plain
  fly.copy_atom_call(%atom, %g, %l) : (!plain, !fly.memref<bf16, global, (16,64):(256,1)>, !fly.memref<bf16, shared, (16,64):(64,1)>) -> ()
  return
}

// Four waves take 8 rows each; each row of 32 values is followed by 4 that stay free.
// 0x2D10000: an interval of 2^(3+1) words is code 3 at bit 22, an amount of 2 words is code 1 at bit 25.
// CHECK-LABEL: @padded_waves
// CHECK-DAG: %[[CONFIG:.*]] = arith.constant 47251456 : i32
// CHECK-DAG: %[[SLAB:.*]] = arith.constant 8 : i32
// CHECK-DAG: %[[INTERVAL:.*]] = arith.constant 5 : i32
// CHECK-DAG: %[[WAVES:.*]] = arith.constant 4 : i32
// CHECK-DAG: %[[PACKED:.*]] = arith.constant 256 : i32
// CHECK: %[[WAVE:.*]] = llvm.call_intrinsic "llvm.amdgcn.wave.id"()
// CHECK: %[[PLACE:.*]] = arith.remui %[[WAVE]], %[[WAVES]]
// CHECK: %[[ROW:.*]] = arith.muli %[[PLACE]], %[[SLAB]]
// CHECK: %[[VALUES:.*]] = arith.muli %[[PLACE]], %[[PACKED]]
// CHECK: %[[PASSED:.*]] = arith.shrui %[[VALUES]], %[[INTERVAL]]
// CHECK: %[[FREE:.*]] = arith.muli %[[PASSED]], %[[WAVES]]
// CHECK: arith.addi %[[VALUES]], %[[FREE]]
// CHECK: %[[EXTENT:.*]] = llvm.extractvalue %{{.*}}[1]
// CHECK: %[[REST:.*]] = arith.subi %[[EXTENT]], %[[ROW]]
// CHECK: arith.maxsi %[[REST]]
// CHECK: %[[CONFIGURED:.*]] = arith.ori %{{.*}}, %[[CONFIG]]
// CHECK: vector.from_elements %[[CONFIGURED]], %{{.*}}, %{{.*}}, %{{.*}}, %[[SLAB]],
// CHECK: rocdl.tensor.load.to.lds.d2
func.func @padded_waves(%atom: !shared4, %g: !fly.memref<f16, global, (32,32):(1024,1)>, %l: !fly.memref<f16, shared, (32,32):(36,1)>) {
  fly.copy_atom_call(%atom, %g, %l) : (!shared4, !fly.memref<f16, global, (32,32):(1024,1)>, !fly.memref<f16, shared, (32,32):(36,1)>) -> ()
  return
}

// A store has no padding: its rows are of 36 values, and the tensor of 32 of them at most.
// 0x10000 is elements of 2 bytes alone; 0x240000: 36 values along the innermost dimension.
// CHECK-LABEL: @wide_rows
// CHECK-DAG: %[[ROW:.*]] = arith.constant 2359296 : i32
// CHECK-DAG: %[[CONFIG:.*]] = arith.constant 65536 : i32
// CHECK-DAG: %[[VALUES:.*]] = arith.constant 32 : i32
// CHECK: %[[INNER:.*]] = llvm.extractvalue %{{.*}}[2]
// CHECK: %[[SIZE:.*]] = arith.maxsi %[[INNER]]
// CHECK: arith.minsi %[[SIZE]], %[[VALUES]]
// CHECK: %[[CONFIGURED:.*]] = arith.ori %{{.*}}, %[[CONFIG]]
// CHECK: %[[WIDE:.*]] = arith.ori %{{.*}}, %[[ROW]]
// CHECK: vector.from_elements %[[CONFIGURED]], %{{.*}}, %{{.*}}, %[[WIDE]],
// CHECK: rocdl.tensor.store.from.lds.d2
func.func @wide_rows(%atom: !shared4, %g: !fly.memref<f16, global, (32,32):(1024,1)>, %l: !fly.memref<f16, shared, (32,32):(36,1)>) {
  fly.copy_atom_call(%atom, %l, %g) : (!shared4, !fly.memref<f16, shared, (32,32):(36,1)>, !fly.memref<f16, global, (32,32):(1024,1)>) -> ()
  return
}

// Above two dimensions the descriptor has four groups; the outermost stride has its upper 16 bits beside
// the outermost extent.
// CHECK-LABEL: @five
// CHECK-SAME: %[[S:.*]]: i64
// CHECK-DAG: %[[LAST:.*]] = arith.constant 163839 : i32
// CHECK-DAG: %[[D2:.*]] = arith.constant dense<[2147483647, 2147483647, 120, 196608]> : vector<4xi32>
// CHECK-DAG: %[[D1:.*]] = arith.constant dense<[0, -65536, -32769, 425983, 262149, 6, 1966080, 0]> : vector<8xi32>
// CHECK-DAG: %[[LOW:.*]] = arith.trunci %[[S]] : i64 to i32
// CHECK: %[[D3:.*]] = vector.from_elements %[[LOW]], %{{.*}}, %[[LAST]], %{{.*}} : vector<4xi32>
// CHECK: rocdl.tensor.load.to.lds %{{.*}}, %[[D1]], %[[D2]], %[[D3]] cachepolicy 0
func.func @five(%s: i64, %g: !fly.memref<i8, global, (2,3,4,5,6):(?{i64},120,30,6,1)>, %l: !fly.memref<i8, shared, (2,3,4,5,6):(360,120,30,6,1)>) {
  %a0 = fly.make_copy_atom {valBits = 0 : i32} : !wide
  %a1 = fly.atom.set_value(%a0, "stride_0", %s) : (!wide, i64) -> !wide
  fly.copy_atom_call(%a1, %g, %l) : (!wide, !fly.memref<i8, global, (2,3,4,5,6):(?{i64},120,30,6,1)>, !fly.memref<i8, shared, (2,3,4,5,6):(360,120,30,6,1)>) -> ()
  return
}
