// Atomic accesses with an order, fences and addresses: what they trace to, and what is refused.
#include "errors_at.h"

#include <flydsl/flydsl.h>

namespace fx = flydsl;
using namespace trace_test;
using Catch::Contains;

namespace {
using Order = fx::MemoryOrder;

/// The message for a body over numbers, halves, an array of bytes and a dynamic number.
template <class F> std::string refusal(F body) {
  return errorOf(body, {arrayArg(fx::i32, 8), arrayArg(fx::f16, 8), arrayArg(fx::i8, 8),
                        scalarArg(fx::i32), scalarArg(fx::f32)});
}
#define REFUSES(text, ...)                                                                         \
  CHECK_THAT(                                                                                      \
      refusal([](fx::Tensor a, fx::Tensor h, fx::Tensor bytes, fx::Int32 n, fx::Float32 x) {       \
        (void)a, (void)h, (void)bytes, (void)n, (void)x;                                           \
        __VA_ARGS__;                                                                               \
      }),                                                                                          \
      Contains(text) && Contains("memory_order_test.cpp:"))
} // namespace

TEST_CASE("orders and scopes are those of LLVM's operations") {
  const std::string ir = traceText(
      [](fx::Tensor a, fx::Tensor h) {
        fx::fence(Order::release);
        fx::fence(Order::acq_rel, fx::MemoryScope::block);
        fx::fence(Order::seq_cst, fx::MemoryScope::system);
        fx::atomic(fx::AtomicOp::add, a.iter(), 1, Order::acq_rel, fx::MemoryScope::wave);
        fx::atomic_cas(a.iter(), 1, 2, Order::release);
        fx::atomic_cas(a.iter(), 1, 2, Order::acq_rel, "agent-one-as");
        fx::atomic(fx::AtomicOp::add, h.iter(), fx::Vector::splat(1.0f, 2, fx::f16));
      },
      {arrayArg(fx::i32, 8), tensorArg(fx::f16, {fix(8)}, {fix(1)}, 4)});
  std::size_t at = 0;
  for (const char *text :
       {"llvm.fence syncscope(\"agent\") release", "llvm.fence syncscope(\"workgroup\") acq_rel",
        "llvm.fence seq_cst", "llvm.atomicrmw add", "syncscope(\"wavefront\") acq_rel",
        "llvm.cmpxchg", "syncscope(\"agent\") release monotonic", "llvm.cmpxchg",
        "syncscope(\"agent-one-as\") acq_rel acquire", "llvm.atomicrmw fadd",
        "syncscope(\"agent\") monotonic", "vector<2xf16>"}) {
    INFO(text << " in " << ir);
    at = ir.find(text, at);
    REQUIRE(at != std::string::npos);
  }
}

TEST_CASE("an order that an access can't have is refused") {
  REFUSES("a fence of order relaxed orders nothing", fx::fence(Order::relaxed));
  REFUSES("there is no memory scope grid", fx::fence(Order::release, "grid"));
  REFUSES("a release is a store's", fx::atomic_load(a.iter(), Order::acq_rel));
  REFUSES("an acquire is a load's", fx::atomic_store(a.iter(), 1, Order::acq_rel));
}

TEST_CASE("what is no pair of 16-bit floats is not added in one step") {
  REFUSES("there is no atomic max on 2 neighbours of f16",
          fx::atomic(fx::AtomicOp::max, h.iter(), fx::Vector::splat(1.0f, 2, fx::f16)));
  REFUSES("there is no atomic add on 4 neighbours of f16",
          fx::atomic(fx::AtomicOp::add, h.iter(), fx::Vector::splat(1.0f, 4, fx::f16)));
  REFUSES("there is no atomic add on 2 neighbours of i32",
          fx::atomic(fx::AtomicOp::add, a.iter(), fx::Vector::splat(1, 2, fx::i32)));
  REFUSES("atomic of elements of f16 is given bf16",
          fx::atomic(fx::AtomicOp::add, h.iter(), fx::Vector::splat(1.0f, 2, fx::bf16)));
  REFUSES("needs a pointer that is aligned to 4 bytes",
          fx::atomic(fx::AtomicOp::add, h.iter() + 1, fx::Vector::splat(1.0f, 2, fx::f16)));
}

TEST_CASE("an address is of global or shared memory, and of the memory's width") {
  REFUSES("address() works on global or shared memory",
          fx::make_rmem_tensor(4, fx::i32).iter().address());
  REFUSES("address() works on global or shared memory",
          fx::rocdl::make_buffer_tensor(a).iter().address());
  REFUSES("takes an integer of 64 bits, not i32", fx::Pointer::from_address(n, fx::f32));
  REFUSES("takes an integer of 32 bits, not i64",
          fx::Pointer::from_address(n.to(fx::i64), fx::f32, fx::AddressSpace::shared));
  REFUSES("takes an integer of 64 bits, not f32", fx::Pointer::from_address(x, fx::f32));
  REFUSES("makes pointers to global or shared memory",
          fx::Pointer::from_address(n.to(fx::i64), fx::f32, fx::AddressSpace::register_));
  REFUSES("takes an element type of whole bytes, not f4E2M1FN",
          fx::Pointer::from_address(n.to(fx::i64), fx::f4E2M1FN));
  REFUSES("not 2", fx::Pointer::from_address(n.to(fx::i64), fx::f32, fx::AddressSpace::global, 2));
  REFUSES("not 12",
          fx::Pointer::from_address(n.to(fx::i64), fx::f32, fx::AddressSpace::global, 12));
  REFUSES("not -4",
          fx::Pointer::from_address(n.to(fx::i64), fx::f32, fx::AddressSpace::global, -4));
}
