// Examples of docs/memory-order.md.
#include "example.h"

namespace {

constexpr int threads = 64;

// region: last
/// The sum of all x, by as many blocks as there are parts of 64. Each block writes the sum of its
/// part; the block that comes last adds the parts, in their order.
const fx::Kernel total{"total", [](fx::Tensor x, fx::Tensor parts, fx::Tensor arrived,
                                   fx::Tensor out) {
  auto tid = fx::thread_idx().x;
  auto block = fx::block_idx().x;
  fx::SharedAllocator shared;
  struct Storage {
    fx::Array<fx::Int32, 1> before;
  };
  auto before = shared.allocate<Storage>().before.view();

  fx::Numeric sum = fx::gpu::block_reduce(x(block * threads + tid), fx::Reduction::add, shared);
  fx::if_(tid == 0, [&] {
    parts(block) = sum;                                          // 1
    before(0) = fx::Int32(fx::atomic(fx::AtomicOp::add, arrived.iter(), 1,
                                     fx::MemoryOrder::acq_rel)); // 2
  });
  fx::gpu::barrier();                                            // 3
  fx::if_(before(0) == fx::grid_dim().x - 1, [&] {
    fx::if_(tid == 0, [&] {
      fx::Var<fx::Float32> all(0.0f);
      for (fx::Int32 b : fx::range(fx::grid_dim().x))
        all += parts(b);                                         // 4
      out(0) = all;
    });
  });
}};
// endregion

// region: flag
/// Block 0 writes a number and raises a flag; block 1 waits for the flag and reads the number.
const fx::Kernel pass{"pass", [](fx::Tensor number, fx::Tensor flag, fx::Tensor out) {
  fx::if_(fx::block_idx().x == 0,
          [&] {
            number(0) = 42;
            fx::atomic_store(flag.iter(), 1, fx::MemoryOrder::release);
          },
          [&] {
            fx::while_([&] { return fx::atomic_load(flag.iter(), fx::MemoryOrder::acquire) == 0; },
                       [] {});
            out(0) = number(0);
          });
}};
// endregion

} // namespace

TEST_CASE("memory order: the last block adds", "[memory-order]") {
  constexpr int blocks = 5;
  fx::DeviceArray<float> x({blocks * threads}), parts({blocks}), out({1});
  fx::DeviceArray<int> arrived({1});
  std::vector<float> values(x.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = float(i % 7);
  x.copy_from(values);
  parts.poison();
  // region: launch
  arrived.fill(0);
  total(x, parts, arrived, out).launch({.grid = blocks, .block = threads});
  // endregion
  float expected = 0;
  for (float v : values)
    expected += v;
  CHECK(out.to_host()[0] == expected);
}

TEST_CASE("memory order: a flag", "[memory-order]") {
  fx::DeviceArray<int> number({1}), flag({1}), out({1});
  number.fill(0);
  flag.fill(0);
  pass(number, flag, out).launch({.grid = 2, .block = 1});
  CHECK(out.to_host()[0] == 42);
}

TEST_CASE("memory order: an order that a load can't have", "[memory-order]") {
  const fx::Kernel wrong{"wrong", [](fx::Tensor flag) {
    // region: wrong
    fx::atomic_load(flag.iter(), fx::MemoryOrder::release);
    // endregion
  }};
  fx::DeviceArray<int> flag({1});
  example::expectOutput("memory-order-wrong.txt", example::messageOf<fx::TraceError>([&] {
    wrong(flag).launch({.grid = 1, .block = 1});
  }));
}
