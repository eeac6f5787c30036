// Operands of a call that are all zeros, for figures that depend on no values.
#pragma once

#include <flydsl/flydsl.h>
#include <flydsl/kernels/operands.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace kernel_tests {

/// Device memory that lives as long as this does.
class ZeroOperands {
public:
  /// Makes operands for make_args, and keeps them.
  flydsl::kernels::Sampler sampler() {
    return [this](const char *, flydsl::DType dtype, flydsl::TensorArg::Dims shape,
                  flydsl::kernels::Role) {
      std::int64_t bytes = dtype.memory_bits() / 8;
      for (std::int64_t extent : shape)
        bytes *= extent;
      memory_.push_back(
          std::make_unique<flydsl::DeviceArray<std::uint8_t>>(flydsl::Extents{bytes}));
      memory_.back()->fill(0);
      return flydsl::tensor(static_cast<void *>(memory_.back()->data()), dtype, shape);
    };
  }

private:
  std::vector<std::unique_ptr<flydsl::DeviceArray<std::uint8_t>>> memory_;
};

} // namespace kernel_tests
