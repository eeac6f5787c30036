// A code object loaded for one device: its segments in host memory, relocated, its instructions
// decoded, its kernels and variables by name.
#pragma once

#include "emulator/core/dispatch.h"
#include "emulator/core/memory_map.h"
#include "emulator/loader/byte_view.h"
#include "emulator/loader/metadata.h"
#include "emulator/loader/source_lines.h"
#include "emulator/loader/target_id.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace flyemu::loader {

/// A code segment whose instructions are decoded when the first of its kernels is launched.
class CodeSegment {
public:
  CodeSegment(std::string processor, const uint8_t *code, size_t size)
      : processor_(std::move(processor)), code_(code), size_(size) {}

  std::shared_ptr<const Program> program();

private:
  std::string processor_;
  const uint8_t *code_;
  size_t size_;
  std::once_flag once_;
  std::shared_ptr<const Program> program_;
};

/// A kernel with what the launch needs.
struct CodeKernel {
  KernelNotes metadata;
  KernelCode code; ///< without its program
  std::shared_ptr<CodeSegment> segment;

  /// All that a launch takes, the instructions decoded.
  KernelCode ready() const {
    KernelCode result = code;
    result.program = segment->program();
    return result;
  }
};

/// A variable of the module, e.g. a `__device__` array. Address is a host and device address.
struct CodeVariable {
  uint64_t address = 0;
  uint64_t size = 0;
};

class LoadedCode {
public:
  /// Loads the ELF image \p file for \p device, which has \p memory bytes. Throws LoadError, whose
  /// message needs no addition.
  static std::shared_ptr<LoadedCode> load(ByteView file, const TargetId &device,
                                          uint64_t memory = uint64_t(1) << 32);
  ~LoadedCode();
  LoadedCode(const LoadedCode &) = delete;
  LoadedCode &operator=(const LoadedCode &) = delete;

  const CodeKernel *findKernel(const std::string &name) const;
  const CodeVariable *findVariable(const std::string &name) const;
  const std::map<std::string, CodeKernel> &kernels() const { return kernels_; }
  const std::map<std::string, CodeVariable> &variables() const { return variables_; }
  /// What launches may touch of the image, one range per segment.
  const std::vector<MemoryRange> &ranges() const { return ranges_; }
  const TargetId &target() const { return target_; }
  unsigned version() const { return version_; }

private:
  LoadedCode() = default;

  uint8_t *base_ = nullptr;
  size_t mappedSize_ = 0;
  TargetId target_;
  unsigned version_ = 0;
  std::map<std::string, CodeKernel> kernels_;
  std::map<std::string, CodeVariable> variables_;
  std::vector<MemoryRange> ranges_;
  std::shared_ptr<const SourceLines> lines_;

  friend class LoadedCodeBuilder;
};

} // namespace flyemu::loader
