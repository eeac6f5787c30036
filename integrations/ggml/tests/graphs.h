// Small graphs on the backend of this project, as a program of ggml makes them.
#pragma once

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpp.h>
#include <ggml.h>

#include <cstdint>
#include <string>
#include <vector>

/// The registry of the backend, which the first call loads.
ggml_backend_reg_t registry();
/// Device number `index` of it; the tests have two.
ggml_backend_dev_t device(std::size_t index = 0);
ggml_backend_ptr backendOn(std::size_t index = 0);

/// A context for so many tensors without memory of their own, and a graph of them.
ggml_context_ptr contextOf(std::size_t tensors);
/// The kernels that a graph launches on device 0, in their order.
std::vector<std::string> kernelsOf(ggml_backend_t backend, ggml_cgraph *graph);
/// Inputs of products, from -1 on in steps of 1/32, which are exact in bf16.
inline std::vector<float> inputsOf(std::int64_t count) {
  std::vector<float> inputs(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = static_cast<float>(i * 29 % 67) / 32 - 1;
  return inputs;
}

/// What ggml has logged since the object was made.
class Log {
public:
  Log();
  ~Log();
  Log(const Log &) = delete;
  Log &operator=(const Log &) = delete;
  const std::string &text() const { return text_; }
  /// How often a text was logged, and whether it was.
  int count(const std::string &text) const;
  bool has(const std::string &text) const { return count(text) > 0; }

private:
  std::string text_;
};

/// y = 3 x + 1 after `rounds` rounds of it, n elements, in memory of a device.
class Chain {
public:
  Chain(std::size_t index, std::int64_t n, int rounds);
  ggml_tensor *x() const { return x_; }
  ggml_tensor *y() const { return y_; }
  ggml_status compute(ggml_backend_t backend) const {
    return ggml_backend_graph_compute(backend, graph_);
  }
  ggml_status computeAsync(ggml_backend_t backend) const {
    return ggml_backend_graph_compute_async(backend, graph_);
  }
  std::size_t bytes() const { return ggml_nbytes(x_); }
  /// What it gives.
  std::vector<float> of(std::vector<float> x) const;

private:
  int rounds_;
  ggml_context_ptr context_;
  ggml_tensor *x_ = nullptr, *y_ = nullptr;
  ggml_cgraph *graph_ = nullptr;
  ggml_backend_buffer_ptr buffer_;
};

/// Whole numbers from `first` on, which stay exact.
std::vector<float> numbers(std::int64_t n, int first);
