// The metadata note of a code object: its kernels with their arguments and resources.
#pragma once

#include "emulator/loader/byte_view.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace flyemu::loader {

/// One argument in the kernarg segment, hidden ones included.
struct KernelParameter {
  std::string name;
  std::string valueKind; ///< "by_value", "global_buffer", "hidden_block_count_x", ...
  uint32_t offset = 0;   ///< bytes from the segment's start
  uint32_t size = 0;     ///< bytes

  bool isHidden() const { return valueKind.compare(0, 7, "hidden_") == 0; }
};

/// One entry of amdhsa.kernels. Sizes in bytes; registers as the compiler counted them.
struct KernelNotes {
  std::string name;
  std::string symbol; ///< of the descriptor: "<name>.kd"
  std::vector<KernelParameter> arguments;
  uint32_t kernargSize = 0;
  uint32_t kernargAlignment = 8;
  uint32_t groupSegmentSize = 0;
  uint32_t privateSegmentSize = 0;
  uint32_t sgprCount = 0;
  uint32_t vgprCount = 0; ///< accumulation registers included on targets with a unified file
  uint32_t agprCount = 0;
  uint32_t sgprSpills = 0;
  uint32_t vgprSpills = 0;
  uint32_t wavefrontSize = 64;
  uint32_t maxFlatWorkgroupSize = 1024;
  std::array<uint32_t, 3> requiredWorkgroupSize = {0, 0, 0}; ///< zeros: any
  bool usesDynamicStack = false;
  /// amdhsa.printf, of all kernels of the code object; null when it has none
  std::shared_ptr<const std::vector<std::string>> printfFormats;

  /// One past the last byte of the arguments that the caller passes.
  uint32_t explicitSize() const;
  /// The hidden pointer that the kernel takes by this kind of value; null if it takes none.
  const KernelParameter *hiddenPointer(std::string_view kind) const;
};

struct Metadata {
  std::string target; ///< amdhsa.target, e.g. "amdgcn-amd-amdhsa--gfx942"
  std::vector<KernelNotes> kernels;

  /// Reads the note's msgpack document (LLVM's AMDGPUUsage, "Code Object V3 and above Metadata").
  /// Throws LoadError when it is damaged, or an argument lies outside its kernel's segment.
  static Metadata parse(ByteView document);
};

} // namespace flyemu::loader
