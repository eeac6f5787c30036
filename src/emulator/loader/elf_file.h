// An AMDGPU code object as an ELF file, read without trust: header, segments, dynamic symbols and
// relocations, metadata note. Section headers are not needed and not read, as in the real loader's
// view of a stripped object.
#pragma once

#include "emulator/loader/byte_view.h"
#include "emulator/loader/target_id.h"

#include <string_view>
#include <vector>

namespace flyemu::loader {

struct ElfSegment {
  uint64_t address = 0;    ///< relative to the image's base
  uint64_t memorySize = 0; ///< bytes; those past the file's are zero
  ByteView bytes;
  bool executable = false;
  bool writable = false;
};

struct ElfSymbol {
  std::string_view name;
  uint64_t value = 0;
  uint64_t size = 0;
  bool defined = false;
  bool isFunction = false;
  bool isObject = false;
  bool isWeak = false;
};

struct ElfRelocation {
  uint64_t offset = 0;
  uint32_t type = 0;
  uint32_t symbol = 0; ///< index into symbols()
  int64_t addend = 0;
};

/// A parsed file; views point into the bytes given to parse().
class ElfFile {
public:
  /// Throws LoadError when the bytes are not a sound AMDGPU HSA code object of version 4 to 6.
  static ElfFile parse(ByteView file);

  /// How many bytes the file's tables and segments span, from its header alone; for callers that
  /// are given a pointer without a length. \p fetch(offset, length) must return those bytes.
  static uint64_t extent(ByteView header, const std::vector<uint8_t> &programHeaders);

  const TargetId &target() const { return target_; }
  unsigned codeObjectVersion() const { return version_; }
  const std::vector<ElfSegment> &segments() const { return segments_; }
  const std::vector<ElfSymbol> &symbols() const { return symbols_; }
  const std::vector<ElfRelocation> &relocations() const { return relocations_; }
  /// The msgpack document of the NT_AMDGPU_METADATA note; empty when there is none.
  ByteView metadata() const { return metadata_; }
  /// One past the highest address of a loaded segment.
  uint64_t imageSize() const { return imageSize_; }

private:
  void readSegments(ByteView file, uint64_t offset, unsigned count);
  void readDynamic();
  void readSymbols(uint64_t symTab, uint64_t strTab, uint64_t strSize, uint64_t count);
  void readNotes(ByteView notes, uint64_t align);
  /// The file's bytes behind an address of a loaded segment.
  ByteView atAddress(uint64_t address, uint64_t size, const char *what) const;
  uint64_t symbolCount(uint64_t hash, uint64_t gnuHash) const;

  TargetId target_;
  unsigned version_ = 0;
  std::vector<ElfSegment> segments_;
  std::vector<ElfSymbol> symbols_;
  std::vector<ElfRelocation> relocations_;
  ByteView metadata_;
  ByteView dynamic_;
  uint64_t imageSize_ = 0;
};

} // namespace flyemu::loader
