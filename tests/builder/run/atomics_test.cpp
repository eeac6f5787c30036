// Atomic operations of all kinds, on global and on shared memory.
#include "run.h"

#include <catch2/catch.hpp>

#include <algorithm>

namespace fx = flydsl;

namespace {
const fx::AtomicOp all[] = {fx::AtomicOp::add,  fx::AtomicOp::max, fx::AtomicOp::min,
                            fx::AtomicOp::and_, fx::AtomicOp::or_, fx::AtomicOp::xor_,
                            fx::AtomicOp::inc,  fx::AtomicOp::dec, fx::AtomicOp::exchange};

/// All threads on one element; what is left in it, and the sum of what came before.
template <class T> void check(fx::AtomicOp op, bool isShared, T start) {
  const fx::Kernel kernel{"atomics", [op, isShared](fx::Tensor memory, fx::Tensor old) {
                            auto tid = fx::thread_idx().x;
                            fx::DType type = memory.dtype();
                            fx::Numeric value = (tid * 5 + 3).to(type);
                            if (!isShared) {
                              old(tid) = fx::atomic(op, memory.iter(), value);
                              return;
                            }
                            fx::SharedAllocator shared;
                            auto at = shared.allocate(type.bytes(), 8).recast(type);
                            fx::if_(tid == 0, [&] { at.store(memory(0)); });
                            fx::gpu::barrier();
                            old(tid) = fx::atomic(op, at, value, "workgroup");
                            fx::gpu::barrier();
                            fx::if_(tid == 0, [&] { memory(0) = at.load(); });
                          }};
  fx::DeviceArray<T> memory({1}), old({64});
  memory.copy_from(std::vector<T>{start});
  old.poison();
  kernel(memory, old).launch({.grid = 1, .block = 64});
  auto seen = old.to_host();
  const T left = memory.to_host()[0];
  auto next = [&](T a, T b) -> T {
    switch (op) {
    case fx::AtomicOp::add:
      return T(a + b);
    case fx::AtomicOp::max:
      return std::max(a, b);
    case fx::AtomicOp::min:
      return std::min(a, b);
    case fx::AtomicOp::exchange:
      return b;
    default:
      break;
    }
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      switch (op) {
      case fx::AtomicOp::and_:
        return a & b;
      case fx::AtomicOp::or_:
        return a | b;
      case fx::AtomicOp::xor_:
        return a ^ b;
      case fx::AtomicOp::inc:
        return U(a) >= U(b) ? T(0) : T(a + 1);
      default:
        return a == 0 || U(a) > U(b) ? b : T(a - 1);
      }
    }
    return a;
  };
  // The order is free: follow the chain of values that the threads saw, from the first one on.
  std::vector<bool> done(64);
  T value = start;
  for (int step = 0; step < 64; ++step) {
    int found = -1;
    for (int t = 0; t < 64 && found < 0; ++t)
      if (!done[std::size_t(t)] && seen[std::size_t(t)] == value) {
        // Of threads that saw the same, one that changes nothing goes first.
        found = t;
        for (int u = t; u < 64; ++u)
          if (!done[std::size_t(u)] && seen[std::size_t(u)] == value &&
              next(value, T(u * 5 + 3)) == value)
            found = u;
      }
    INFO("operation " << int(op) << ", step " << step << ", value " << value);
    REQUIRE(found >= 0);
    done[std::size_t(found)] = true;
    value = next(value, T(found * 5 + 3));
  }
  CHECK(value == left);
}
} // namespace

TEST_CASE("atomics on integers combine what all threads bring") {
  for (bool isShared : {false, true})
    for (fx::AtomicOp op : all) {
      check<std::int32_t>(op, isShared, -7);
      check<std::uint32_t>(op, isShared, 0x80000005u);
      check<std::int64_t>(op, isShared, -9);
      check<std::uint64_t>(op, isShared, 12);
    }
}

TEST_CASE("atomics on floats combine what all threads bring") {
  for (bool isShared : {false, true})
    for (fx::AtomicOp op :
         {fx::AtomicOp::add, fx::AtomicOp::max, fx::AtomicOp::min, fx::AtomicOp::exchange}) {
      check<float>(op, isShared, 2.5f);
      check<double>(op, isShared, -3.25);
    }
}

TEST_CASE("compare and swap builds a lock-free maximum") {
  const fx::Kernel kernel{"swap", [](fx::Tensor memory, fx::Tensor in) {
                            fx::Numeric mine = in(fx::thread_idx().x);
                            fx::Numeric seen = memory(0);
                            fx::while_(
                                fx::carry(seen), [&](auto s) { return s < mine; },
                                [&](auto s) {
                                  fx::Numeric old = fx::atomic_cas(memory.iter(), s, mine);
                                  return fx::select(old == s, mine, old);
                                });
                          }};
  auto in = fx::DeviceArray<float>::random({64}, 8);
  fx::DeviceArray<float> memory({1});
  memory.copy_from(std::vector<float>{-10});
  kernel(memory, in).launch({.grid = 1, .block = 64});
  auto x = in.to_host();
  CHECK(memory.to_host()[0] == *std::max_element(x.begin(), x.end()));
}

