#include "emulator/loader/kernarg.h"

#include <cstring>
#include <stdexcept>

namespace flyemu::loader {
namespace {

std::string describe(const KernelMetadata &kernel) {
  return "kernel " + kernel.name + " takes " + std::to_string(kernel.explicitSize()) +
         " bytes of arguments";
}

/// The value of a hidden argument (LLVM's AMDGPUUsage, "Code Object V5 Kernel Argument Metadata").
uint64_t hiddenValue(const std::string &kind, const LaunchShape &shape) {
  if (kind == "hidden_dynamic_lds_size")
    return shape.dynamicLds;
  if (kind == "hidden_grid_dims")
    return 3; // HIP launches are always three-dimensional
  static constexpr const char *prefixes[] = {"hidden_block_count_", "hidden_group_size_"};
  for (const char *prefix : prefixes) {
    size_t length = std::strlen(prefix);
    if (kind.size() != length + 1 || kind.compare(0, length, prefix) != 0)
      continue;
    unsigned axis = kind[length] - 'x';
    if (axis < 3)
      return prefix == prefixes[0] ? shape.grid[axis] : shape.block[axis];
  }
  return 0; // remainders of partial workgroups, global offsets, services that are not there
}

} // namespace

std::vector<uint8_t> packArguments(const KernelMetadata &kernel, void *const *values) {
  std::vector<uint8_t> segment(kernel.kernargSize);
  unsigned index = 0;
  for (const KernelArgument &argument : kernel.arguments) {
    if (argument.isHidden())
      continue;
    if (!values || !values[index])
      throw std::invalid_argument(describe(kernel) + "; the pointer to argument " +
                                  std::to_string(index) + " is null");
    std::memcpy(segment.data() + argument.offset, values[index++], argument.size);
  }
  return segment;
}

std::vector<uint8_t> packBuffer(const KernelMetadata &kernel, const void *bytes, size_t size) {
  if (size < kernel.explicitSize() || size > kernel.kernargSize)
    throw std::invalid_argument(describe(kernel) + " in a segment of " +
                                std::to_string(kernel.kernargSize) + "; the packed buffer has " +
                                std::to_string(size));
  if (size && !bytes)
    throw std::invalid_argument(describe(kernel) + "; the packed buffer is null");
  std::vector<uint8_t> segment(kernel.kernargSize);
  if (size)
    std::memcpy(segment.data(), bytes, size);
  return segment;
}

void fillHiddenArguments(const KernelMetadata &kernel, const LaunchShape &shape,
                         std::vector<uint8_t> &segment) {
  for (const KernelArgument &argument : kernel.arguments) {
    if (!argument.isHidden() || argument.size > sizeof(uint64_t))
      continue;
    uint64_t value = hiddenValue(argument.valueKind, shape);
    std::memcpy(segment.data() + argument.offset, &value, argument.size);
  }
}

} // namespace flyemu::loader
