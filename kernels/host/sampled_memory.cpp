#include "host/sampled_memory.h"

#include "host/operand_values.h"

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::host {
namespace {

constexpr std::uint8_t kPoison = 0xff; // of DeviceArray::poison

std::int64_t bytesOf(DType dtype, std::int64_t elements) {
  return (elements * dtype.memory_bits() + 7) / 8;
}

} // namespace

std::vector<std::uint8_t> sampleBytes(Role role, DType dtype, std::int64_t elements,
                                      std::uint64_t seed) {
  if (dtype.memory_bits() >= 8)
    return encode(dtype, valuesFor(role, dtype, elements, seed));
  return encode(u8, randomValues(u8, bytesOf(dtype, elements), seed));
}

std::vector<std::uint8_t> SampledMemory::Operand::bytes() const {
  const std::vector<std::uint8_t> all = memory->to_host();
  return {all.begin() + around, all.end() - around};
}

Sampler SampledMemory::sampler() {
  return [this](const char *name, DType dtype, TensorArg::Dims shape, Role role) {
    return make(name, dtype, shape, role);
  };
}

TensorArg SampledMemory::make(const char *name, DType dtype, TensorArg::Dims shape, Role role) {
  Operand operand{.name = name,
                  .dtype = dtype,
                  .shape = {shape.begin(), shape.end()},
                  .role = role,
                  .elements = 1,
                  .around = role.read() && role != Role::both && role != Role::flagged ? 0 : around_,
                  .memory = nullptr};
  for (std::int64_t extent : shape)
    operand.elements *= extent;
  operand.memory = std::make_unique<DeviceArray<std::uint8_t>>(
      Extents{bytesOf(dtype, operand.elements) + 2 * operand.around});
  operands_.push_back(std::move(operand));
  Operand &made = operands_.back();
  fill(made, operands_.size());
  return tensor(static_cast<void *>(made.memory->data() + made.around), dtype, shape);
}

void SampledMemory::fill(Operand &operand, std::uint64_t seed) {
  if (!operand.role.read()) // nothing was written there, as far as the emulator knows
    return operand.memory->poison();
  std::vector<std::uint8_t> bytes =
      sampleBytes(operand.role, operand.dtype, operand.elements, seed);
  const std::vector<std::uint8_t> around(static_cast<std::size_t>(operand.around), kPoison);
  bytes.insert(bytes.begin(), around.begin(), around.end());
  bytes.insert(bytes.end(), around.begin(), around.end());
  operand.memory->copy_from(bytes);
}

void SampledMemory::fill(std::uint64_t seed) {
  for (Operand &operand : operands_)
    if (++seed; operand.role != Role::flagged)
      fill(operand, seed);
}

std::map<std::string, std::vector<double>> SampledMemory::inputs() const {
  std::map<std::string, std::vector<double>> all;
  for (const Operand &operand : operands_)
    if (operand.role.read() && (operand.dtype.memory_bits() >= 8 || operand.dtype == f4E2M1FN))
      all[operand.name] = decode(operand.dtype, operand.bytes());
  return all;
}

std::vector<double> SampledMemory::values(const std::string &name) const {
  for (const Operand &operand : operands_)
    if (operand.name == name)
      return decode(operand.dtype, operand.bytes());
  throw Error("there is no operand " + name);
}

std::string SampledMemory::writtenAround() const {
  for (const Operand &operand : operands_) {
    if (!operand.around)
      continue;
    const std::vector<std::uint8_t> all = operand.memory->to_host();
    const auto isUntouched = [](std::uint8_t byte) { return byte == kPoison; };
    if (!std::all_of(all.begin(), all.begin() + operand.around, isUntouched) ||
        !std::all_of(all.end() - operand.around, all.end(), isUntouched))
      return operand.name;
  }
  return "";
}

} // namespace kernels::host
FLYDSL_NAMESPACE_END
