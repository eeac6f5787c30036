// What operands hold, by their roles.
#pragma once

#include "host/ggml_blocks.h"

#include <flydsl/kernels/operands.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::host {

/// What an operand holds that kernels read in the given role.
inline std::vector<double> valuesFor(Role role, DType dtype, std::int64_t count,
                                     std::uint64_t seed) {
  switch (role.kind) {
  case Role::Kind::input:
  case Role::Kind::both:
    return randomValues(dtype, count, seed);
  case Role::Kind::index:
    return shuffled(count, seed);
  case Role::Kind::offsets: {
    std::vector<double> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0.0);
    for (double &number : numbers)
      number = (role.most < 0 ? number : std::min(number, static_cast<double>(role.most))) *
               static_cast<double>(role.number);
    return numbers;
  }
  case Role::Kind::quotients:
  case Role::Kind::slots: {
    std::vector<double> numbers(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t expert = i / role.number, slot = expert * role.taken + i % role.number;
      const bool isTaken = expert < role.most && i % role.number < role.taken &&
                           slot < role.tokens * role.topk;
      numbers[static_cast<std::size_t>(i)] = static_cast<double>(
          role.kind == Role::Kind::quotients ? (expert < role.most ? expert : -1)
          : isTaken                          ? slot / role.tokens << 24 | slot % role.tokens
                                             : role.topk << 24 | role.tokens);
    }
    return numbers;
  }
  case Role::Kind::below:
  case Role::Kind::first: {
    std::vector<double> numbers(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = role.kind == Role::Kind::below
                       ? static_cast<double>(detail::randomBits(seed, i) %
                                             static_cast<std::uint64_t>(role.number))
                       : (static_cast<std::int64_t>(i) < role.number ? static_cast<double>(i) : -1);
    return numbers;
  }
  case Role::Kind::flagged:
  case Role::Kind::equal: {
    std::vector<double> numbers(static_cast<std::size_t>(count), static_cast<double>(role.number));
    if (role.most >= 0 && role.most < count)
      std::fill(numbers.begin() + static_cast<std::ptrdiff_t>(role.most), numbers.end(), 0.0);
    return numbers;
  }
  case Role::Kind::blocks: {
    const auto format = static_cast<GgmlFormat>(role.number / 2);
    const GgmlBlock block = ggml_block(format);
    const GgmlWeight weight{format, static_cast<GgmlLayout>(role.number % 2), count / block.bytes,
                            block.weights};
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
    prepare_weight(weight, randomBlocks(format, weight.n, seed).data(), bytes.data());
    return {bytes.begin(), bytes.end()};
  }
  case Role::Kind::output:
  case Role::Kind::workspace:
    break;
  }
  throw Error("an operand that is not read has no values");
}

} // namespace kernels::host
FLYDSL_NAMESPACE_END
