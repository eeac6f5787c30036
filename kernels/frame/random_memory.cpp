#include "frame/random_memory.h"

#include <flydsl/host_float.h>

#include <cstring>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

template <class T> void fill(std::vector<std::uint8_t> &bytes, std::uint64_t seed) {
  for (std::size_t i = 0; i * sizeof(T) < bytes.size(); ++i) {
    const std::uint64_t bits = detail::randomBits(seed, i);
    T value;
    if constexpr (std::is_integral_v<T>)
      value = static_cast<T>(static_cast<int>(bits >> 60) - (std::is_signed_v<T> ? 8 : 0));
    else
      value = static_cast<T>(static_cast<float>(bits >> 40) * 0x1p-23f - 1.0f);
    std::memcpy(&bytes[i * sizeof(T)], &value, sizeof value);
  }
}

void fillRandom(std::vector<std::uint8_t> &bytes, DType dtype, std::uint64_t seed) {
  using enum DType::Kind;
  switch (dtype.kind()) {
  case f32:
    return fill<float>(bytes, seed);
  case f16:
    return fill<half_t>(bytes, seed);
  case bf16:
    return fill<bfloat16_t>(bytes, seed);
  case f8E4M3FN:
    return fill<float8_e4m3fn_t>(bytes, seed);
  case f8E4M3FNUZ:
    return fill<float8_e4m3fnuz_t>(bytes, seed);
  case f8E5M2:
    return fill<float8_e5m2_t>(bytes, seed);
  case f8E5M2FNUZ:
    return fill<float8_e5m2fnuz_t>(bytes, seed);
  case i8:
    return fill<std::int8_t>(bytes, seed);
  case i32:
    return fill<std::int32_t>(bytes, seed);
  case i64:
    return fill<std::int64_t>(bytes, seed);
  default:
    throw Error("no random operands of type " + std::string(dtype.name()));
  }
}

} // namespace

TensorArg RandomMemory::make(DType dtype, TensorArg::Dims shape, Role role) {
  std::int64_t elements = 1;
  for (std::int64_t extent : shape)
    elements *= extent;
  const std::int64_t size = (elements * dtype.memory_bits() + 7) / 8;
  arrays_.push_back(std::make_unique<DeviceArray<std::uint8_t>>(Extents{size}));
  DeviceArray<std::uint8_t> &array = *arrays_.back();
  if (role == Role::input) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
    fillRandom(bytes, dtype, arrays_.size());
    array.copy_from(bytes);
  }
  return tensor(static_cast<void *>(array.data()), dtype, shape);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
