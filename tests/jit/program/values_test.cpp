// Numbers, extents and launches at the ends of their ranges: of programs, and of kernels that
// compile_ir has read.
#include "host_module.h"

#include <flydsl/host/compile_ir.h>

#include <cmath>

using namespace host_module;
using Catch::Contains;

namespace {
/// A kernel @k and a function @f that launches it once, both with one parameter %v of `type`.
std::string passing(const std::string &type) {
  return R"(module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%v: )" +
         type + R"() kernel { gpu.return }
  }
  func.func @f(%v: )" +
         type + R"() {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%v : )" +
         type + R"()
    return
  }
})";
}

/// What the call of @f throws, and that of the kernel, which must agree in all but who refuses.
template <class Value> std::string refusal(const std::string &type, const Value &value) {
  const fx::Program program = fx::parse_program(passing(type));
  const fx::Executable kernel = fx::compile_ir(passing(type));
  const auto caught = [](auto call) {
    try {
      call();
    } catch (const fx::TraceError &e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const std::string ofProgram = caught([&] { program("f", value); });
  const std::string ofKernel = caught([&] { kernel(value).launch({.grid = 1, .block = 1}); });
  CHECK(ofProgram.empty() == ofKernel.empty());
  if (ofProgram.empty())
    return "none";
  for (const std::string *text : {&ofProgram, &ofKernel})
    CHECK_THAT(*text, Contains("values_test.cpp:") && Contains("argument 0 (" + type + "): "));
  const auto what = [](const std::string &text) { return text.substr(text.find("): ") + 3); };
  CHECK(what(ofProgram) == what(ofKernel));
  return what(ofProgram);
}
} // namespace

TEST_CASE("integers of IR take both readings of their bits and nothing beyond") {
  CHECK(refusal("i8", 255) == "none");
  CHECK(refusal("i8", -128) == "none");
  CHECK(refusal("i8", 256) == "the integer 256 was given; it does not fit 8 bits");
  CHECK(refusal("i8", -129) == "the integer -129 was given; it does not fit 8 bits");
  CHECK(refusal("i1", true) == "none");
  CHECK(refusal("i1", 2) == "the integer 2 was given; it does not fit 1 bits");
  CHECK(refusal("i64", ~std::uint64_t(0)) == "none");
  CHECK(refusal("i64", 1.0) == "the number 1.000000 was given; an integer is expected");
  CHECK(refusal("f32", 3) == "none");
  CHECK(refusal("f32", nullptr) == "a stream was given; a number is expected");
  CHECK(refusal("f32", HUGE_VAL) == "none");
  CHECK_THAT(refusal("f32", 1e300), Contains("as f32 it would become infinite"));
  CHECK_THAT(refusal("f16", 70000), Contains("as f16 it would become infinite"));
}

TEST_CASE("extents and strides that their leaves can't hold are refused") {
  const std::string narrow = "!fly.memref<i8, global, (?,?):(?,1)>"; // all of 32 bits
  std::int8_t byte = 0;
  const std::int64_t many = std::int64_t(1) << 31;
  CHECK(refusal(narrow, fx::tensor(&byte, {2, 2}, {2, 1})) == "none");
  CHECK(refusal(narrow, fx::tensor(&byte, {many, 1})) ==
        "its extent of mode 0 is 2147483648; the function takes 32 bits");
  CHECK(refusal(narrow, fx::tensor(&byte, {2, 2}, {-many - 1, 1})) ==
        "its stride of mode 0 is -2147483649; the function takes 32 bits");
  CHECK(refusal("!fly.memref<i8, global, (4,?{div=8}):(?{i64},1)>", fx::tensor(&byte, {4, 12})) ==
        "its extent of mode 1 is 12; the function was traced for multiples of 8");
  CHECK_THAT(refusal("!fly.memref<i8, global, (?,?,?):(?,?,1)>", fx::tensor(&byte, {2, 2})),
             Contains("its rank is 2, 3 is expected"));
  CHECK_THAT(refusal("!fly.ptr<f32, global, align<16>>", fx::PointerArg(&byte, fx::i8)),
             Contains("a pointer to i8 was given; elements of f32 are expected"));
  CHECK_THAT(refusal("!fly.ptr<f32, global, align<16>>",
                     fx::PointerArg(reinterpret_cast<void *>(0x1008), fx::f32)),
             Contains("the pointer is aligned to 8 bytes; the function relies on 16"));
}

TEST_CASE("grids, blocks and shared memory out of range are refused with the line of the call") {
  const auto launched = [](const std::string &launch) {
    return module("%c0 = arith.constant 0 : i32\n%g = arith.index_cast %n : i32 to index\n%t = " +
                  launch);
  };
  const std::string byGrid = launched(launch("%g", "%x", "%n"));
  CHECK_THAT(error(byGrid, -3),
             Contains("host_module.h:") &&
                 Contains("f: the grid of the launch of put is (-3, 1, 1) with these arguments; "
                          "each extent must be 1 or more"));
  CHECK_THAT(error(byGrid, 0), Contains("the grid of the launch of put is (0, 1, 1)"));
  std::string byBlock = launched(launch("%c1", "%x", "%n"));
  byBlock.replace(byBlock.find("threads in (%c1"), 15, "threads in (%g");
  CHECK_THAT(error(byBlock, 1025), Contains("1025"));
  CHECK_THAT(
      error(byBlock, 0),
      Contains("host_module.h:") &&
          Contains("f: the block of the launch of put is (0, 1, 1) with these arguments; each "
                   "extent must be 1 or more"));
  std::string bySmem = launched(launch("%c1", "%x", "%n"));
  bySmem.replace(bySmem.find("args("), 5, "dynamic_shared_memory_size %n args(");
  CHECK(error(bySmem, 4096) == "no error");
  CHECK_THAT(error(bySmem, 1 << 20), Contains("1048576"));
  CHECK_THAT(error(bySmem, -4),
             Contains("host_module.h:") &&
                 Contains("f: the dynamic shared memory of the launch of put is -4 bytes with "
                          "these arguments; it must be 0 or more"));
}

TEST_CASE("what the library does not know is refused with file and line") {
  CHECK_THAT(error(module("\"foreign.op\"() : () -> ()\n%t = " + launch("%c1", "%x", "%n"))),
             Contains("text.mlir:13: 'foreign.op' is of the dialect 'foreign', which this library "
                      "does not have; it reads modules as FlyDSL writes them (00_origin.mlir)"));
  CHECK_THAT(error(module("fly.nothing\n%t = " + launch("%c1", "%x", "%n"))),
             Contains("text.mlir:13:") && Contains("fly.nothing"));
  std::string text = module("%t = " + launch("%c1", "%x", "%n"));
  text.replace(text.find("gpu.return"), 10, "\"foreign.op\"() : () -> ()\n gpu.return");
  CHECK_THAT(error(text), Contains("text.mlir:8: 'foreign.op' is of the dialect 'foreign'"));
  text = module("%t = " + launch("%c1", "%x", "%n"));
  text.replace(text.find("@kernels::@put"), 14, "@kernels::@pot");
  CHECK_THAT(error(text), Contains("text.mlir:13:") && Contains("pot"));
  text = module("%t = " + launch("%c1", "%x", "%n"));
  text.replace(text.find("args(%x : !fly.memref<i32, global, ?:1>, %n : i32)"), 50,
               "args(%n : i32)");
  CHECK_THAT(error(text), Contains("text.mlir:13:"));
}

TEST_CASE("host code with effects beside launches is refused with its line") {
  const auto refused = [](const std::string &code) {
    return error(module(code + "\n%t = " + launch("%c1", "%x", "%n")));
  };
  CHECK_THAT(refused("gpu.wait [%s]"),
             Contains("text.mlir:13: in 'f': 'gpu.wait' does not fold with these arguments"));
  CHECK_THAT(refused("%z = llvm.mlir.zero : !llvm.ptr\nllvm.store %n, %z : i32, !llvm.ptr"),
             Contains("text.mlir:14: in 'f': 'llvm.store' does not fold"));
}
