// Modules with a host function that a test writes, and calls of it.
#pragma once

#include <flydsl/flydsl.h>
#include <flydsl/host/program.h>

#include <catch2/catch.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace host_module {

namespace fx = flydsl;

/// A module whose kernel @put stores %v at x[block]; `body` is that of @f, which has the arguments
/// %x, %n (i32) and %s (a stream), and the constant %c1; `others` are functions beside @f.
inline std::string module(const std::string &body, const std::string &more = "",
                          const std::string &others = "") {
  return R"(module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @put(%x: !fly.memref<i32, global, ?:1>, %v: i32) kernel {
      %b = gpu.block_id x
      %i = arith.index_cast %b : index to i32
      %c = fly.make_int_tuple(%i) : (i32) -> !fly.int_tuple<?>
      fly.memref.store(%v, %x, %c) : (i32, !fly.memref<i32, global, ?:1>, !fly.int_tuple<?>) -> ()
      gpu.return
    }
  }
  func.func @f(%x: !fly.memref<i32, global, ?:1>, %n: i32, %s: !gpu.async.token)" +
         more +
         R"() {
    %c1 = arith.constant 1 : index
)" + body +
         R"(
    return
  }
)" + others +
         "}";
}

inline std::string launch(const std::string &grid, const std::string &tensor,
                          const std::string &value) {
  return "gpu.launch_func async [%s] @kernels::@put blocks in (" + grid +
         ", %c1, %c1) threads in (%c1, %c1, %c1) args(" + tensor +
         " : !fly.memref<i32, global, ?:1>, " + value + " : i32)\n";
}

/// The eight numbers of x after the call of @f, zeros before it.
inline std::vector<std::int32_t> run(const std::string &text, int n) {
  const fx::Program program = fx::parse_program(text, {.name = "text.mlir"});
  fx::DeviceArray<std::int32_t> x =
      fx::DeviceArray<std::int32_t>::from_host(std::vector<std::int32_t>(8), {8});
  fx::Stream stream;
  program("f", x, n, stream);
  stream.synchronize();
  return x.to_host();
}

/// What the call of @f throws, or reading the module.
inline std::string error(const std::string &text, int n = 4) {
  try {
    run(text, n);
  } catch (const fx::Error &e) {
    return e.what();
  }
  return "no error";
}

} // namespace host_module
