// Instructions with several results, pointers as operands, inline assembly, halves of barriers:
// what they are in the IR, and what is refused.
#include "errors_at.h"

namespace fx = flydsl;
namespace rocdl = flydsl::rocdl;
using namespace trace_test;

namespace {
const std::vector<ArgType> kTypes = {arrayArg(fx::f32, 64), scalarArg(fx::i32)};

/// The IR of `body` for a target.
template <class F> std::string irOf(F body, const char *target = "gfx942") {
  return traceText(body, kTypes, false, {64, 1, 1}, {}, target);
}
template <class F> std::string refusal(F body, const char *target = "gfx942") {
  return errorOf(body, kTypes, {.target = target});
}
using Catch::Contains;
} // namespace

TEST_CASE("an intrinsic's struct comes back as its parts") {
  const std::string ir = irOf([](fx::Tensor a, fx::Int32 n) {
    auto sum = rocdl::intrinsic_struct("llvm.uadd.with.overflow", {fx::i32, fx::boolean}, {n, n});
    CHECK(sum.size() == 2);
    a(0) = fx::select(fx::Boolean(sum[1]), 1.0f, sum[0].to(fx::f32));
  });
  CHECK_IR(ir, "llvm.call_intrinsic \"llvm.uadd.with.overflow\"", "!llvm.struct<(i32, i1)>",
           "llvm.extractvalue", "[0]", "llvm.extractvalue", "[1]");
}

TEST_CASE("inline assembly gives vectors and several results, and takes addresses") {
  const std::string ir = irOf([](fx::Tensor a, fx::Int32 n) {
    auto pair =
        rocdl::inline_asm("global_load_dwordx2 $0, $1, off", "=&v,v", fx::f32, 2, {a.iter()}, true);
    auto lds = fx::SharedAllocator().tensor(fx::f32, fx::make_layout(64));
    auto both = rocdl::inline_asm_struct("; $0 $1 $2 $3", "=v,=v,v,0", {{fx::f32, 4}, fx::i32},
                                         {lds.iter(), n});
    a(0) = pair[1] + both.vector(0)[3] + both[1].to(fx::f32);
  });
  CHECK_IR(ir, "llvm.inline_asm has_side_effects", "(!llvm.ptr<1>) -> vector<2xf32>",
           "\"=v,=v,v,0\"", "(!llvm.ptr<3>, i32) -> !llvm.struct<(vector<4xf32>, i32)>");
}

TEST_CASE("a buffer's descriptor is four words") {
  const std::string ir = irOf([](fx::Tensor a, fx::Int32) {
    auto words = rocdl::buffer_descriptor(rocdl::make_buffer_tensor(a).iter());
    rocdl::inline_asm("; $0", "s", {words});
  });
  CHECK_IR(ir, "llvm.ptrtoint", "!llvm.ptr<8> to i128", "i128 to vector<4xi32>", "llvm.inline_asm");
}

TEST_CASE("instructions that are called wrongly are refused") {
  CHECK_THAT(refusal([](fx::Tensor, fx::Int32 n) {
               rocdl::intrinsic("llvm.amdgcn.nonsense", fx::i32, {n});
             }),
             Contains("has no intrinsic llvm.amdgcn.nonsense"));
  CHECK_THAT(refusal([](fx::Tensor, fx::Int32 n) {
               rocdl::intrinsic_struct("llvm.uadd.with.overflow", {fx::i32}, {n, n});
             }),
             Contains("intrinsic_struct has at least two results, not 1"));
  CHECK_THAT(refusal([](fx::Tensor, fx::Int32 n) {
               rocdl::inline_asm("v_mov_b32 $0, $1", "=v,v,v", fx::i32, {n});
             }),
             Contains("the constraints \"=v,v,v\" name 1 output and 2 inputs, but inline_asm is "
                      "called with 1 result and 1 argument"));
  CHECK_THAT(refusal([](fx::Tensor, fx::Int32 n) {
               rocdl::inline_asm("v_mov_b32 $0, $1", "=v,{v", fx::i32, {n});
             }),
             Contains("the constraints \"=v,{v\" of inline_asm can't be read"));
  CHECK_THAT(
      refusal([](fx::Tensor, fx::Int32 n) { rocdl::inline_asm("; $0 $1", "=a,v", fx::i32, {n}); },
              "gfx1201"),
      Contains("there is no inline_asm with accumulation registers on gfx1201; gfx90a, "
               "gfx942, gfx950 have it"));
  CHECK_THAT(refusal([](fx::Tensor a, fx::Int32) {
               rocdl::inline_asm("; $0", "v", {rocdl::make_buffer_tensor(a).iter()});
             }),
             Contains("takes a pointer to global or shared memory, not ") &&
                 Contains("buffer_descriptor"));
  CHECK_THAT(refusal([](fx::Tensor a, fx::Int32) { rocdl::buffer_descriptor(a.iter()); }),
             Contains("takes the pointer of make_buffer_ptr"));
  CHECK_THAT(refusal([](fx::Tensor, fx::Int32 n) {
               rocdl::intrinsic_struct("llvm.uadd.with.overflow", {fx::i32, fx::boolean}, {n, n})
                   .vector(0);
             }),
             Contains("result 0 is ") && Contains("no vector; [] gives it"));
  CHECK_THAT(refusal([](fx::Tensor, fx::Int32 n) {
               rocdl::inline_asm_struct("", "=v,=v,v", {{fx::f32, 2}, fx::i32}, {n}).scalar(0);
             }),
             Contains("no scalar; .vector(0) gives it"));
  CHECK_THAT(refusal([](fx::Tensor, fx::Int32 n) {
               rocdl::inline_asm_struct("", "=v,=v,v", {fx::f32, fx::i32}, {n}).scalar(2);
             }),
             Contains("result 2 of 2"));
}

