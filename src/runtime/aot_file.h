// The file of kernels compiled ahead of time.
//
// Little-endian: "FLYAOT", a version (u16), the number of codes (u32), the codes, and XXH3-64 of
// all before it. A code is what one compile made: a kernel for one signature and one target. It has
// the names of kernel and variant, the facts of the code object (among them symbol and target), the
// signature words of what a launch gives (the first word is the workgroup size): its arguments, and
// for each that may be left out, whether it is there; then those of the constants and static values,
// and the code object. Texts and arrays have their length (u32) in front.
//
// Versions: 5 has the marks of arguments that may be left out among the words of a launch. In 4 they
// were among the constants, so that two operands of one type passed for each other.
#pragma once

#include "runtime/loaded_kernel.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace flydsl::runtime {

struct AotCode {
  std::string kernel;                   ///< the name of the fx::Kernel
  std::string variant;                  ///< tells the kernel's configurations apart
  LaunchFacts facts;                    ///< `facts.name` is the symbol in the code object
  std::vector<std::uint64_t> words;     ///< what a launch gives, after the block
  std::vector<std::uint64_t> constants; ///< what else the code was traced for
  std::vector<std::uint8_t> image;

  /// The kernel and its variant, for messages.
  std::string title() const;
  /// Whether both are chosen by the same launches on the same target, so that a file holds one of
  /// them.
  bool takesThePlaceOf(const AotCode &other) const;
};

/// The most that a file of compiled kernels has.
inline constexpr std::uint64_t kMaxAotBytes = std::uint64_t(4) << 30;

std::vector<std::uint8_t> encodeAot(std::span<const AotCode> codes);
/// Throws RuntimeError, saying what is wrong, for bytes that `encodeAot` did not make.
std::vector<AotCode> decodeAot(std::span<const std::uint8_t> bytes);

/// Puts the signature words of static values and constants into `code.constants`, those of a launch's
/// arguments, and whether each is there, into `code.words`.
void splitWords(std::span<const std::uint64_t> signature, AotCode &code);

/// "gemm", or "gemm, variant 64x64".
std::string aotTitle(const std::string &kernel, const std::string &variant);

} // namespace flydsl::runtime
