// Copies in the order of a backend's work, and between backends.
#include "graphs.h"

#include <catch2/catch.hpp>

#include <algorithm>

namespace {
constexpr std::int64_t kCount = 1000;
} // namespace

TEST_CASE("copies to and from tensors keep the order of the backend's graphs") {
  const ggml_backend_ptr backend = backendOn();
  const Chain chain(0, kCount, 5);
  // Graphs that come again are captured the second time, and replayed.
  for (int first : {1, 20, 300, 7}) {
    const auto x = numbers(kCount, first);
    std::vector<float> y(x.size()), half(x.size() / 2);
    ggml_backend_tensor_set_async(backend.get(), chain.x(), x.data(), 0, chain.bytes());
    REQUIRE(chain.computeAsync(backend.get()) == GGML_STATUS_SUCCESS);
    ggml_backend_tensor_get_async(backend.get(), chain.y(), y.data(), 0, chain.bytes());
    ggml_backend_tensor_get_async(backend.get(), chain.y(), half.data(), chain.bytes() / 2,
                                  chain.bytes() / 2);
    ggml_backend_synchronize(backend.get());
    const auto expected = chain.of(x);
    CHECK(y == expected);
    CHECK(half == std::vector<float>(expected.begin() + kCount / 2, expected.end()));
  }
}

TEST_CASE(
    "a tensor goes from backend to backend after what wrote it and before what overwrites it") {
  // Two streams of a device, and two devices.
  for (const std::size_t other : {std::size_t{0}, std::size_t{1}}) {
    const ggml_backend_ptr first = backendOn(0), second = backendOn(other);
    const Chain writer(0, kCount, 7), reader(other, kCount, 4);
    for (int round = 0; round < 4; ++round) {
      const auto x = numbers(kCount, round);
      const auto later = numbers(kCount, 500 + round);
      ggml_backend_tensor_set_async(first.get(), writer.x(), x.data(), 0, writer.bytes());
      REQUIRE(writer.computeAsync(first.get()) == GGML_STATUS_SUCCESS);
      ggml_backend_tensor_copy_async(first.get(), second.get(), writer.y(), reader.x());
      // The source is written again at once; the copy has what it was.
      ggml_backend_tensor_set_async(first.get(), writer.x(), later.data(), 0, writer.bytes());
      REQUIRE(writer.computeAsync(first.get()) == GGML_STATUS_SUCCESS);
      REQUIRE(reader.computeAsync(second.get()) == GGML_STATUS_SUCCESS);
      std::vector<float> y(x.size());
      ggml_backend_tensor_get_async(second.get(), reader.y(), y.data(), 0, reader.bytes());
      ggml_backend_synchronize(second.get());
      CHECK(y == reader.of(writer.of(x)));
      ggml_backend_synchronize(first.get());
    }
  }
}

TEST_CASE("copies between the host's memory and the device's are made through ggml") {
  const ggml_backend_ptr backend = backendOn();
  const ggml_backend_ptr cpu(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
  REQUIRE(cpu);
  const ggml_context_ptr context(
      ggml_init({.mem_size = 4 * ggml_tensor_overhead(), .mem_buffer = nullptr, .no_alloc = true}));
  ggml_tensor *onHost = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, kCount);
  const ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(context.get(), cpu.get()));
  const Chain chain(0, kCount, 2);
  const auto x = numbers(kCount, 3);
  ggml_backend_tensor_set(onHost, x.data(), 0, chain.bytes());
  ggml_backend_tensor_copy_async(cpu.get(), backend.get(), onHost, chain.x());
  REQUIRE(chain.computeAsync(backend.get()) == GGML_STATUS_SUCCESS);
  ggml_backend_tensor_copy_async(backend.get(), cpu.get(), chain.y(), onHost);
  std::vector<float> y(x.size());
  ggml_backend_tensor_get(onHost, y.data(), 0, chain.bytes());
  CHECK(y == chain.of(x));
}

TEST_CASE("a backend waits for an event of another one") {
  const ggml_backend_ptr first = backendOn(), second = backendOn();
  const Chain chain(0, kCount, 6);
  const ggml_backend_event_ptr event(ggml_backend_event_new(device()));
  const auto x = numbers(kCount, 11);
  ggml_backend_tensor_set_async(first.get(), chain.x(), x.data(), 0, chain.bytes());
  REQUIRE(chain.computeAsync(first.get()) == GGML_STATUS_SUCCESS);
  ggml_backend_event_record(event.get(), first.get());
  ggml_backend_event_wait(second.get(), event.get());
  std::vector<float> y(x.size());
  ggml_backend_tensor_get_async(second.get(), chain.y(), y.data(), 0, chain.bytes());
  ggml_backend_synchronize(second.get());
  CHECK(y == chain.of(x));
  ggml_backend_event_synchronize(event.get());
}

TEST_CASE("a buffer is cleared after graphs that are under way") {
  // Many kernels, the last of which writes y long after the graph is under way.
  constexpr std::int64_t count = std::int64_t{1} << 14;
  const ggml_backend_ptr backend = backendOn();
  const Chain chain(0, count, 400);
  const auto x = numbers(count, 5);
  ggml_backend_tensor_set(chain.x(), x.data(), 0, chain.bytes());
  REQUIRE(chain.compute(backend.get()) == GGML_STATUS_SUCCESS); // kernels are compiled
  REQUIRE(chain.computeAsync(backend.get()) == GGML_STATUS_SUCCESS);
  ggml_backend_buffer_clear(chain.y()->buffer, 0);
  ggml_backend_synchronize(backend.get());
  std::vector<float> y(x.size());
  ggml_backend_tensor_get(chain.y(), y.data(), 0, chain.bytes());
  CHECK(std::ranges::count(y, 0.0f) == std::ssize(y));
}
