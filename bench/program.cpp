// The library's part of a call of a program: from the call to HIP's launch function, which here
// returns at once; beside the launch of a compiled kernel with the same arguments.
#include "five_matrices.h"

#include <flydsl/flydsl.h>
#include <flydsl/host/compile_ir.h>
#include <flydsl/host/program.h>

#include <benchmark/benchmark.h>

#include <array>
#include <string>

namespace fx = flydsl;

namespace {

/// A module whose function @f launches a kernel that does nothing, with five matrices and three
/// numbers; the first number decides the grid.
std::string matricesModule() {
  const std::string matrix = "!fly.memref<f32, global, (?,?):(?{i64},1)>";
  std::string parameters, values, types;
  for (int i = 0; i < 5; ++i) {
    const std::string name = "%t" + std::to_string(i);
    parameters += name + ": " + matrix + ", ";
    values += name + " : " + matrix + ", ";
  }
  return "module attributes {gpu.container_module} {\n gpu.module @kernels {\n  gpu.func @k(" +
         parameters + "%i: i32, %j: i32, %k: i32) kernel { gpu.return }\n }\n func.func @f(" +
         parameters + R"(%i: i32, %j: i32, %k: i32, %s: !gpu.async.token) {
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %grid = arith.index_cast %i : i32 to index
  %t = gpu.launch_func async [%s] @kernels::@k blocks in (%grid, %c1, %c1) threads in (%c256, %c1, %c1)
)" + "    args(" +
         values +
         R"(%i : i32, %j : i32, %k : i32)
  return
 }
})";
}

const fx::Kernel kernel{"bench", [](fx::Tensor, fx::Tensor, fx::Tensor, fx::Tensor, fx::Tensor,
                                    fx::Int32, fx::Int32, fx::Int32) {}};

struct Setup {
  FiveMatrices five;
  fx::Program matrices = fx::parse_program(matricesModule());
  fx::Program vectorAdd = fx::load_program(VECTOR_ADD);
};

Setup &setup() {
  static Setup made;
  return made;
}

void compiledKernel(benchmark::State &state) {
  auto &[five, matrices, vectorAdd] = setup();
  auto &[t, stream] = five;
  auto compiled = kernel(t[0], t[1], t[2], t[3], t[4], 1, 2, 3).compile({.block = 256});
  int i = 0;
  for (auto _ : state)
    compiled(t[0], t[1], t[2], t[3], t[4], 8, 2, ++i)
        .launch({.grid = 8, .block = 256, .stream = stream});
}
BENCHMARK(compiledKernel);

/// The last number changes from call to call; it decides nothing.
void program(benchmark::State &state) {
  auto &[five, matrices, vectorAdd] = setup();
  auto &[t, stream] = five;
  int i = 0;
  for (auto _ : state)
    matrices("f", t[0], t[1], t[2], t[3], t[4], 8, 2, ++i, stream);
}
BENCHMARK(program)->ThreadRange(1, 2);

/// The number that decides is one of some.
void programOfManyGrids(benchmark::State &state) {
  auto &[five, matrices, vectorAdd] = setup();
  auto &[t, stream] = five;
  const auto grids = static_cast<int>(state.range(0));
  int i = 0;
  for (auto _ : state)
    matrices("f", t[0], t[1], t[2], t[3], t[4], 1 + i++ % grids, 2, 3, stream);
}
BENCHMARK(programOfManyGrids)->Arg(4)->Arg(64);

void programVectorAdd(benchmark::State &state) {
  auto &[five, matrices, vectorAdd] = setup();
  auto &[t, stream] = five;
  const auto a = fx::tensor(t[0].data(), {1000}), b = fx::tensor(t[1].data(), {1000}),
             c = fx::tensor(t[2].data(), {1000});
  for (auto _ : state)
    vectorAdd("vector_add", a, b, c, 1000, stream);
}
BENCHMARK(programVectorAdd);

/// A kernel that compile_ir has read.
void readKernel(benchmark::State &state) {
  auto &[five, matrices, vectorAdd] = setup();
  auto &[t, stream] = five;
  const fx::Executable read = fx::compile_ir(matricesModule());
  int i = 0;
  for (auto _ : state)
    read(t[0], t[1], t[2], t[3], t[4], 8, 2, ++i)
        .launch({.grid = 8, .block = 256, .stream = stream});
}
BENCHMARK(readKernel);

} // namespace

BENCHMARK_MAIN();
