// Targets: the processors that kernels are compiled for, and their features.
#pragma once

#include <flydsl/export.h>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

FLYDSL_NAMESPACE_BEGIN

/// The maker of a processor.
enum class Vendor : std::uint8_t {
  amd,   ///< of the GPUs in the table
  other, ///< of a processor that a program has added to the table
};

/// A generation of processors that share an instruction set.
enum class Family : std::uint8_t {
  cdna2,   ///< gfx90a
  cdna3,   ///< gfx942
  cdna4,   ///< gfx950
  rdna3,   ///< gfx1100
  rdna4,   ///< gfx1200, gfx1201
  gfx1250, ///< gfx1250
  other,   ///< of a processor that a program has added to the table
};

/// The features that some processors have and others do not. A kernel chooses its instructions by
/// them, never by a processor's name: `if (fx::target().has(fx::feature::mfma))`.
enum class Feature : std::uint8_t {
  mfma,                   ///< matrix products of a wave of 64 (MFMA)
  wmma,                   ///< matrix products of a wave of 32 (WMMA)
  accumulation_registers, ///< accumulation registers besides the vector registers
  xf32,                   ///< MFMA of f32 operands with 10 bits of mantissa
  mfma_scale,             ///< MFMA of 8-, 6- and 4-bit floats with block scales
  wmma_scale,             ///< WMMA of 8-, 6- and 4-bit floats with block scales
  fp8_conversions,        ///< instructions that convert f32 to 8-bit floats and back
  fnuz_fp8,               ///< 8-bit floats of instructions are E4M3FNUZ and E5M2FNUZ
  ocp_fp8,                ///< 8-bit floats of instructions are OCP's E4M3FN and E5M2
  fp4_conversions,        ///< instructions that convert pairs of f4E2M1 with a scale
  bf16_conversions,       ///< an instruction that rounds pairs of f32 to bf16
  stochastic_bf16,        ///< an instruction that rounds f32 to bf16 by a random number
  packed_f32,             ///< additions, products and multiply-adds of pairs of f32
  buffer_to_lds,          ///< buffer and global loads whose data go to LDS, 4 bytes a lane
  buffer_to_lds_wide,     ///< the same with 12 and 16 bytes a lane
  lds_transpose_read,     ///< LDS reads that transpose a tile of 4- to 16-bit elements
  permlane_swap,          ///< v_permlane16_swap and v_permlane32_swap
  dpp_across_rows,        ///< DPP controls that move values between rows of 16 lanes
  dpp_row_xmask,          ///< DPP controls that exchange the lanes of a row of 16 by any mask
  permlanex16,            ///< v_permlanex16: any lanes of the other row of 16
  wave_id,                ///< the number of a wave in its workgroup, in a scalar register
  clusters,               ///< clusters of workgroups
  s_waitcnt,              ///< s_waitcnt: one instruction that waits for several counters
  split_barriers,         ///< barriers in two instructions: s_barrier_signal and s_barrier_wait
  split_wait_counts,      ///< a wait instruction for each counter: s_wait_loadcnt, s_wait_dscnt
  async_lds,              ///< copies between global memory and LDS with a counter of their own
  tensor_mover,           ///< tensor data mover (TDM)
};

/// The features by the names that kernels use, as in `fx::feature::mfma`.
namespace feature {
using enum Feature;
}

/// The name of a feature as it is written in C++: "mfma".
FLYDSL_API std::string_view name(Feature feature);

/// A switchable feature as AMD's target ids write it: absent (any), "+" (on) or "-" (off).
enum class Toggle : std::uint8_t { any, on, off };

namespace detail {
struct Processor;
}

/// A processor that kernels can be compiled for, with its switchable features. It is a plain value;
/// equal targets have equal ids.
class FLYDSL_API Target {
public:
  /// Makes no target; every question about it throws CompileError.
  Target() = default;
  /// Parses "gfx942", "gfx942:sramecc+:xnack-" or "amdgcn-amd-amdhsa--gfx942:xnack+", in upper or
  /// lower case. Throws CompileError that lists the supported processors for any other text.
  static Target parse(std::string_view text);
  /// One target for each supported processor; no switchable feature is fixed.
  static std::vector<Target> all();

  /// False for a default-constructed Target.
  explicit operator bool() const { return processor_ != nullptr; }

  /// The name of the processor: "gfx942".
  std::string name() const;
  /// Who makes the processor.
  Vendor vendor() const;
  /// The generation of the processor.
  Family family() const;
  /// The number of lanes of the waves that kernels are compiled for.
  int wave_size() const;
  /// The largest number of bytes of LDS that one workgroup may have.
  std::size_t lds_bytes() const;
  /// The largest number of work-items that one workgroup may have.
  int max_block_size() const;
  /// Whether the processor has a feature.
  bool has(Feature feature) const;

  /// The switchable features as the target id states them.
  Toggle sramecc() const { return sramecc_; }
  Toggle xnack() const { return xnack_; }
  /// The name with its switchable features in alphabetical order: "gfx942:sramecc+:xnack-".
  std::string id() const;
  /// True if code for this target runs on a device of target \p device: the processor is the same,
  /// and each feature that the code fixes has the device's setting.
  bool runs_on(const Target &device) const;

  friend bool operator==(const Target &, const Target &) = default;

private:
  const detail::Processor &processor() const;

  const detail::Processor *processor_ = nullptr;
  Toggle sramecc_ = Toggle::any;
  Toggle xnack_ = Toggle::any;
};

/// The target that the kernel is being traced for. Throws TraceError outside of a kernel (use
/// Device::target() there), and if the trace is not for a particular target.
FLYDSL_API Target target(std::source_location where = std::source_location::current());

FLYDSL_NAMESPACE_END
