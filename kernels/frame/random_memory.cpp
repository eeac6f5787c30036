#include "frame/random_memory.h"

#include "host/operand_values.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

TensorArg RandomMemory::make(DType dtype, TensorArg::Dims shape, Role role) {
  std::int64_t elements = 1;
  for (std::int64_t extent : shape)
    elements *= extent;
  const std::int64_t size = (elements * dtype.memory_bits() + 7) / 8;
  arrays_.push_back(std::make_unique<DeviceArray<std::uint8_t>>(Extents{size}));
  DeviceArray<std::uint8_t> &array = *arrays_.back();
  if (role.read())
    array.copy_from(host::encode(dtype, host::valuesFor(role, dtype, elements, arrays_.size())));
  return tensor(static_cast<void *>(array.data()), dtype, shape);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
