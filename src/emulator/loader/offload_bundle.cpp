#include "emulator/loader/offload_bundle.h"

#include <algorithm>
#include <vector>

namespace flyemu::loader {
namespace {

// Clang's documentation, "Clang Offload Bundler", "Bundled Binary File Layout".
constexpr std::string_view Magic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view CompressedMagic = "CCOB";
constexpr uint64_t MaxEntries = 1024;

bool startsWith(ByteView image, std::string_view magic) {
  return image.contains(0, magic.size()) &&
         std::memcmp(image.data(), magic.data(), magic.size()) == 0;
}

struct Entry {
  uint64_t offset;
  uint64_t size;
  std::string id; ///< "hipv4-amdgcn-amd-amdhsa--gfx942:xnack-"
};

std::vector<Entry> readTable(ByteView image) {
  if (startsWith(image, CompressedMagic))
    throw LoadError(LoadFailure::Unsupported,
                    "the offload bundle is compressed; bundle with --no-offload-compress");
  uint64_t count = image.read<uint64_t>(Magic.size(), "bundle entry count");
  if (count > MaxEntries)
    throw LoadError(LoadFailure::Malformed,
                    "the offload bundle claims " + std::to_string(count) + " entries");
  std::vector<Entry> entries;
  uint64_t at = Magic.size() + 8;
  for (uint64_t i = 0; i < count; ++i) {
    Entry entry;
    entry.offset = image.read<uint64_t>(at, "bundle entry");
    entry.size = image.read<uint64_t>(at + 8, "bundle entry");
    uint64_t length = image.read<uint64_t>(at + 16, "bundle entry");
    ByteView id = image.sub(at + 24, length, "bundle entry id");
    entry.id.assign(reinterpret_cast<const char *>(id.data()), id.size());
    at += 24 + length;
    entries.push_back(std::move(entry));
  }
  return entries;
}

/// The target id behind the triple's empty environment ("--gfx942"); false for host entries.
bool targetOf(const Entry &entry, TargetId &target) {
  size_t dashes = entry.id.rfind("--");
  return entry.id.find("amdgcn") != std::string::npos && dashes != std::string::npos &&
         parseTargetId(std::string_view(entry.id).substr(dashes + 2), target);
}

int fitness(const TargetId &code, const TargetId &device) {
  return (code.processor == device.processor) * 4 + (code.xnack != Feature::Any) +
         (code.sramecc != Feature::Any);
}

} // namespace

bool isOffloadBundle(ByteView image) {
  return startsWith(image, Magic) || startsWith(image, CompressedMagic);
}

ByteView selectFromBundle(ByteView image, const TargetId &device) {
  const Entry *best = nullptr;
  int bestFitness = -1;
  std::string offered;
  std::vector<Entry> entries = readTable(image);
  for (const Entry &entry : entries) {
    TargetId target;
    if (!targetOf(entry, target))
      continue;
    offered += (offered.empty() ? "" : ", ") + target.str();
    if (isCompatible(target, device) && fitness(target, device) > bestFitness) {
      best = &entry;
      bestFitness = fitness(target, device);
    }
  }
  if (!best)
    throw LoadError(LoadFailure::OtherTarget, "the bundle holds code for " +
                                                  (offered.empty() ? "no GPU" : offered) +
                                                  " and none for a " + device.str() + " device");
  return image.sub(best->offset, best->size, "bundle entry's code object");
}

uint64_t bundleExtent(ByteView image) {
  uint64_t extent = image.size();
  for (const Entry &entry : readTable(image)) {
    if (entry.offset > UINT32_MAX || entry.size > UINT32_MAX)
      throw LoadError(LoadFailure::Malformed, "a bundle entry ends beyond 4 GiB");
    extent = std::max(extent, entry.offset + entry.size);
  }
  return extent;
}

} // namespace flyemu::loader
