// A compiled kernel as a value: the bytes that the driver loads, and what they need to run. There
// is no LLVM and no MLIR here: the cache, launches and ahead-of-time loading do without.
#pragma once

#include <flydsl/host/executable.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace flydsl::jit {

/// One kernel argument as the code object's metadata describes it.
struct KernelArgument {
  unsigned offset = 0; ///< bytes from the start of the kernarg segment
  unsigned size = 0;   ///< bytes
  std::string kind;    ///< "by_value", "global_buffer", "hidden_block_count_x", ...
  std::string name;    ///< may be empty

  bool hidden() const { return std::string_view(kind).starts_with("hidden_"); }
  friend bool operator==(const KernelArgument &, const KernelArgument &) = default;
};

/// What a kernel needs to run; register counts are per lane (vector) and per wave (scalar).
struct KernelMetadata {
  std::string name;
  unsigned vgprs =
      0; ///< vector registers, accumulation registers included where the file is unified
  unsigned agprs = 0; ///< accumulation registers
  unsigned sgprs = 0;
  unsigned vgprSpills = 0;
  unsigned sgprSpills = 0;
  unsigned ldsBytes = 0;     ///< static LDS of a workgroup
  unsigned scratchBytes = 0; ///< private segment of a lane
  bool dynamicStack = false;
  unsigned kernargBytes = 0;
  unsigned kernargAlign = 0;
  unsigned waveSize = 0;
  unsigned maxWorkgroupSize = 0;
  unsigned requiredBlock[3] = {0, 0, 0}; ///< zeros where the block size is free
  bool uniformWorkgroups = false;        ///< the grid must be whole workgroups
  std::uint64_t codeBytes = 0;           ///< size of the kernel's symbol
  std::vector<KernelArgument> arguments; ///< explicit ones first, then the hidden ones

  friend bool operator==(const KernelMetadata &, const KernelMetadata &) = default;
};

/// Where the time of one compile went, in milliseconds.
struct CompileTimes {
  double passes = 0;    ///< MLIR passes
  double translate = 0; ///< MLIR's LLVM dialect to LLVM IR
  double optimize = 0;  ///< LLVM's middle end
  double codegen = 0;   ///< instruction selection to object
  double link = 0;      ///< object to code object, and reading the metadata
  double total() const { return passes + translate + optimize + codegen + link; }
  friend bool operator==(const CompileTimes &, const CompileTimes &) = default;
};

/// Immutable once made; share it by shared_ptr<const CodeObject>.
struct CodeObject {
  std::string target; ///< the target id it was compiled for
  std::vector<std::uint8_t> bytes;
  std::vector<KernelMetadata> kernels;
  CompileTimes times; ///< of the compile that made it, kept in the cache

  /// The kernel of that name, or nullptr.
  const KernelMetadata *find(std::string_view name) const;
  /// The only kernel; throws flydsl::CompileError if there are none or several.
  const KernelMetadata &kernel() const;
};

/// Reads target and kernels from an ELF code object (AMDGPU metadata note, MessagePack, version 3
/// on). Throws flydsl::CompileError, naming what is wrong, for bytes that are no such code object.
CodeObject readCodeObject(std::vector<std::uint8_t> bytes);

/// The names of the events that the object's kernels record (support/ktrace_record.h), in the order
/// of their numbers; none where they record none. Throws as readCodeObject does.
std::vector<std::string> eventNames(const CodeObject &object);

/// The metadata as bytes without the code object itself, and back; the cache stores them beside the
/// ELF. `decodeMetadata` fills everything but `bytes`; throws flydsl::Error for bytes that
/// `encodeMetadata` did not make.
std::vector<std::uint8_t> encodeMetadata(const CodeObject &object);
CodeObject decodeMetadata(const std::uint8_t *data, std::size_t size);

/// "memory", "disk", "compiled".
const char *tierName(CacheTier tier);

/// A few lines for people: registers, LDS, scratch, spills, code size, arguments.
std::string summary(const CodeObject &object);

} // namespace flydsl::jit
