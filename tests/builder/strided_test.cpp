// Views of memory whose address and strides are arguments.
#include "errors_at.h"
#include "trace_text.h"

#include <catch2/catch.hpp>

namespace fx = flydsl;
using namespace trace_test;

namespace {
template <int Modes> using Memory = fx::Strided<fx::OnDevice, Modes>;
/// The arguments of a Strided: its address and its strides.
std::vector<ArgType> memoryArgs(int modes) {
  return std::vector<ArgType>(std::size_t(modes) + 1, scalarArg(fx::i64));
}
} // namespace

TEST_CASE("a view has the strides of the call, and packed modes after them") {
  std::string ir = traceText(
      [](Memory<1> x) {
        const fx::Tensor view = x.view(fx::f16, {64, 32});
        CHECK(view.layout().str() == "!fly.layout<(64,32):(?{i64},1)>");
        CHECK(view.dtype() == fx::f16);
        CHECK(view.alignment() == 2);
        CHECK(view.address_space() == fx::AddressSpace::global);
        view(1, 2) = view(3, 4);
      },
      memoryArgs(1));
  CHECK_IR(ir, "fly.inttoptr", "fly.make_layout", "fly.make_view", "fly.memref.load",
           "fly.memref.store");
  (void)traceText(
      [](Memory<2> x) {
        CHECK(x.view(fx::bf16, {4, 8, 16, 2}).layout().str() ==
              "!fly.layout<(4,8,16,2):(?{i64},?{i64},2,1)>");
        CHECK(x.view(fx::bf16, {4, 8}).layout().str() == "!fly.layout<(4,8):(?{i64},?{i64})>");
      },
      memoryArgs(2));
  (void)traceText(
      [](Memory<0> x) {
        CHECK(x.view(fx::f32, 12).layout().str() == "12:1");
        CHECK(x.view(fx::f32, {3, 4, 5}).layout().str() == "(3,4,5):(20,5,1)");
      },
      memoryArgs(0));
}

TEST_CASE("packed modes after run-time extents have strides of 64 bits") {
  std::vector<ArgType> types = memoryArgs(1);
  types.push_back(scalarArg(fx::i32));
  (void)traceText(
      [](Memory<1> x, fx::Int32 n) {
        CHECK(x.view(fx::f32, {n, n, n}).layout().str() ==
              "!fly.layout<(?,?,?):(?{i64},?{i64},1)>");
        CHECK(x.view(fx::f32, {n, n, 8}).layout().str() == "!fly.layout<(?,?,8):(?{i64},8,1)>");
      },
      types);
}

TEST_CASE("an alignment is promised of the address and of each stride") {
  (void)traceText(
      [](Memory<1> x) {
        const fx::Tensor view = x.view(fx::f16, {64, 32}, 16);
        CHECK(view.alignment() == 16);
        CHECK(view.layout().str() == "!fly.layout<(64,32):(?{i64 div=8},1)>");
        // So a row's pieces are loaded as one.
        CHECK(fx::make_view(view(3, fx::_).iter(), fx::make_layout(8)).alignment() == 16);
      },
      memoryArgs(1));
}

TEST_CASE("a view of fewer modes than strides, of nested modes or of narrow elements is refused") {
  CHECK(errorOf([](Memory<2> x) { (void)x.view(fx::f32, {64}); }, memoryArgs(2))
            .find("it has fewer modes than the Strided has strides, 2") != std::string::npos);
  CHECK(errorOf(
            [](Memory<1> x) {
              (void)x.view(fx::f32, {{4, 8}, 2});
            },
            memoryArgs(1))
            .find("it has nested modes, and a Strided has one stride for each") !=
        std::string::npos);
  CHECK(errorOf(
            [](Memory<1> x) {
              (void)x.view(fx::f4E2M1FN, {8, 8});
            },
            memoryArgs(1))
            .find("element type of whole bytes") != std::string::npos);
  CHECK(errorOf(
            [](Memory<1> x) {
              (void)x.view(fx::f32, {8, 8}, 6);
            },
            memoryArgs(1))
            .find("an alignment is a power of two") != std::string::npos);
}
