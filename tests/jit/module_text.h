// Kernels in upstream dialects, which test compiling without the builder and the Fly dialects.
#pragma once

#include <string>

namespace flydsl::jit::test {

/// b[i] = 2 a[i] for i below the bound in the packed struct; blocks of 128.
inline std::string scaleKernel(const std::string &name = "scale", int factor = 2) {
  return R"(
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @)" +
         name +
         R"((%a: !llvm.ptr<1>, %s: !llvm.struct<packed (struct<packed (i32, i32)>, struct<packed (i64)>)>,
                  %b: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
      %t = gpu.thread_id x
      %i = arith.index_cast %t : index to i32
      %block = arith.constant 128 : i32
      %factor = arith.constant )" +
         std::to_string(factor) + R"(.0 : f32
      %n = llvm.extractvalue %s[0, 0] : !llvm.struct<packed (struct<packed (i32, i32)>, struct<packed (i64)>)>
      %bx = gpu.block_id x
      %bi = arith.index_cast %bx : index to i32
      %m = arith.muli %bi, %block : i32
      %k = arith.addi %m, %i : i32
      %c = arith.cmpi slt, %k, %n : i32
      scf.if %c {
        %k64 = arith.extsi %k : i32 to i64
        %pa = llvm.getelementptr %a[%k64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
        %pb = llvm.getelementptr %b[%k64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
        %v = llvm.load %pa : !llvm.ptr<1> -> f32
        %w = arith.mulf %v, %factor : f32
        llvm.store %w, %pb : f32, !llvm.ptr<1>
      }
      gpu.return
    }
  }
})";
}

} // namespace flydsl::jit::test
