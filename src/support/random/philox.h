// Philox, the counter-based generator with four words: J. Salmon, M. Moraes, R. Dror, D. Shaw,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011, and their library Random123.
//
// It is written once, over what a word is: the host's words are integers, a kernel's are traced.
// That both give the same bits follows, because every operation is exact.
#pragma once

#include <flydsl/error.h>

#include <array>
#include <cstdint>
#include <string>

FLYDSL_NAMESPACE_BEGIN
namespace random::algorithm {

/// Of words of type T: the factors of a round, and what the key grows by from round to round.
template <class T> struct PhiloxConstants;
template <> struct PhiloxConstants<std::uint32_t> {
  static constexpr std::uint32_t kFactors[] = {0xd2511f53, 0xcd9e8d57};
  static constexpr std::uint32_t kKeySteps[] = {0x9e3779b9, 0xbb67ae85};
};
template <> struct PhiloxConstants<std::uint64_t> {
  static constexpr std::uint64_t kFactors[] = {0xd2e7470ee14c6c93, 0xca5a826395121157};
  static constexpr std::uint64_t kKeySteps[] = {0x9e3779b97f4a7c15, 0xbb67ae8584caa73b};
};

/// A product of two words has the bits of two.
template <class Word> struct Product {
  Word high, low;
};

/// A product of words of 64 bits, from four products of their halves.
template <class Word> Product<Word> multiplyHalves(const Word &x, std::uint64_t factor) {
  constexpr std::uint64_t half = 0xffffffff;
  const std::uint64_t factorLow = factor & half, factorHigh = factor >> 32;
  const Word low = x & half, high = x >> 32;
  // None of these sums is larger than 64 bits: (2^32 - 1)^2 + 2 (2^32 - 1) is 2^64 - 1.
  const Word lowest = low * factorLow;
  const Word middle = high * factorLow + (lowest >> 32);
  const Word other = low * factorHigh + (middle & half);
  return {high * factorHigh + (middle >> 32) + (other >> 32), (other << 32) | (lowest & half)};
}

inline Product<std::uint32_t> multiply(std::uint32_t x, std::uint32_t factor) {
  const std::uint64_t product = std::uint64_t(x) * factor;
  return {static_cast<std::uint32_t>(product >> 32), static_cast<std::uint32_t>(product)};
}
inline Product<std::uint64_t> multiply(std::uint64_t x, std::uint64_t factor) {
  return multiplyHalves(x, factor);
}

/// The counter's four random words of type T under a key.
template <class T, class Word>
std::array<Word, 4> philox(std::array<Word, 4> counter, std::array<Word, 2> key, int rounds,
                           std::source_location where) {
  using Constants = PhiloxConstants<T>;
  if (rounds < 1)
    throw TraceError("Philox takes 1 round or more, 10 as a rule, not " + std::to_string(rounds),
                     where);
  for (int round = 0; round < rounds; ++round) {
    if (round > 0)
      key = {key[0] + Constants::kKeySteps[0], key[1] + Constants::kKeySteps[1]};
    const Product<Word> first = multiply(counter[0], Constants::kFactors[0]),
                        second = multiply(counter[2], Constants::kFactors[1]);
    counter = {second.high ^ counter[1] ^ key[0], second.low, first.high ^ counter[3] ^ key[1],
               first.low};
  }
  return counter;
}

} // namespace random::algorithm
FLYDSL_NAMESPACE_END