TEST_CASE("a result with a size is a vector of at least one element") {
  for (int size : {0, -2}) {
    const std::string message = "a result of " + std::to_string(size) + " elements of i32";
    CHECK_THAT(
        errorOf(
            [&](fx::Int32 n) { rocdl::intrinsic("llvm.amdgcn.readfirstlane", fx::i32, size, {n}); },
            {scalarArg(fx::i32)}),
        Catch::Contains(message) && Catch::Contains("without a size is a scalar"));
    CHECK_THAT(
        errorOf(
            [&](fx::Int32 n) { rocdl::inline_asm("v_mov_b32 $0, $1", "=v,v", fx::i32, size, {n}); },
            {scalarArg(fx::i32)}),
        Catch::Contains(message));
    CHECK_THAT(errorOf(
                   [&](fx::Int32 n) {
                     rocdl::inline_asm_struct("v_mov_b32 $0, $2", "=v,=v,v",
                                              {fx::i32, {fx::i32, size}}, {n});
                   },
                   {scalarArg(fx::i32)}),
               Catch::Contains(message));
  }
}

TEST_CASE("values that no rows are swapped of are refused") {
  CHECK_THAT(refusal([](fx::Tensor a, fx::Int32 n) { rocdl::permlane32_swap(n, a(0)); }, "gfx950"),
             Contains("permlane32_swap takes two values of one type of 32 bits, not i32 and f32"));
  CHECK_THAT(
      refusal([](fx::Tensor, fx::Int32 n) { rocdl::permlane16_swap(n.to(fx::i64), n.to(fx::i64)); },
              "gfx950"),
      Contains("not i64 and i64"));
}

TEST_CASE("signals and waits of a barrier take turns") {
  const char *target = "gfx1201";
  CHECK(refusal(
            [](fx::Tensor, fx::Int32 n) {
              rocdl::s_barrier_signal();
              for (fx::Int32 i : fx::range(n)) {
                rocdl::s_barrier_wait();
                rocdl::s_barrier_signal();
              }
              rocdl::s_barrier_wait();
            },
            target) == "no error");
  CHECK_THAT(refusal(
                 [](fx::Tensor, fx::Int32) {
                   rocdl::s_barrier_signal();
                   rocdl::s_barrier_signal();
                 },
                 target),
             Contains("s_barrier_signal follows the one of line "));
  CHECK_THAT(refusal([](fx::Tensor, fx::Int32) { rocdl::s_barrier_wait(); }, target),
             Contains("s_barrier_wait without an s_barrier_signal before it"));
  CHECK_THAT(refusal([](fx::Tensor, fx::Int32) { rocdl::s_barrier_signal(); }, target),
             Contains("the kernel ends after this s_barrier_signal"));
  CHECK_THAT(refusal([](fx::Tensor, fx::Int32) { rocdl::s_wait_dscnt(64); }, target),
             Contains("the count of s_wait_dscnt is 0 to 63"));
  CHECK_THAT(refusal([](fx::Tensor, fx::Int32) { rocdl::s_nop(17); }),
             Contains("s_nop does nothing for 1 to 16 cycles, not 17"));
}
