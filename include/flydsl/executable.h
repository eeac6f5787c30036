// A compiled kernel as its user sees it: what the compiler made of it, and where it came from.
#pragma once

#include <flydsl/error.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
struct ExecutableState;
}

/// Where a compiled kernel came from.
enum class CacheTier {
  compiled, ///< no cache had it
  memory,   ///< this process had compiled or loaded the same IR before
  disk,     ///< the cache directory
};

/// Immutable; copies share.
class FLYDSL_API Executable {
public:
  explicit Executable(std::shared_ptr<const detail::ExecutableState> state);
  ~Executable();
  Executable(const Executable &);
  Executable &operator=(const Executable &);

  /// The kernel's name.
  const std::string &name() const;
  /// "gfx942", with features where the code depends on them.
  const std::string &target() const;
  /// The code, as the device's driver loads it: on AMD's devices the code object, an ELF file.
  std::span<const std::uint8_t> binary() const;
  /// The same, by the name that FlyDSL's users know.
  std::span<const std::uint8_t> hsaco() const { return binary(); }
  /// Vector registers of a lane, accumulation registers included where the file is unified.
  unsigned registers() const;
  unsigned accumulation_registers() const;
  unsigned scalar_registers() const;
  /// Bytes of LDS that every workgroup has, dynamic shared memory apart.
  std::size_t shared_bytes() const;
  /// Bytes of scratch of a lane.
  std::size_t scratch_bytes() const;
  /// Registers that did not fit and live in scratch, vector and scalar.
  unsigned spills() const;
  /// Bytes of machine code.
  std::size_t code_size() const;
  /// The most work-items of a workgroup that this code may be launched with.
  unsigned max_block() const;

  /// Hexadecimal digest of all that the code depends on: IR, target, options, library build.
  const std::string &ir_hash() const;
  CacheTier cache_tier() const;
  /// "compiled", "memory", "disk".
  const char *cache_tier_name() const;
  double trace_milliseconds() const;
  /// Time to get the code object: to compile it, or to read it from a cache.
  double compile_milliseconds() const;

  /// The traced Fly IR. Only what `compile()` made keeps it; empty for other executables.
  const std::string &print_ir() const;
  /// The machine code, disassembled.
  std::string isa() const;
  /// Registers, LDS, scratch, spills, code size and arguments in a few lines.
  std::string summary() const;

protected:
  std::shared_ptr<const detail::ExecutableState> state_;
};

FLYDSL_NAMESPACE_END
