#include "emulator/loader/kernarg.h"

#include "emulator/isa/registers.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <stdexcept>

namespace flyemu::loader {
namespace {

std::string describe(const KernelNotes &kernel) {
  return "kernel " + kernel.name + " takes " + std::to_string(kernel.explicitSize()) +
         " bytes of arguments";
}

enum class HiddenValue {
  Zero,         ///< as HIP gives it: no offsets, no workgroups that are cut off
  BlockCount,   ///< workgroups along the axis
  GroupSize,    ///< work-items of a workgroup along the axis
  GridDims,     ///< dimensions of the launch
  DynamicLds,   ///< bytes
  LdsBase,      ///< the upper half of an address in LDS
  ScratchBase,  ///< the upper half of an address in scratch
  LaunchPointer ///< what the launch has, or null
};

struct HiddenArgument {
  const char *kind;
  uint32_t size; ///< bytes
  HiddenValue value;
  unsigned axis = 0;
};

// LLVM's AMDGPUUsage, "Code Object V3 and above Kernel Argument Metadata" and the same of V5.
constexpr HiddenArgument kHiddenArguments[] = {
    {"hidden_global_offset_x", 8, HiddenValue::Zero},
    {"hidden_global_offset_y", 8, HiddenValue::Zero},
    {"hidden_global_offset_z", 8, HiddenValue::Zero},
    {"hidden_none", 8, HiddenValue::Zero},
    {"hidden_printf_buffer", 8, HiddenValue::LaunchPointer},
    {"hidden_hostcall_buffer", 8, HiddenValue::LaunchPointer},
    {"hidden_default_queue", 8, HiddenValue::LaunchPointer},
    {"hidden_completion_action", 8, HiddenValue::LaunchPointer},
    {"hidden_multigrid_sync_arg", 8, HiddenValue::LaunchPointer},
    {"hidden_block_count_x", 4, HiddenValue::BlockCount, 0},
    {"hidden_block_count_y", 4, HiddenValue::BlockCount, 1},
    {"hidden_block_count_z", 4, HiddenValue::BlockCount, 2},
    {"hidden_group_size_x", 2, HiddenValue::GroupSize, 0},
    {"hidden_group_size_y", 2, HiddenValue::GroupSize, 1},
    {"hidden_group_size_z", 2, HiddenValue::GroupSize, 2},
    {"hidden_remainder_x", 2, HiddenValue::Zero},
    {"hidden_remainder_y", 2, HiddenValue::Zero},
    {"hidden_remainder_z", 2, HiddenValue::Zero},
    {"hidden_grid_dims", 2, HiddenValue::GridDims},
    {"hidden_heap_v1", 8, HiddenValue::LaunchPointer},
    {"hidden_dynamic_lds_size", 4, HiddenValue::DynamicLds},
    {"hidden_private_base", 4, HiddenValue::ScratchBase},
    {"hidden_shared_base", 4, HiddenValue::LdsBase},
    {"hidden_queue_ptr", 8, HiddenValue::LaunchPointer},
};

uint64_t valueOf(const HiddenArgument &argument, const LaunchShape &shape) {
  switch (argument.value) {
  case HiddenValue::BlockCount:
    return shape.grid[argument.axis];
  case HiddenValue::GroupSize:
    return shape.block[argument.axis];
  case HiddenValue::GridDims:
    return 3; // HIP launches are always three-dimensional
  case HiddenValue::DynamicLds:
    return shape.dynamicLds;
  case HiddenValue::LdsBase:
    return kSharedAperture >> 32;
  case HiddenValue::ScratchBase:
    return kPrivateAperture >> 32;
  case HiddenValue::Zero:
  case HiddenValue::LaunchPointer:
    break;
  }
  return 0;
}

} // namespace

std::vector<uint8_t> packArguments(const KernelNotes &kernel, void *const *values) {
  std::vector<uint8_t> segment(kernel.kernargSize);
  unsigned index = 0;
  for (const KernelParameter &argument : kernel.arguments) {
    if (argument.isHidden())
      continue;
    if (!values || !values[index])
      throw std::invalid_argument(describe(kernel) + "; the pointer to argument " +
                                  std::to_string(index) + " is null");
    std::memcpy(segment.data() + argument.offset, values[index++], argument.size);
  }
  return segment;
}

std::vector<uint8_t> packBuffer(const KernelNotes &kernel, const void *bytes, size_t size) {
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

void fillHiddenArguments(const KernelNotes &kernel, const LaunchShape &shape,
                         std::vector<uint8_t> &segment) {
  for (const KernelParameter &argument : kernel.arguments) {
    if (!argument.isHidden())
      continue;
    const auto known = std::find_if(
        std::begin(kHiddenArguments), std::end(kHiddenArguments),
        [&](const HiddenArgument &hidden) { return argument.valueKind == hidden.kind; });
    if (known == std::end(kHiddenArguments))
      throw std::invalid_argument("kernel " + kernel.name + " takes the hidden argument '" +
                                  argument.valueKind +
                                  "', which the emulator does not know: it knows those of code "
                                  "objects 4 to 6 as LLVM 22 makes them");
    if (argument.size != known->size)
      throw std::invalid_argument("kernel " + kernel.name + ": the hidden argument '" +
                                  argument.valueKind + "' has " + std::to_string(argument.size) +
                                  " bytes, not " + std::to_string(known->size));
    const uint64_t value = valueOf(*known, shape);
    std::memcpy(segment.data() + argument.offset, &value, argument.size);
  }
}

} // namespace flyemu::loader
