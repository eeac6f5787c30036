// From addresses of a code object to lines of the source that it was compiled from (DWARF's line
// table). The loader's only door to LLVM, whose reader of debug information does the work.
#pragma once

#include "emulator/loader/byte_view.h"

#include <memory>
#include <string>

namespace flyemu::loader {

/// Safe to use from many threads. Reads the tables with the first question.
class SourceLines {
public:
  /// Copies what it needs of the ELF file.
  explicit SourceLines(ByteView file);
  ~SourceLines();
  SourceLines(const SourceLines &) = delete;

  /// "file.cpp:12" of the instruction at an address of the ELF image, inlined calls from the inside
  /// out: "inner.h:3 in file.cpp:12". Empty without debug information. Throws nothing.
  std::string at(uint64_t address) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace flyemu::loader
