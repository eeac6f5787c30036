#include "file_target.h"

#include "cache/entry.h"
#include "cache/remote/url.h"
#include "emulator/hip/launch/printf_buffer.h"
#include "jit/code_object/code_object.h"
#include "runtime/aot_file.h"

#include <flydsl/error.h>
#include <flydsl/host/aot.h>

#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>
#include <xxhash.h>

namespace flydsl::fuzz {
namespace {

using Bytes = std::vector<std::uint8_t>;
using View = std::span<const std::uint8_t>;

void expect(bool holds, const char *what) {
  if (!holds)
    throw std::logic_error(what);
}

/// The bytes with the right checksum at their end, by which they pass for whole.
template <class Sum, class Function> Bytes summed(View bytes, Function sumOf) {
  Bytes all(bytes.begin(), bytes.end());
  if (all.size() >= sizeof(Sum)) {
    const Sum sum = sumOf(all.data(), all.size() - sizeof(Sum));
    std::memcpy(all.data() + all.size() - sizeof sum, &sum, sizeof sum);
  }
  return all;
}

bool readEntry(View bytes) {
  const Bytes entry = summed<cache::Key>(bytes, cache::digest);
  const std::optional<cache::Key> key = cache::entryKey(entry.data(), entry.size());
  if (!key)
    return false;
  const cache::Decoded decoded = cache::decodeEntry(*key, entry.data(), entry.size());
  expect(decoded.blob.has_value() == decoded.problem.empty(),
         "an entry with and without a problem");
  if (!decoded.blob)
    return false;
  const Bytes again = cache::encodeEntry(*key, *decoded.blob);
  const cache::Decoded back = cache::decodeEntry(*key, again.data(), again.size());
  expect(back.blob && back.blob->metadata == decoded.blob->metadata &&
             back.blob->payload == decoded.blob->payload,
         "an entry does not come back");
  return true;
}

bool readAot(View bytes) {
  const Bytes file =
      summed<std::uint64_t>(bytes, [](const void *data, std::size_t size) -> std::uint64_t {
        return XXH3_64bits(data, size);
      });
  try {
    const std::vector<runtime::AotCode> codes = runtime::decodeAot(file);
    expect(runtime::encodeAot(codes) == file, "a file of kernels does not come back");
    const AotModule module = load_aot(View(file));
    expect(module.contents().size() == codes.size(), "a file of kernels lists others than it has");
    for (const std::string &kernel : module.kernels())
      module.variants(kernel);
    return true;
  } catch (const RuntimeError &) {
    return false;
  }
}

bool readMetadata(View bytes) {
  try {
    const jit::CodeObject object = jit::decodeMetadata(bytes.data(), bytes.size());
    expect(std::ranges::equal(jit::encodeMetadata(object), bytes), "metadata does not come back");
    jit::summary(object);
    return true;
  } catch (const Error &) {
    return false;
  }
}

bool readCodeObject(View bytes) {
  try {
    const jit::CodeObject object = jit::readCodeObject({bytes.begin(), bytes.end()});
    jit::summary(object);
    jit::eventNames(object);
    return true;
  } catch (const Error &) {
    return false;
  }
}

bool readUrl(View bytes) {
  try {
    cache::parseRemoteUrl({reinterpret_cast<const char *>(bytes.data()), bytes.size()});
    return true;
  } catch (const Error &) {
    return false;
  }
}

} // namespace

bool runFile(const std::uint8_t *data, std::size_t size) {
  if (!size)
    return false;
  const View bytes(data + 1, size - 1);
  switch (static_cast<FileKind>(data[0] % kFileKinds)) {
  case FileKind::cacheEntry:
    return readEntry(bytes);
  case FileKind::aot:
    return readAot(bytes);
  case FileKind::metadata:
    return readMetadata(bytes);
  case FileKind::codeObject:
    return readCodeObject(bytes);
  case FileKind::remoteUrl:
    return readUrl(bytes);
  case FileKind::printf:
    return !flyemu::hip::formatMessage(bytes.data(), bytes.data() + bytes.size()).empty();
  }
  return false;
}

} // namespace flydsl::fuzz
