#include "emulator/loader/metadata.h"

#include "support/msgpack.h"

#include <algorithm>

namespace flyemu::loader {
namespace {

using nlohmann::json;

// Larger sizes are taken for damage: a launch copies its segment, and each value of the note takes
// many times its bytes while it is read.
constexpr uint32_t kMaxKernargSize = uint32_t(1) << 20;
constexpr size_t kMaxNote = size_t(64) << 20;

[[noreturn]] void malformed(const std::string &message) {
  throw LoadError(LoadFailure::Malformed, "metadata: " + message);
}

uint32_t number(const json &map, const char *key, uint32_t otherwise) {
  auto it = map.find(key);
  if (it == map.end())
    return otherwise;
  if (!it->is_number_integer() || it->get<int64_t>() < 0 || it->get<int64_t>() > UINT32_MAX)
    malformed(std::string(key) + " is no 32-bit number");
  return it->get<uint32_t>();
}

std::string text(const json &map, const char *key) {
  auto it = map.find(key);
  if (it == map.end())
    return {};
  if (!it->is_string())
    malformed(std::string(key) + " is no string");
  return it->get<std::string>();
}

KernelParameter parseArgument(const json &map, const KernelNotes &kernel) {
  if (!map.is_object())
    malformed("an argument of " + kernel.name + " is no map");
  KernelParameter result;
  result.name = text(map, ".name");
  result.valueKind = text(map, ".value_kind");
  result.offset = number(map, ".offset", 0);
  result.size = number(map, ".size", 0);
  if (uint64_t(result.offset) + result.size > kernel.kernargSize)
    malformed("an argument of " + kernel.name + " ends at byte " +
              std::to_string(uint64_t(result.offset) + result.size) + " of a kernarg segment of " +
              std::to_string(kernel.kernargSize));
  return result;
}

KernelNotes parseKernel(const json &map) {
  if (!map.is_object())
    malformed("a kernel is no map");
  KernelNotes result;
  result.name = text(map, ".name");
  result.symbol = text(map, ".symbol");
  if (result.name.empty() || result.symbol.empty())
    malformed("a kernel has no name or no symbol");
  result.kernargSize = number(map, ".kernarg_segment_size", 0);
  if (result.kernargSize > kMaxKernargSize)
    malformed("kernel " + result.name + " claims a kernarg segment of " +
              std::to_string(result.kernargSize) + " bytes; the most is " +
              std::to_string(kMaxKernargSize));
  result.kernargAlignment = number(map, ".kernarg_segment_align", 8);
  result.groupSegmentSize = number(map, ".group_segment_fixed_size", 0);
  result.privateSegmentSize = number(map, ".private_segment_fixed_size", 0);
  result.sgprCount = number(map, ".sgpr_count", 0);
  result.vgprCount = number(map, ".vgpr_count", 0);
  result.agprCount = number(map, ".agpr_count", 0);
  result.sgprSpills = number(map, ".sgpr_spill_count", 0);
  result.vgprSpills = number(map, ".vgpr_spill_count", 0);
  result.wavefrontSize = number(map, ".wavefront_size", 64);
  result.maxFlatWorkgroupSize = number(map, ".max_flat_workgroup_size", 1024);
  if (auto it = map.find(".uses_dynamic_stack"); it != map.end() && it->is_boolean())
    result.usesDynamicStack = it->get<bool>();
  if (auto it = map.find(".reqd_workgroup_size"); it != map.end()) {
    if (!it->is_array() || it->size() != 3)
      malformed(".reqd_workgroup_size is not three numbers");
    for (unsigned i = 0; i < 3; ++i) {
      if (!(*it)[i].is_number_unsigned())
        malformed(".reqd_workgroup_size is not three numbers");
      result.requiredWorkgroupSize[i] = (*it)[i].get<uint32_t>();
    }
  }
  if (auto it = map.find(".args"); it != map.end()) {
    if (!it->is_array())
      malformed(".args is no list");
    for (const json &argument : *it)
      result.arguments.push_back(parseArgument(argument, result));
  }
  return result;
}

} // namespace

const KernelParameter *KernelNotes::hiddenPointer(std::string_view kind) const {
  for (const KernelParameter &argument : arguments)
    if (argument.valueKind == kind && argument.size == sizeof(uint64_t))
      return &argument;
  return nullptr;
}

uint32_t KernelNotes::explicitSize() const {
  uint32_t end = 0;
  for (const KernelParameter &argument : arguments)
    if (!argument.isHidden())
      end = std::max(end, argument.offset + argument.size);
  return end;
}

Metadata Metadata::parse(ByteView document) {
  const uint8_t *begin = document.data(), *end = begin + document.size();
  if (document.size() > kMaxNote)
    malformed("a note of " + std::to_string(document.size()) + " bytes");
  const json root = flydsl::support::readMsgpack(begin, end);
  if (!root.is_object())
    malformed("no msgpack map");

  Metadata result;
  result.target = text(root, "amdhsa.target");
  if (auto it = root.find("amdhsa.kernels"); it != root.end()) {
    if (!it->is_array())
      malformed("amdhsa.kernels is no list");
    for (const json &kernel : *it)
      result.kernels.push_back(parseKernel(kernel));
  }
  if (auto it = root.find("amdhsa.printf"); it != root.end() && it->is_array()) {
    auto formats = std::make_shared<std::vector<std::string>>();
    for (const json &format : *it)
      if (format.is_string())
        formats->push_back(format.get<std::string>());
    for (KernelNotes &kernel : result.kernels)
      kernel.printfFormats = formats;
  }
  return result;
}

} // namespace flyemu::loader