TEST_CASE("atomic atoms count a histogram") {
  const fx::Kernel kernel{
      "histogram", [](fx::Tensor counts) {
        auto tid = fx::thread_idx().x;
        auto one = fx::make_rmem_tensor(1, fx::i32);
        one(0) = 1;
        fx::copy(fx::make_copy_atom(fx::UniversalAtomic(fx::AtomicOp::add, fx::i32), fx::i32), one,
                 fx::make_view(counts.iter() + tid % 4, fx::make_layout(1, 1)));
        auto buffer = fx::rocdl::make_buffer_tensor(counts);
        fx::copy(fx::make_copy_atom(fx::rocdl::BufferAtomic(fx::AtomicOp::add, fx::i32), fx::i32),
                 one, fx::make_view(buffer.iter() + tid % 2, fx::make_layout(1, 1)));
      }};
  fx::DeviceArray<int> counts({4});
  counts.copy_from(std::vector<int>(4, 0));
  kernel(counts).launch({.grid = 1, .block = 64});
  CHECK(counts.to_host() == std::vector<int>{16 + 32, 16 + 32, 16, 16});
}

TEST_CASE("a block waits for a flag that another one sets") {
  // Both ways, so that one of them waits for a block that starts after it.
  for (int waiter : {0, 1}) {
    const fx::Kernel handshake{"handshake",
                               [waiter](fx::Tensor data, fx::Tensor flag, fx::Tensor out) {
                                 auto i = fx::thread_idx().x;
                                 fx::if_(
                                     fx::block_idx().x == waiter,
                                     [&] {
                                       fx::while_([&] { return fx::atomic_load(flag.iter()) == 0; },
                                                  [] { fx::rocdl::s_sleep(1); });
                                       out(i) = data(i);
                                     },
                                     [&] {
                                       data(i) = i * 3 + 1;
                                       fx::gpu::barrier();
                                       fx::if_(i == 0, [&] { fx::atomic_store(flag.iter(), 1); });
                                     });
                               }};
    fx::DeviceArray<int> data({64}), flag({1}), out({64});
    data.fill(0);
    flag.fill(0);
    out.poison();
    handshake(data, flag, out).launch({.grid = 2, .block = 64});
    const auto h = out.to_host();
    for (int i = 0; i < 64; ++i)
      CHECK(h[std::size_t(i)] == i * 3 + 1);
  }
}

TEST_CASE("atomic accesses of every width, of global and of shared memory") {
  auto check = [](auto one) {
    using T = decltype(one);
    const fx::Kernel copy{
        "atomic_copy", [](fx::Tensor in, fx::Tensor out) {
          auto i = fx::thread_idx().x;
          const fx::DType type = in.dtype();
          auto at = fx::SharedAllocator().allocate(64 * type.bytes(), 8).recast(type);
          fx::atomic_store(at + i, fx::atomic_load(in.iter() + i), fx::MemoryOrder::relaxed,
                           "workgroup");
          fx::gpu::barrier();
          fx::atomic_store(out.iter() + i,
                           fx::atomic_load(at + (63 - i), fx::MemoryOrder::seq_cst, "workgroup"),
                           fx::MemoryOrder::seq_cst, "system");
        }};
    auto in = fx::DeviceArray<T>::random({64}, 5);
    fx::DeviceArray<T> out({64});
    out.poison();
    copy(in, out).launch({.grid = 1, .block = 64});
    auto expected = in.to_host();
    std::reverse(expected.begin(), expected.end());
    CHECK(out.to_host() == expected);
  };
  check(std::int8_t());
  check(std::int16_t());
  check(std::int32_t());
  check(std::uint64_t());
  check(float());
  check(double());
}

TEST_CASE("the order and the scope of an atomic access are in the machine code") {
  auto isaOf = [](fx::MemoryOrder order, const char *scope) {
    const fx::Kernel wait{
        "waits", [=](fx::Tensor flag, fx::Tensor out) {
          fx::while_([&] { return fx::atomic_load(flag.iter(), order, scope) == 0; }, [] {});
          out(0) = flag(1);
        }};
    auto flag = fx::tensor(static_cast<int *>(nullptr), {2});
    return wait(flag, flag).compile({.block = 64, .arch = "gfx942"}).isa();
  };
  // As LLVM's AMDGPU guide has it ("Memory Model GFX942"): a load at agent scope goes past the
  // wave's cache by sc1, at system scope by sc0 and sc1; an acquire invalidates behind it.
  using Catch::Contains;
  const std::string acquire = isaOf(fx::MemoryOrder::acquire, "agent");
  CHECK_THAT(acquire, Contains(" sc1") && Contains("buffer_inv sc1") && Contains("s_cbranch"));
  CHECK_THAT(isaOf(fx::MemoryOrder::acquire, "system"), Contains("buffer_inv sc0 sc1"));
  const std::string relaxed = isaOf(fx::MemoryOrder::relaxed, "agent");
  CHECK_THAT(relaxed, Contains(" sc1") && !Contains("buffer_inv") && Contains("s_cbranch"));
}
