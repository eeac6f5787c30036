#include "emulator/core/order.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <numeric>
#include <utility>

namespace flyemu {

namespace {
/// A well-mixed function of a number (the finalizer of MurmurHash3).
uint64_t mix(uint64_t x) {
  x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
  return x ^ x >> 33;
}

/// A permutation of the numbers below `count`, without a table: a Feistel network permutes a power
/// of four that is at least as large, and is applied again to what lands beyond.
uint64_t shuffled(uint64_t x, uint64_t count, uint64_t seed) {
  const auto half = static_cast<unsigned>((std::bit_width(count - 1) + 1) / 2);
  const uint64_t mask = (uint64_t(1) << half) - 1;
  do {
    uint64_t left = x >> half, right = x & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      left ^= mix(right ^ mix(seed + round)) & mask;
      std::swap(left, right);
    }
    x = left << half | right;
  } while (x >= count);
  return x;
}
} // namespace

uint64_t Order::workgroup(uint64_t place, uint64_t count) const {
  switch (kind) {
  case Kind::Forwards:
    break;
  case Kind::Backwards:
    return count - 1 - place;
  case Kind::Rotated:
    return (place + count / 2) % count;
  case Kind::Shuffled:
    return count > 1 ? shuffled(place, count, seed) : place;
  }
  return place;
}

void Order::waves(std::vector<unsigned> &order, unsigned count, uint64_t group,
                  uint64_t turn) const {
  order.resize(count);
  std::iota(order.begin(), order.end(), 0u);
  switch (kind) {
  case Kind::Forwards:
    return;
  case Kind::Backwards:
    std::reverse(order.begin(), order.end());
    return;
  case Kind::Rotated:
    std::rotate(order.begin(), order.begin() + static_cast<int64_t>((turn + 1) % count),
                order.end());
    return;
  case Kind::Shuffled:
    for (unsigned left = count; left > 1; --left)
      std::swap(order[left - 1], order[mix(mix(mix(seed ^ group) + turn) + left) % left]);
    return;
  }
}

std::optional<Order> orderNamed(std::string_view text) {
  constexpr std::pair<std::string_view, Order::Kind> kWords[] = {
      {"forwards", Order::Kind::Forwards},
      {"backwards", Order::Kind::Backwards},
      {"rotated", Order::Kind::Rotated},
      {"shuffled", Order::Kind::Shuffled},
  };
  const size_t colon = text.find(':');
  for (const auto &[word, kind] : kWords) {
    if (text.substr(0, colon) != word)
      continue;
    uint64_t seed = 0;
    if (colon != std::string_view::npos) {
      const std::string_view digits = text.substr(colon + 1);
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
      if (kind != Order::Kind::Shuffled || error != std::errc() ||
          end != digits.data() + digits.size())
        return std::nullopt;
    }
    return Order{kind, seed};
  }
  return std::nullopt;
}

} // namespace flyemu
