#include "graphs.h"

#include <catch2/catch.hpp>
#include <flydsl/flydsl.h>

#include <cstdlib>
#include <stdexcept>

ggml_backend_reg_t registry() {
  static const ggml_backend_reg_t loaded = [] {
    const char *path = std::getenv("TEST_GGML_BACKEND");
    if (!path)
      throw std::runtime_error("TEST_GGML_BACKEND is not set; it is the path of "
                               "libggml-flydsl.so");
    const ggml_backend_reg_t reg = ggml_backend_load(path);
    if (!reg)
      throw std::runtime_error(std::string(path) + " was not loaded");
    return reg;
  }();
  return loaded;
}
ggml_backend_dev_t device(std::size_t index) { return ggml_backend_reg_dev_get(registry(), index); }
ggml_backend_ptr backendOn(std::size_t index) {
  return ggml_backend_ptr(ggml_backend_dev_init(device(index), nullptr));
}

ggml_context_ptr contextOf(std::size_t tensors) {
  return ggml_context_ptr(
      ggml_init({.mem_size = tensors * ggml_tensor_overhead() + ggml_graph_overhead(),
                 .mem_buffer = nullptr,
                 .no_alloc = true}));
}
std::vector<std::string> kernelsOf(ggml_backend_t backend, ggml_cgraph *graph) {
  std::vector<std::string> names;
  for (const auto &launch : flydsl::Device(0).count_launches(
           [&] { REQUIRE(ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS); }))
    names.push_back(launch.kernel);
  return names;
}

Log::Log() {
  ggml_log_set(
      [](ggml_log_level, const char *text, void *log) { static_cast<Log *>(log)->text_ += text; },
      this);
}
Log::~Log() { ggml_log_set(nullptr, nullptr); }
int Log::count(const std::string &text) const {
  int found = 0;
  for (auto at = text_.find(text); at != std::string::npos; at = text_.find(text, at + 1))
    ++found;
  return found;
}

Chain::Chain(std::size_t index, std::int64_t n, int rounds) : rounds_(rounds) {
  context_ = contextOf(static_cast<std::size_t>(rounds + 2));
  x_ = ggml_new_tensor_1d(context_.get(), GGML_TYPE_F32, n);
  y_ = x_;
  for (int round = 0; round < rounds; ++round)
    y_ = ggml_scale_bias(context_.get(), y_, 3, 1);
  graph_ = ggml_new_graph(context_.get());
  ggml_build_forward_expand(graph_, y_);
  buffer_.reset(ggml_backend_alloc_ctx_tensors_from_buft(
      context_.get(), ggml_backend_dev_buffer_type(device(index))));
}
std::vector<float> Chain::of(std::vector<float> x) const {
  for (float &number : x)
    for (int round = 0; round < rounds_; ++round)
      number = 3 * number + 1;
  return x;
}

std::vector<float> numbers(std::int64_t n, int first) {
  std::vector<float> all;
  for (std::int64_t i = 0; i < n; ++i)
    all.push_back(static_cast<float>((first + i) % 1000));
  return all;
}
