// Memory of the host that kernels reach.
#include <flydsl/flydsl.h>
#include <flydsl/host/device_array.h>
#include <flydsl/host/graph.h>
#include <flydsl/host/host_memory.h>

#include <catch2/catch.hpp>

#include <atomic>
#include <memory>

namespace fx = flydsl;

namespace {

const fx::Kernel answer{
    "answer", [](fx::Int64 memory, fx::Int32 value) {
      const auto word = [&](int at) { return fx::Pointer::from_address(memory + at * 4, fx::i32); };
      const fx::Numeric asked = word(0).load();
      fx::atomic_store(word(1), asked + value, fx::MemoryOrder::release, fx::MemoryScope::system);
    }};

std::int64_t addressOf(const fx::HostMemory &memory) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(memory.data()));
}

} // namespace

TEST_CASE("kernels of each device read and write memory of the host") {
  fx::HostMemory memory(8);
  CHECK(memory.bytes() == 8);
  auto *words = static_cast<std::int32_t *>(memory.data());
  CHECK(words[0] == 0);
  CHECK(words[1] == 0);
  words[0] = 40;
  for (int device = 0; device < fx::Device::count(); ++device) {
    const fx::Stream stream(fx::Device{device});
    answer(addressOf(memory), device + 2).launch({.grid = 1, .block = 1, .stream = stream});
    stream.synchronize();
    CHECK(std::atomic_ref(words[1]).load(std::memory_order_acquire) == 42 + device);
  }
}

TEST_CASE("memory of the host is made while a graph is captured") {
  const fx::Stream stream;
  std::unique_ptr<fx::HostMemory> memory;
  const fx::Graph graph = fx::Graph::capture(stream, [&](const fx::Stream &captured) {
    memory = std::make_unique<fx::HostMemory>(8);
    answer(addressOf(*memory), 5).launch({.grid = 1, .block = 1, .stream = captured});
  });
  auto *words = static_cast<std::int32_t *>(memory->data());
  for (int asked : {1, 10}) {
    words[0] = asked;
    graph.launch(stream);
    stream.synchronize();
    CHECK(words[1] == asked + 5);
  }
}

TEST_CASE("memory of the host is gone after a reset of its device") {
  const fx::Device before = fx::Device::current(), last(fx::Device::count() - 1);
  last.make_current();
  const fx::HostMemory memory(8);
  last.reset();
  std::string text;
  try {
    (void)memory.data();
  } catch (const fx::RuntimeError &error) {
    text = error.what();
  }
  before.make_current();
  CHECK(text.find("pinned memory can't be used: the device that was current when it was made was "
                  "reset") != std::string::npos);
}
