// The order in which workgroups begin and the waves of a workgroup take their turns.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace flyemu {

/// Hardware promises none, so a kernel is right only if it is right in each. Which one a launch has
/// is repeatable: on one thread, it is the same at every run. Waves that have clocks (Wave::cycles) run in the order of
/// these where the order is Forwards.
struct Order {
  enum class Kind : uint8_t {
    Forwards,
    Backwards,
    Rotated, ///< workgroups from the middle on; each turn of a workgroup begins with another wave
    Shuffled ///< by the seed; waves anew at each turn
  };
  Kind kind = Kind::Forwards;
  uint64_t seed = 0;

  /// The number of the workgroup that begins at place `place` of `count`.
  uint64_t workgroup(uint64_t place, uint64_t count) const;
  /// Fills `order` with the numbers of `count` waves in their order at the given turn of the
  /// workgroup of the given number.
  void waves(std::vector<unsigned> &order, unsigned count, uint64_t group, uint64_t turn) const;
};

/// What `orderNamed` takes, for messages.
constexpr const char *kOrderNames = "forwards, backwards, rotated, shuffled, shuffled:SEED";

/// The order of FLYDSL_EMULATOR_ORDER and fly-emu --order, whose seed is a whole number in decimal;
/// nothing if the text is none.
std::optional<Order> orderNamed(std::string_view text);

} // namespace flyemu
