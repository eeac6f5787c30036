// A code object loaded for one device: its segments in host memory, relocated, its instructions
// decoded, its kernels and variables by name.
#pragma once

#include "emulator/exec/dispatch.h"
#include "emulator/exec/memory_map.h"
#include "emulator/loader/byte_view.h"
#include "emulator/loader/metadata.h"
#include "emulator/loader/source_lines.h"
#include "emulator/loader/target_id.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace flyemu::loader {

/// A kernel with what the launch needs.
struct LoadedKernel {
  KernelCode code;
  KernelMetadata metadata;
};

/// A variable of the module, e.g. a `__device__` array. Address is a host and device address.
struct LoadedVariable {
  uint64_t address = 0;
  uint64_t size = 0;
};

class CodeObject {
public:
  /// Loads the ELF image \p file for \p device. Throws LoadError, its message complete for people.
  static std::shared_ptr<CodeObject> load(ByteView file, const TargetId &device);
  ~CodeObject();
  CodeObject(const CodeObject &) = delete;
  CodeObject &operator=(const CodeObject &) = delete;

  const LoadedKernel *findKernel(const std::string &name) const;
  const LoadedVariable *findVariable(const std::string &name) const;
  const std::map<std::string, LoadedKernel> &kernels() const { return kernels_; }
  /// What launches may touch of the image, one range per segment.
  const std::vector<MemoryRange> &ranges() const { return ranges_; }
  const TargetId &target() const { return target_; }
  unsigned version() const { return version_; }

private:
  CodeObject() = default;

  uint8_t *base_ = nullptr;
  size_t mappedSize_ = 0;
  TargetId target_;
  unsigned version_ = 0;
  std::map<std::string, LoadedKernel> kernels_;
  std::map<std::string, LoadedVariable> variables_;
  std::vector<MemoryRange> ranges_;
  std::shared_ptr<const SourceLines> lines_;

  friend class CodeObjectBuilder;
};

} // namespace flyemu::loader
