// What can't be done is an error to ggml; the process goes on.
#include "graphs.h"

#include <flydsl/flydsl.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

namespace {

constexpr std::int64_t kCount = 512;

/// The chain's result for these inputs is right.
void checkRuns(const Chain &chain, ggml_backend_t backend) {
  const auto x = numbers(kCount, 2);
  std::vector<float> y(x.size());
  ggml_backend_tensor_set(chain.x(), x.data(), 0, chain.bytes());
  REQUIRE(chain.compute(backend) == GGML_STATUS_SUCCESS);
  ggml_backend_tensor_get(chain.y(), y.data(), 0, chain.bytes());
  CHECK(y == chain.of(x));
}

} // namespace

TEST_CASE("memory that there is not is a null buffer, and the backend goes on") {
  const ggml_backend_ptr backend = backendOn();
  for (const ggml_backend_buffer_type_t type :
       {ggml_backend_dev_buffer_type(device()), ggml_backend_dev_host_buffer_type(device())}) {
    const Log log;
    CHECK(ggml_backend_buft_alloc_buffer(type, std::size_t{1} << 60) == nullptr);
    CHECK(log.has("allocating"));
  }
  checkRuns(Chain(0, kCount, 3), backend.get());
}

TEST_CASE("a graph with an op that is not claimed fails, and says which") {
  const ggml_backend_ptr backend = backendOn();
  const ggml_context_ptr context(
      ggml_init({.mem_size = 8 * ggml_tensor_overhead() + ggml_graph_overhead(),
                 .mem_buffer = nullptr,
                 .no_alloc = true}));
  ggml_tensor *x = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, kCount),
              *y = ggml_new_tensor_1d(context.get(), GGML_TYPE_Q2_K, kCount);
  ggml_tensor *copy = ggml_cpy(context.get(), x, y);
  ggml_set_name(copy, "coded");
  CHECK_FALSE(ggml_backend_dev_supports_op(device(), copy));
  ggml_cgraph *graph = ggml_new_graph(context.get());
  ggml_build_forward_expand(graph, copy);
  const ggml_backend_buffer_ptr buffer(
      ggml_backend_alloc_ctx_tensors(context.get(), backend.get()));
  {
    const Log log;
    CHECK(ggml_backend_graph_compute(backend.get(), graph) == GGML_STATUS_FAILED);
    CHECK(log.has("coded (CPY) is not supported"));
  }
  checkRuns(Chain(0, kCount, 3), backend.get());
}

TEST_CASE(
    "a reset of the device is an error of what was there before; what is made after it works") {
  for (const bool captured : {false, true}) {
    const ggml_backend_ptr old = backendOn(1);
    const Chain lost(1, kCount, 5);
    checkRuns(lost, old.get());
    for (int i = 0; captured && i < 2; ++i)
      checkRuns(lost, old.get());
    flydsl::Device(1).reset();

    const Log log;
    std::vector<float> y(kCount, 0.0f);
    CHECK(lost.compute(old.get()) == GGML_STATUS_FAILED);
    ggml_backend_tensor_set(lost.x(), y.data(), 0, lost.bytes());
    CHECK(log.has("copying to the device"));
    ggml_backend_tensor_get(lost.y(), y.data(), 0, lost.bytes());
    CHECK(log.has("copying from the device"));
    CHECK(std::all_of(y.begin(), y.end(), [](float number) { return std::isnan(number); }));
    ggml_backend_synchronize(old.get());
    CHECK(lost.compute(old.get()) == GGML_STATUS_FAILED);
    CHECK(log.has("make a new backend"));

    const ggml_backend_ptr backend = backendOn(1);
    REQUIRE(backend);
    CHECK(lost.compute(backend.get()) == GGML_STATUS_FAILED);
    CHECK(log.has("was reset"));
    checkRuns(Chain(1, kCount, 5), backend.get());
  }
}

TEST_CASE("a library that ggml unloads stays for what it made, and is loaded again") {
  const std::string path = std::getenv("TEST_GGML_BACKEND");
  const ggml_backend_ptr backend = backendOn();
  const Chain chain(0, kCount, 4);
  const ggml_backend_reg_t before = registry();
  ggml_backend_unload(before);
  CHECK(ggml_backend_reg_by_name("FlyDSL") == nullptr);
  checkRuns(chain, backend.get());
  const ggml_backend_reg_t again = ggml_backend_load(path.c_str());
  CHECK(again == before);
  CHECK(ggml_backend_reg_by_name("FlyDSL") == again);
  checkRuns(Chain(0, kCount, 4), backendOn().get());
}
