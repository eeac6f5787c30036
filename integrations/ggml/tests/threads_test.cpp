// Several backends of a device at the same time, as two models in a program are.
#include "graphs.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

TEST_CASE("threads with a backend and a model each do not disturb one another") {
  constexpr int kThreads = 4, kRounds = 6;
  (void)registry();
  std::atomic<int> wrong = 0, failed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const std::size_t index = static_cast<std::size_t>(t) % 2;
      const ggml_backend_ptr backend = backendOn(index);
      const Chain chain(index, 256 + 64 * t, 4 + t);
      for (int round = 0; round < kRounds; ++round) {
        const auto x = numbers(256 + 64 * t, t + 10 * round);
        std::vector<float> y(x.size());
        ggml_backend_tensor_set_async(backend.get(), chain.x(), x.data(), 0, chain.bytes());
        failed += chain.computeAsync(backend.get()) != GGML_STATUS_SUCCESS;
        ggml_backend_tensor_get_async(backend.get(), chain.y(), y.data(), 0, chain.bytes());
        ggml_backend_synchronize(backend.get());
        wrong += y != chain.of(x);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(failed == 0);
  CHECK(wrong == 0);
}
