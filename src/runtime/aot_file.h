// The file of kernels compiled ahead of time.
//
// Little-endian: "FLYAOT", a version (u16), the number of variants (u32), the variants, and XXH3-64
// of all before it. A variant is one kernel for one signature and one target: its facts, the
// signature words of its runtime arguments (the first word is the workgroup size), and its code
// object. Texts and arrays have their length (u32) in front.
#pragma once

#include "runtime/loaded_kernel.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace flydsl::runtime {

struct AotVariant {
  KernelFacts facts;
  std::vector<std::uint64_t> words;
  std::vector<std::uint8_t> image;
};

/// The most that a file of compiled kernels has.
inline constexpr std::uint64_t maxAotBytes = std::uint64_t(4) << 30;

std::vector<std::uint8_t> encodeAot(std::span<const AotVariant> variants);
/// Throws RuntimeError, saying what is wrong, for bytes that `encodeAot` did not make.
std::vector<AotVariant> decodeAot(std::span<const std::uint8_t> bytes);

/// The signature words without static values and constants.
std::vector<std::uint64_t> runtimeWords(const std::uint64_t *words, std::size_t count);

} // namespace flydsl::runtime
