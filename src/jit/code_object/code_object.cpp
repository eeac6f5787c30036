// The metadata as bytes, and the summary for people.
#include "jit/code_object/code_object.h"

#include "jit/code_object/memory_of.h"

#include "support/text.h"

#include <flydsl/error.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace flydsl::jit {

const KernelMetadata *CodeObject::find(std::string_view name) const {
  auto found = std::find_if(kernels.begin(), kernels.end(),
                            [&](const KernelMetadata &kernel) { return kernel.name == name; });
  return found == kernels.end() ? nullptr : &*found;
}

const KernelMetadata &CodeObject::kernel() const {
  if (kernels.size() == 1)
    return kernels.front();
  const std::string names = support::joined(kernels, &KernelMetadata::name);
  throw CompileError("a code object of one kernel was expected; it has " +
                     std::to_string(kernels.size()) + (names.empty() ? "" : ": " + names));
}

std::size_t memoryOf(const CodeObject &object) {
  // Text of 15 characters lies in its string.
  const auto apart = [](const std::string &text) {
    return text.capacity() > 15 ? text.capacity() + 1 : std::size_t(0);
  };
  std::size_t bytes = sizeof object + apart(object.target) + object.bytes.capacity() +
                      object.kernels.capacity() * sizeof(KernelMetadata);
  for (const KernelMetadata &kernel : object.kernels) {
    bytes += apart(kernel.name) + kernel.arguments.capacity() * sizeof(KernelArgument);
    for (const KernelArgument &argument : kernel.arguments)
      bytes += apart(argument.kind) + apart(argument.name);
  }
  return bytes;
}

//===-- encoding ----------------------------------------------------------===//

namespace {

constexpr std::uint32_t kEncodingVersion = 1;

/// Visits every field of the metadata in one fixed order; encoding and decoding share it.
template <class Codec> void visit(Codec &codec, KernelArgument &argument) {
  codec(argument.offset);
  codec(argument.size);
  codec(argument.kind);
  codec(argument.name);
}

template <class Codec> void visit(Codec &codec, KernelMetadata &kernel) {
  codec(kernel.name);
  for (unsigned *value :
       {&kernel.vgprs, &kernel.agprs, &kernel.sgprs, &kernel.vgprSpills, &kernel.sgprSpills,
        &kernel.ldsBytes, &kernel.scratchBytes, &kernel.kernargBytes, &kernel.kernargAlign,
        &kernel.waveSize, &kernel.maxWorkgroupSize, &kernel.requiredBlock[0],
        &kernel.requiredBlock[1], &kernel.requiredBlock[2]})
    codec(*value);
  codec(kernel.dynamicStack);
  codec(kernel.uniformWorkgroups);
  codec(kernel.codeBytes);
  codec.list(kernel.arguments);
}

template <class Codec> void visit(Codec &codec, CodeObject &object) {
  codec(object.target);
  codec.list(object.kernels);
  for (double *time : {&object.times.passes, &object.times.translate, &object.times.optimize,
                       &object.times.codegen, &object.times.link})
    codec(*time);
}

struct Encoder {
  std::vector<std::uint8_t> out;

  void raw(const void *data, std::size_t size) {
    const auto *bytes = static_cast<const std::uint8_t *>(data);
    out.insert(out.end(), bytes, bytes + size);
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  void operator()(T &value) {
    raw(&value, sizeof value);
  }
  void operator()(std::string &text) {
    auto size = static_cast<std::uint32_t>(text.size());
    raw(&size, sizeof size);
    raw(text.data(), text.size());
  }
  template <class T> void list(std::vector<T> &items) {
    auto size = static_cast<std::uint32_t>(items.size());
    raw(&size, sizeof size);
    for (T &item : items)
      visit(*this, item);
  }
};

struct Decoder {
  const std::uint8_t *at, *end;

  void raw(void *data, std::size_t size) {
    if (static_cast<std::size_t>(end - at) < size)
      throw Error("code object metadata ends early");
    if (size)
      std::memcpy(data, at, size);
    at += size;
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  void operator()(T &value) {
    raw(&value, sizeof value);
  }
  void operator()(bool &value) {
    std::uint8_t byte = 0;
    raw(&byte, 1);
    if (byte > 1)
      throw Error("code object metadata has a flag that is neither 0 nor 1");
    value = byte;
  }
  /// A count of things that take at least one byte each.
  std::size_t count() {
    std::uint32_t size = 0;
    raw(&size, sizeof size);
    if (size > static_cast<std::size_t>(end - at))
      throw Error("code object metadata ends early");
    return size;
  }
  void operator()(std::string &text) {
    text.resize(count());
    raw(text.data(), text.size());
  }
  /// Items are added one by one: the count may be wrong, and an item takes more memory than its one
  /// byte or more in the file.
  template <class T> void list(std::vector<T> &items) {
    for (std::size_t left = count(); left; --left)
      visit(*this, items.emplace_back());
  }
};

} // namespace

std::vector<std::uint8_t> encodeMetadata(const CodeObject &object) {
  CodeObject copy;
  copy.target = object.target;
  copy.kernels = object.kernels;
  copy.times = object.times;
  Encoder encoder;
  std::uint32_t version = kEncodingVersion;
  encoder(version);
  visit(encoder, copy);
  return std::move(encoder.out);
}

CodeObject decodeMetadata(const std::uint8_t *data, std::size_t size) {
  Decoder decoder{data, data + size};
  std::uint32_t version = 0;
  decoder(version);
  if (version != kEncodingVersion)
    throw Error("code object metadata of version " + std::to_string(version) + ", expected " +
                std::to_string(kEncodingVersion));
  CodeObject object;
  visit(decoder, object);
  if (decoder.at != decoder.end)
    throw Error("code object metadata is longer than its contents");
  return object;
}

//===-- summary -----------------------------------------------------------===//

const char *tierName(CacheTier tier) {
  switch (tier) {
  case CacheTier::compiled:
    return "compiled";
  case CacheTier::memory:
    return "memory";
  case CacheTier::disk:
    return "disk";
  case CacheTier::remote:
    return "remote";
  }
  return "?";
}

std::string summary(const CodeObject &object) {
  using support::printable; // names come out of files
  std::string text = "code object for " + printable(object.target) + ", " +
                     std::to_string(object.bytes.size()) + " bytes\n";
  for (const KernelMetadata &kernel : object.kernels) {
    char line[512];
    std::snprintf(line, sizeof line,
                  "%u VGPR (%u AGPR), %u SGPR, %u bytes LDS, %u bytes scratch, %u+%u spills, "
                  "%llu bytes code, wave%u, up to %u threads\n",
                  kernel.vgprs, kernel.agprs, kernel.sgprs, kernel.ldsBytes, kernel.scratchBytes,
                  kernel.vgprSpills, kernel.sgprSpills,
                  static_cast<unsigned long long>(kernel.codeBytes), kernel.waveSize,
                  kernel.maxWorkgroupSize);
    text += "  kernel " + printable(kernel.name) + ": " + line;
    std::snprintf(line, sizeof line, "    arguments: %u bytes\n", kernel.kernargBytes);
    text += line;
    for (const KernelArgument &argument : kernel.arguments) {
      std::snprintf(line, sizeof line, "      +%-4u %4u bytes  ", argument.offset, argument.size);
      text += line + printable(argument.kind) + " " + printable(argument.name) + "\n";
    }
  }
  return text;
}

} // namespace flydsl::jit
