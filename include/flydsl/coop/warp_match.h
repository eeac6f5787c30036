// Lanes that find one another: those of a wave with the same key.
#pragma once

#include <flydsl/kernel/numeric.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

/// The lanes of a group that have a lane's key, itself among them.
struct WarpMatch {
  /// A bit for each, from the group's first lane on: u32, or u64 where waves have 64 lanes. It is
  /// what CUDA's `__match_any_sync` gives.
  Numeric lanes;
  Int32 rank;  ///< how many of them come before this lane
  Int32 count; ///< how many they are
  Int32 first; ///< the number of the first of them in the group, for `gpu::shuffle_idx`
};

/// What a match looks at.
struct WarpMatchOptions {
  /// The low bits of a key that are compared; each takes a few instructions. Keys that are
  /// below 2^bits are alike if these are. 0: all bits of its type.
  int bits = 0;
  int width = 0; ///< of a group of lanes, a power of two up to the wave; 0: the wave
  /// Whether a lane has a key. One that has none is in no other lane's match, and in its own are no
  /// lanes: `lanes`, `rank` and `count` are 0, and `first` is itself.
  std::optional<Boolean> valid = {};
};

/// The lanes of a group with the same key. All lanes of the group take part; those without a key say
/// so by `valid`. One of the lanes, the one of rank 0, may then do for all what would be the same work
/// of each: count them at once, or reserve places for all. Each then takes the place of its rank.
///
///   auto same = coop::warp_match(expert, {.bits = 6});
///   // one atomic addition for each expert of the wave
///   auto taken = fx::if_(same.rank == 0,
///                        [&] { return fx::Int32(fx::atomic(fx::AtomicOp::add, next, same.count)); },
///                        [] { return fx::Int32(0); });
///   auto place = fx::gpu::shuffle_idx(taken, same.first) + same.rank;
///
/// A key is an integer of any type. TraceError for another number, for bits that it does not have,
/// and for a width that is no power of two or more than the wave.
FLYDSL_API WarpMatch warp_match(const Numeric &key, const WarpMatchOptions &options = {},
                                Loc loc = Loc::current());

} // namespace coop
FLYDSL_NAMESPACE_END
