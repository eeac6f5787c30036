// Operands of a call that is timed on the emulator without its matrix products, so that its results are not read.
#pragma once

#include "family.h"

#include <flydsl/host/device_array.h>

#include <cstdint>
#include <vector>

namespace fly_kernels {

/// What decides about a time holds what its role says: counts, offsets, indices. Of inputs of any values the
/// first elements are random, among them all logits of a router; the others, and what kernels write, hold
/// whatever the memory holds. So weights of gigabytes cost no time, and no memory before a kernel touches it.
class TimedMemory {
public:
  /// `around`: bytes before and after what kernels write, as SampledMemory has them, so that lines of memory
  /// lie alike.
  explicit TimedMemory(std::int64_t around) : around_(around) {}
  fk::Sampler sampler();

private:
  fx::TensorArg make(fx::DType dtype, fx::TensorArg::Dims shape, fk::Role role);

  std::int64_t around_;
  std::vector<fx::DeviceArray<std::uint8_t>> operands_;
};

} // namespace fly_kernels
