// RUN: fly-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(fly-lds-red-zones{bytes=64}))' | FileCheck %s

// Each variable ends where one of the largest alignment may begin, after 64 bytes at least. A function says where those lie
// that it uses, which is at its start.
gpu.module @arrays {
  // CHECK: llvm.mlir.global external @a() {addr_space = 3 : i32, alignment = 4 : i64} : !llvm.array<192 x i8>
  // CHECK: llvm.mlir.global external @b() {addr_space = 3 : i32, alignment = 32 : i64} : !llvm.array<128 x i8>
  // CHECK: llvm.mlir.global external @unused() {addr_space = 3 : i32, alignment = 1 : i64} : !llvm.array<96 x i8>
  // CHECK: llvm.mlir.global external @dynamic() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  // CHECK: llvm.mlir.global internal constant @table("abcd") {addr_space = 4 : i32}
  llvm.mlir.global external @a() {addr_space = 3 : i32, alignment = 4 : i64} : !llvm.array<100 x i8>
  llvm.mlir.global external @b() {addr_space = 3 : i32, alignment = 32 : i64} : !llvm.array<64 x i8>
  llvm.mlir.global external @unused() {addr_space = 3 : i32, alignment = 1 : i64} : !llvm.array<1 x i8>
  llvm.mlir.global external @dynamic() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  llvm.mlir.global internal constant @table("abcd") {addr_space = 4 : i32}
  // CHECK-LABEL: llvm.func @kernel
  // CHECK-DAG: %[[A:.*]] = llvm.mlir.addressof @a
  // CHECK-DAG: %[[INT:.*]] = llvm.ptrtoint %[[A]] : !llvm.ptr<3> to i32
  // CHECK: llvm.inline_asm has_side_effects "s_mul_i32 $0, $1, {{[0-9]+}}\0As_mov_b32 $0, 100\0As_mov_b32 $0, 92", "=s,s" %{{.*}} : (i32) -> i32
  // CHECK: llvm.inline_asm has_side_effects "s_mul_i32 $0, $1, {{[0-9]+}}\0As_mov_b32 $0, 64\0As_mov_b32 $0, 64", "=s,s" %{{.*}} : (i32) -> i32
  // CHECK-NOT: llvm.inline_asm
  // CHECK: llvm.store
  llvm.func @kernel(%x: f32) {
    %a = llvm.mlir.addressof @a : !llvm.ptr<3>
    llvm.store %x, %a : f32, !llvm.ptr<3>
    %again = llvm.mlir.addressof @a : !llvm.ptr<3>
    llvm.store %x, %again : f32, !llvm.ptr<3>
    %b = llvm.mlir.addressof @b : !llvm.ptr<3>
    llvm.store %x, %b : f32, !llvm.ptr<3>
    %d = llvm.mlir.addressof @dynamic : !llvm.ptr<3>
    llvm.store %x, %d : f32, !llvm.ptr<3>
    llvm.return
  }
  // CHECK-LABEL: llvm.func @none
  // CHECK-NEXT: llvm.return
  llvm.func @none() {
    llvm.return
  }
}
