// Arguments that do not fit, and modules that are none.
#include <flydsl/flydsl.h>
#include <flydsl/host/compile_ir.h>
#include <flydsl/host/program.h>

#include <catch2/catch.hpp>

#include <fstream>
#include <iterator>

namespace fx = flydsl;

namespace {
std::string text(const std::string &name) {
  std::ifstream file(MODULES + name + ".mlir");
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class Call> std::string error(Call call) {
  try {
    call();
  } catch (const fx::Error &e) {
    return e.what();
  }
  return "no error";
}
std::string parseError(const std::string &module) {
  return error([&] { fx::parse_program(module, {.name = "given.mlir"}); });
}

using Catch::Contains;
} // namespace

TEST_CASE("arguments that do not fit a program's function are refused") {
  const fx::Program program = fx::load_program(MODULES "vector_add.mlir");
  const fx::DeviceArray<float> a({64});
  const fx::DeviceArray<std::int32_t> wrongType({64});
  const fx::DeviceArray<float> wrongRank({8, 8});
  const auto call = [&](const auto &...arguments) {
    return error([&] { program("vector_add", arguments...); });
  };
  CHECK(call(a, a, a, 64, nullptr) == "no error");
  CHECK_THAT(call(a, a, 64, nullptr),
             Contains("vector_add: 4 arguments were given; it takes 5: (!fly.memref<f32, global, "
                      "?:1>") &&
                 Contains("refusals_test.cpp"));
  CHECK_THAT(call(a, a, a, 64), Contains("the last one, the stream, is missing"));
  CHECK_THAT(call(a, a, a, 64, nullptr, nullptr), Contains("the stream is too much"));
  CHECK_THAT(call(a, a, a, nullptr, 64),
             Contains("argument 3 (i32): a stream was given; a number "));
  CHECK_THAT(call(a, a, a, 64, 64),
             Contains("argument 4 (!gpu.async.token): the integer 64 was given; a stream is "));
  CHECK_THAT(
      call(a, wrongType, a, 64, nullptr),
      Contains("argument 1 (!fly.memref<f32, global, ?:1>): a tensor of i32, 64:1 was given; "
               "elements of f32 are expected"));
  CHECK_THAT(call(a, wrongRank, a, 64, nullptr),
             Contains("a tensor of f32, (8,8):(8,1) was given; its rank is 2, 1 is expected"));
  CHECK_THAT(call(a, fx::tensor(a.data(), {8}, {8}), a, 8, nullptr),
             Contains("its stride of mode 0 is 8; the function was traced for 1"));
  CHECK_THAT(call(a, fx::tensor(static_cast<float *>(nullptr), {8}), a, 8, nullptr),
             Contains("argument 1") && Contains("the pointer is null"));
  CHECK_THAT(call(a, a.data(), a, 8, nullptr),
             Contains("a pointer to f32 was given; a tensor is "));
  CHECK_THAT(call(a, a, a, 8.5, nullptr),
             Contains("the number 8.500000 was given; an integer is "));
  CHECK_THAT(call(a, a, a, std::int64_t(1) << 32, nullptr),
             Contains("the integer 4294967296 was given; it does not fit 32 bits"));
  CHECK_THAT(call(a, a, a, -(std::int64_t(1) << 31) - 1, nullptr),
             Contains("does not fit 32 bits"));
  CHECK_THAT(error([&] { program("launch", a); }),
             Contains("vector_add.mlir has no function 'launch' that launches kernels; it has: "
                      "vector_add"));
}

TEST_CASE("arrays and streams that are gone are refused with the line of the call") {
  const fx::Program program = fx::load_program(MODULES "vector_add.mlir");
  const fx::Executable kernel = fx::compile_ir(text("vector_add"));
  const fx::DeviceArray<float> a({64});
  fx::DeviceArray<float> moved({64});
  const fx::DeviceArray<float> taken = std::move(moved);
  CHECK_THAT(error([&] { program("vector_add", a, moved, a, 64, nullptr); }),
             Contains("refusals_test.cpp") &&
                 Contains("vector_add: argument 1 (!fly.memref<f32, global, ?:1>): ") &&
                 Contains("moved"));
  CHECK_THAT(error([&] { kernel(a, a, moved, 64).launch({.grid = 1}); }),
             Contains("refusals_test.cpp") && Contains("argument 2") && Contains("moved"));
  fx::Stream stream;
  const fx::Stream other = std::move(stream);
  CHECK_THAT(error([&] { program("vector_add", a, a, a, 64, stream); }),
             Contains("refusals_test.cpp") && Contains("moved"));
}

TEST_CASE("extents and strides must be as the program was traced") {
  const fx::Program rows = fx::load_program(MODULES "rows.mlir");
  const fx::DeviceArray<float> x({256});
  CHECK_THAT(error([&] {
               rows("rows", fx::tensor(x.data(), {2, 32}, {33, 1}), fx::tensor(x.data(), {2, 32}),
                    nullptr);
             }),
             Contains("its stride of mode 0 is 33; the function was traced for multiples of 4"));
  const fx::Program fixed = fx::parse_program(R"(module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: !fly.memref<f32, global, (4,?{div=8}):(?{i64},1), align<16>>) kernel {
      gpu.return
    }
  }
  func.func @f(%x: !fly.memref<f32, global, (4,?{div=8}):(?{i64},1), align<16>>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%x : !fly.memref<f32, global, (4,?{div=8}):(?{i64},1), align<16>>)
    return
  }
})");
  const auto call = [&](float *data, fx::Extents shape) {
    return error([&] { fixed("f", fx::tensor(data, shape)); });
  };
  CHECK(call(x.data(), {4, 8}) == "no error");
  CHECK_THAT(call(x.data(), {5, 8}),
             Contains("its extent of mode 0 is 5; the function was traced for 4"));
  CHECK_THAT(call(x.data(), {4, 12}),
             Contains("its extent of mode 1 is 12; the function was traced for multiples of 8"));
  CHECK_THAT(call(x.data() + 2, {4, 8}),
             Contains("the pointer is aligned to 8 bytes; the function relies on 16"));
}

TEST_CASE("files that are no programs are refused") {
  CHECK_THAT(error([] { fx::load_program("/nowhere/00_origin.mlir"); }),
             Contains("/nowhere/00_origin.mlir: it can't be read"));
  const std::string good = text("vector_add");
  CHECK_THAT(parseError(good.substr(0, good.size() / 2)), Contains("given.mlir:"));
  CHECK_THAT(parseError("module {}"), Contains("no host function launches a kernel"));
  CHECK_THAT(parseError(std::string(2000, '(')), Contains("brackets nest deeper than"));
  CHECK_THAT(parseError("module { gpu.module @m { gpu.func @k() kernel { gpu.return } } }"),
             Contains("no host function launches a kernel"));
  CHECK_THAT(error([&] { fx::parse_program(good, {.hints = {.known_block_size = {64}}}); }),
             Contains("a program takes no hint known_block_size"));
}
