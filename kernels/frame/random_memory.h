// Device memory with random operands, for tuning.
#pragma once

#include <flydsl/device_array.h>
#include <flydsl/kernels/operands.h>

#include <memory>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Memory for arguments: what is read is as its role says, and inputs are random: floats in
/// [-1, 1), integers from -8 to 7.
class RandomMemory {
public:
  Sampler sampler() {
    return [this](const char *, DType dtype, TensorArg::Dims shape, Role role) {
      return make(dtype, shape, role);
    };
  }

private:
  TensorArg make(DType dtype, TensorArg::Dims shape, Role role);
  std::vector<std::unique_ptr<DeviceArray<std::uint8_t>>> arrays_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
