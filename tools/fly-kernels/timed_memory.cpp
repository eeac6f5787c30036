#include "timed_memory.h"

#include "host/sampled_memory.h"

#include <flydsl/host/copy.h>

#include <algorithm>

namespace fly_kernels {
namespace {

/// Elements of an input of any values that are random.
constexpr std::int64_t kRandom = 1 << 24;

} // namespace

fk::Sampler TimedMemory::sampler() {
  return [this](const char *, fx::DType dtype, fx::TensorArg::Dims shape, fk::Role role) {
    return make(dtype, shape, role);
  };
}

fx::TensorArg TimedMemory::make(fx::DType dtype, fx::TensorArg::Dims shape, fk::Role role) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape)
    elements *= extent;
  const bool isWritten = !role.read() || role == fk::Role::both || role == fk::Role::flagged;
  const std::int64_t around = isWritten ? around_ : 0;
  operands_.emplace_back(fx::Extents{(elements * dtype.memory_bits() + 7) / 8 + 2 * around});
  std::uint8_t *const memory = operands_.back().data() + around;
  if (role.read()) {
    const bool isAny = role == fk::Role::input || role == fk::Role::both;
    const std::vector<std::uint8_t> bytes = fk::host::sampleBytes(
        role, dtype, isAny ? std::min(elements, kRandom) : elements, operands_.size());
    const fx::Stream stream;
    fx::copy_async(memory, bytes.data(), bytes.size(), stream);
    stream.synchronize();
  }
  return fx::tensor(static_cast<void *>(memory), dtype, shape);
}

} // namespace fly_kernels
