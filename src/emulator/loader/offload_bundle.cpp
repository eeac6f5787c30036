#include "emulator/loader/offload_bundle.h"

#include "support/text.h"

#include <llvm/Support/Compression.h>
#include <llvm/Support/Error.h>

#include <algorithm>

namespace flyemu::loader {
namespace {

// Clang's documentation, "Clang Offload Bundler", "Bundled Binary File Layout".
constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";
constexpr uint64_t kMaxEntries = 1024;

bool startsWith(ByteView image, std::string_view magic) {
  return image.contains(0, magic.size()) &&
         std::memcmp(image.data(), magic.data(), magic.size()) == 0;
}

struct Entry {
  uint64_t offset;
  uint64_t size;
  std::string id; ///< "hipv4-amdgcn-amd-amdhsa--gfx942:xnack-"
};

/// The header of a compressed bundle: "CCOB", a version and a method (16 bits each), then sizes and
/// a hash; version 1 has no size of the file, from version 3 on sizes have 64 bits.
struct CompressedHeader {
  uint16_t version = 0, method = 0;
  uint64_t fileSize = 0; ///< header included; 0: not given
  uint64_t size = 0;     ///< of what was compressed
  uint64_t length = 0;   ///< of the header
};

constexpr uint64_t kMaxSize = uint64_t(1) << 30;
// zlib packs no bytes tighter than this; bundles by zstd, several targets' code in one stream, are
// far from it too. What claims more is a few bytes that want a lot of memory.
constexpr uint64_t kMaxRatio = 1032;

CompressedHeader readCompressedHeader(ByteView image) {
  CompressedHeader h;
  h.version = image.read<uint16_t>(4, "compressed bundle's version");
  h.method = image.read<uint16_t>(6, "compressed bundle's method");
  if (h.version == 1) {
    h.size = image.read<uint32_t>(8, "compressed bundle's size");
    h.length = 20;
  } else if (h.version == 2) {
    h.fileSize = image.read<uint32_t>(8, "compressed bundle's file size");
    h.size = image.read<uint32_t>(12, "compressed bundle's size");
    h.length = 24;
  } else if (h.version == 3) {
    h.fileSize = image.read<uint64_t>(8, "compressed bundle's file size");
    h.size = image.read<uint64_t>(16, "compressed bundle's size");
    h.length = 32;
  } else {
    throw LoadError(LoadFailure::Unsupported,
                    "a compressed offload bundle of version " + std::to_string(h.version));
  }
  if (h.size > kMaxSize)
    throw LoadError(LoadFailure::Malformed,
                    "the compressed offload bundle claims " + std::to_string(h.size) + " bytes");
  return h;
}

/// The bundle within a compressed one.
void expand(ByteView image, std::vector<uint8_t> &bytes) {
  const CompressedHeader h = readCompressedHeader(image);
  const uint64_t end = h.fileSize ? std::min<uint64_t>(h.fileSize, image.size()) : image.size();
  if (end < h.length)
    throw LoadError(LoadFailure::Malformed, "a compressed offload bundle shorter than its header");
  const llvm::ArrayRef<uint8_t> packed(image.data() + h.length, end - h.length);
  if (h.size > packed.size() * kMaxRatio)
    throw LoadError(LoadFailure::Malformed, "the compressed offload bundle of " +
                                                std::to_string(packed.size()) +
                                                " bytes claims to hold " + std::to_string(h.size));
  const bool zstd = h.method == 1;
  if (h.method > 1 ||
      !(zstd ? llvm::compression::zstd::isAvailable() : llvm::compression::zlib::isAvailable()))
    throw LoadError(LoadFailure::Unsupported,
                    "an offload bundle compressed by method " + std::to_string(h.method));
  bytes.resize(h.size);
  size_t size = bytes.size();
  llvm::Error error = zstd ? llvm::compression::zstd::decompress(packed, bytes.data(), size)
                           : llvm::compression::zlib::decompress(packed, bytes.data(), size);
  if (error)
    throw LoadError(LoadFailure::Malformed, "the compressed offload bundle is damaged: " +
                                                llvm::toString(std::move(error)));
  bytes.resize(std::min<size_t>(size, bytes.size()));
  if (!startsWith(ByteView(bytes.data(), bytes.size()), kMagic))
    throw LoadError(LoadFailure::Malformed, "what was compressed is no offload bundle");
}

std::vector<Entry> readTable(ByteView image) {
  uint64_t count = image.read<uint64_t>(kMagic.size(), "bundle entry count");
  if (count > kMaxEntries)
    throw LoadError(LoadFailure::Malformed,
                    "the offload bundle claims " + std::to_string(count) + " entries");
  std::vector<Entry> entries;
  uint64_t at = kMagic.size() + 8;
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
  return (code.processor == device.processor) * 4 + (code.xnack != FeatureState::Any) +
         (code.sramecc != FeatureState::Any);
}

} // namespace

bool isOffloadBundle(ByteView image) {
  return startsWith(image, kMagic) || startsWith(image, kCompressedMagic);
}

ByteView selectFromBundle(ByteView image, const TargetId &device, std::vector<uint8_t> &storage) {
  if (startsWith(image, kCompressedMagic)) {
    expand(image, storage);
    image = ByteView(storage.data(), storage.size());
  }
  const Entry *best = nullptr;
  int bestFitness = -1;
  std::string offered;
  std::vector<Entry> entries = readTable(image);
  for (const Entry &entry : entries) {
    TargetId target;
    if (!targetOf(entry, target))
      continue;
    flydsl::support::appendItem(offered, target.str());
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
  if (startsWith(image, kCompressedMagic)) {
    const CompressedHeader h = readCompressedHeader(image);
    if (!h.fileSize)
      throw LoadError(LoadFailure::Unsupported,
                      "a compressed offload bundle of version 1 does not say how long it is");
    return h.fileSize;
  }
  uint64_t extent = image.size();
  for (const Entry &entry : readTable(image)) {
    if (entry.offset > UINT32_MAX || entry.size > UINT32_MAX)
      throw LoadError(LoadFailure::Malformed, "a bundle entry ends beyond 4 GiB");
    extent = std::max(extent, entry.offset + entry.size);
  }
  return extent;
}

} // namespace flyemu::loader
