// What a call among the ranks of a group has on the host: its windows as parameters, and the number
// that tells it from other calls.
#pragma once

#include "frame/arguments.h"
#include "frame/family.h"

#include <flydsl/host/group.h>
#include <flydsl/kernels/plan.h>

#include <array>
#include <initializer_list>

FLYDSL_NAMESPACE_BEGIN

/// A group has memory of its own, which PlanOptions::check_memory has nothing to say of. (The frame
/// finds this function by the group's namespace.)
inline void expectInMemory(std::string_view, std::string_view, const Group *,
                           const std::source_location &) {}

namespace kernels::impl {

/// Neighbours that have one scale on their way between the ranks.
inline constexpr int kWireBlock = 32;

/// Blocks that run together on the smallest GPU of each kind, at up to 1024 threads each. They wait
/// for each other's partners, so none may wait for a place. (FlyDSL: up to 80 of 512.)
inline constexpr int kBlocksOfGroupCall = 64;

/// Rows and vectors in a window begin at multiples of so many bytes.
inline constexpr int kPieceOfWindow = 16;
inline std::int64_t windowBytes(std::int64_t bytes) {
  return (bytes + kPieceOfWindow - 1) / kPieceOfWindow * kPieceOfWindow;
}
/// Bytes from a row of n elements in a window to the next.
inline std::int64_t windowRowBytes(DType type, std::int64_t n) {
  return windowBytes((n * type.memory_bits() + 7) / 8);
}

/// What a rank's launch has of each rank's window.
template <class Side> struct WindowParams {
  Strided<Side, 0> signals; // (most_ranks, most_blocks)
  Strided<Side, 2> data;    // (2 turns, 2 regions, elements)
};

/// What a launch takes of the rank's group.
template <class Side> struct GroupParams {
  Param<Side, Int32> rank;
  Param<Side, Int32> call; ///< differs between different calls
  std::array<Param<Side, WindowParams<OnDevice>>, GroupMemory::most_ranks> windows;
  Param<Side, WindowParams<OnDevice>> own;
  Strided<Side, 0> counts; // (most_blocks): the calls of this rank
  Strided<Side, 0> status; // (1)
  Param<Side, Int64> timeout;
};

/// In the place of a call's number: the rank that gives the signal had too few places (expert_dispatch),
/// and gives no other one.
inline constexpr std::int32_t kNoPlacesCall = 0x6e6f7065;

/// A number that differs, as a rule, between calls that do not go together.
inline std::int32_t callNumber(DType type, std::initializer_list<std::int64_t> facts) {
  std::uint32_t hash = 0x811c9dc5; // FNV-1a
  const auto add = [&](std::int64_t value) {
    hash = (hash ^ static_cast<std::uint32_t>(value)) * 0x01000193;
  };
  add(type == f32 ? 0 : type == f16 ? 1 : 2);
  for (const std::int64_t fact : facts)
    add(fact);
  const auto number = static_cast<std::int32_t>(hash);
  return number == kNoPlacesCall ? ~number : number;
}

/// The group's part of a launch whose windows have elements of `type`; `facts` are what all ranks
/// must have alike.
inline GroupParams<OnHost> groupParams(const Group &group, DType type,
                                       std::initializer_list<std::int64_t> facts) {
  const GroupMemory &memory = group.memory();
  GroupParams<OnHost> params{};
  params.rank = group.rank();
  params.call = callNumber(type, facts);
  params.status.address = address(memory.status);
  params.timeout = memory.timeout_ticks;
  const auto turn = static_cast<std::int64_t>(memory.turn_bytes) / type.bytes();
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(group.size()); ++rank) {
    const std::int64_t window = address(memory.windows[rank]);
    params.windows[rank].signals.address = window;
    params.windows[rank].data = {.address = window + std::int64_t{GroupMemory::turns_at},
                                 .stride = {turn, turn / 2}};
  }
  const auto own = static_cast<std::size_t>(group.rank());
  params.own = params.windows[own];
  params.counts.address = params.own.signals.address + std::int64_t{GroupMemory::counts_at};
  return params;
}

/// Refuses a call whose group is none of `ranks` ranks.
inline const Group &expectGroup(const Arguments &arguments, const Group *group, int ranks) {
  if (!group)
    arguments.fail("group is null; it is the rank's part in its group (fx::Group)");
  if (group->size() != ranks)
    arguments.fail(is("ranks of the problem", ranks) + ", and the group has " +
                   std::to_string(group->size()));
  return *group;
}
/// Refuses a call that needs more of a window's region than there is.
inline void expectRoom(const Arguments &arguments, const Group &group, std::int64_t bytes) {
  if (bytes > static_cast<std::int64_t>(group.capacity()))
    arguments.fail(std::to_string(bytes) + " bytes do not fit the group's windows of " +
                   std::to_string(group.capacity()) + "; make the group with a larger capacity");
}
/// Whether a group has so many ranks.
inline Support ranksSupported(int ranks) {
  return ranks == 2 || ranks == 4 || ranks == 8
             ? Support{}
             : Support::no(is("ranks", ranks) + "; it is 2, 4 or 8");
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
