// A compiled kernel as its user sees it: the properties of its code, and its origin.
#pragma once

#include <flydsl/error.h>
#include <flydsl/host/any_arg.h>
#include <flydsl/host/launch.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
class Executable;
namespace detail {
struct ExecutableState;
FLYDSL_API void launchRead(const Executable &executable, std::span<const AnyArg> arguments,
                           const LaunchConfig &config, const std::source_location &where);
} // namespace detail

/// The origin of a compiled kernel.
enum class CacheTier {
  compiled, ///< it was compiled, because no cache had it
  memory,   ///< this process had compiled or loaded the same IR before
  disk,     ///< the cache directory
  remote,   ///< the fleet's cache, FLYDSL_RUNTIME_REMOTE_CACHE
};

/// A compiled kernel. It is immutable; copies share it.
class FLYDSL_API Executable {
public:
  explicit Executable(std::shared_ptr<const detail::ExecutableState> state);
  ~Executable();
  Executable(const Executable &);
  Executable &operator=(const Executable &);

  /// The kernel's name.
  const std::string &name() const;
  /// The target, with its features if the code depends on them: "gfx942".
  const std::string &target() const;
  /// The code, as the device's driver loads it: on AMD's devices the code object, an ELF file.
  std::span<const std::uint8_t> binary() const;
  /// The same, by the name that FlyDSL's users know.
  std::span<const std::uint8_t> hsaco() const { return binary(); }
  /// The number of vector registers of a lane. On targets with a unified register file it includes
  /// the accumulation registers.
  unsigned registers() const;
  /// The number of accumulation registers of a lane.
  unsigned accumulation_registers() const;
  /// The number of scalar registers of a wave.
  unsigned scalar_registers() const;
  /// The bytes of LDS of each workgroup, without dynamic shared memory.
  std::size_t shared_bytes() const;
  /// The bytes of scratch memory of a lane.
  std::size_t scratch_bytes() const;
  /// The number of registers, vector and scalar, that did not fit and live in scratch memory.
  unsigned spills() const;
  /// The bytes of machine code.
  std::size_t code_size() const;
  /// The largest workgroup, in work-items, that this code may be launched with.
  unsigned max_block() const;

  /// A hexadecimal digest of everything that the code depends on: IR, target, options, library
  /// build.
  const std::string &ir_hash() const;
  /// The origin of the code.
  CacheTier cache_tier() const;
  /// The origin as text: "compiled", "memory", "disk" or "remote".
  const char *cache_tier_name() const;
  /// The time that tracing took.
  double trace_milliseconds() const;
  /// The time that it took to get the code object: to compile it, or to read it from a cache.
  double compile_milliseconds() const;

  /// The traced Fly IR. Only an executable made by `compile()` keeps it; for others it is empty.
  const std::string &print_ir() const;
  /// The disassembled machine code.
  std::string isa() const;
  /// A summary in a few lines: registers, LDS, scratch memory, spills, code size and arguments.
  std::string summary() const;

  /// The arguments of one launch.
  template <std::size_t N> class [[nodiscard]] Call {
  public:
    /// Throws TraceError if an argument does not fit its parameter, or the kernel was not read by
    /// compile_ir; RuntimeError if the driver refuses.
    void launch(const LaunchConfig &config,
                const std::source_location &where = std::source_location::current()) && {
      detail::launchRead(executable_, arguments_, config, where);
    }

  private:
    friend class Executable;
    Call(const Executable &executable, std::array<AnyArg, N> arguments)
        : executable_(executable), arguments_(std::move(arguments)) {}
    const Executable &executable_;
    std::array<AnyArg, N> arguments_;
  };
  /// Binds arguments to a kernel that compile_ir has read; nothing else happens until
  /// `.launch(...)` in the same expression. They are checked by the types of the kernel's
  /// parameters as those of Program's functions are; parameters whose type says all take none.
  template <class... Arguments>
  Call<sizeof...(Arguments)> operator()(const Arguments &...arguments) const {
    return {*this, {AnyArg(arguments)...}};
  }

protected:
  std::shared_ptr<const detail::ExecutableState> state_;
};

FLYDSL_NAMESPACE_END
