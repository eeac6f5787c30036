// Groups of devices whose kernels work together: of one process, or of several on one machine.
//
// A group has 2, 4 or 8 ranks, and each rank a device of its own. Every rank gives the others a
// window of its device's memory, once, when the group is made; from then on kernels exchange data
// through the windows, and no call allocates or exchanges anything. Between machines the engine's
// own library stays: streams and buffers are HIP's, so its calls go between those of a group.
//
//   std::vector<fx::Group> ranks = fx::Group::of(fx::Device::all());        // one process
//   fx::Group own = fx::Group::join("/run/engine/group", rank, size);       // a process for each rank
//   fx::GroupOffer offer(rank, size);                                       // by the engine's messages
//   fx::Group own = std::move(offer).join(exchanged(offer.bytes()));
//
// The kernels are in flydsl/kernels/collective.h.
#pragma once

#include <flydsl/host/device.h>
#include <flydsl/host/stream.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <source_location>
#include <span>
#include <vector>

FLYDSL_NAMESPACE_BEGIN

/// How a group is made. All ranks have the same.
struct FLYDSL_API GroupOptions {
  /// The bytes of the largest operand of a call. A window has a bit more than four times as many:
  /// two turns, in which there is room for what a rank gives and for what it gets.
  std::size_t capacity = std::size_t(32) << 20;
  /// How long a rank is waited for: by the others when the group is made, and by kernels in a call.
  /// It must exceed the time by which one rank's call may come after another's. Up to 2^31 - 1.
  std::chrono::milliseconds timeout{30'000};
  /// Bytes of each rank's memory that all ranks read and the rank itself writes, by kernels of its own:
  /// Group::registered. Calls that take operands of it make no copy of them. Up to 2^36.
  std::size_t registered = 0;
};

/// What the kernels of a group work on, for those who write some.
struct FLYDSL_API GroupMemory {
  /// The most ranks of a group.
  static constexpr int most_ranks = 8;
  /// Blocks of a launch that have signals of their own.
  static constexpr int most_blocks = 128;
  /// A window begins with the signals to its rank, u64: (most_ranks, most_blocks), where the first
  /// mode is who gives the signal. The numbers of the rank's calls so far follow, u32: (most_blocks),
  /// and then the two turns.
  static constexpr std::size_t counts_at = std::size_t(8) * most_ranks * most_blocks;
  static constexpr std::size_t turns_at = 2 * counts_at;
  /// Where the windows of all ranks are in this process, for kernels of this rank's device.
  std::array<void *, most_ranks> windows = {};
  std::size_t turn_bytes = 0; ///< of each turn: twice the capacity, up to whole lines
  /// Registered memory follows the two turns.
  std::size_t registered_bytes = 0;
  /// In the host's memory, i32: 0; 1 + the rank that did not come in time; `other_call` + the rank
  /// that came with another call; `no_places`; `no_places` + 1 + the rank that had none; or
  /// `overlapping`. A kernel that finds another number than 0 does nothing.
  void *status = nullptr;
  /// What `status` is from on if a rank came with another call.
  static constexpr int other_call = 0x100;
  /// What `status` is if the rank was given more than it had places for (expert_parallel.h). Numbers
  /// above it are of ranks that wait for one that was.
  static constexpr int no_places = 0x200;
  /// What `status` is if two launches with calls of the rank were under way together.
  static constexpr int overlapping = 0x300;
  std::int64_t timeout_ticks = 0; ///< GroupOptions::timeout, of the clock that counts 100 MHz
};

/// One rank's part in a group. Copies are the same. All ranks make the same calls in the same order;
/// the calls of a rank go into one stream. A rank's window is freed with the last copy of its part, so
/// that must stay until all ranks have ended their calls.
class FLYDSL_API Group {
public:
  /// A move is a copy, so that no Group is without a part.
  Group(const Group &other) = default;
  Group &operator=(const Group &other) = default;

  /// A group of this process, a rank for each device, in their order. Throws RuntimeError for another
  /// number than 2, 4 or 8, for a device that is there twice, and if the devices can't reach each
  /// other's memory.
  static std::vector<Group> of(const std::vector<Device> &devices, const GroupOptions &options = {},
                               std::source_location where = std::source_location::current());
  /// Rank `rank` of a group of `size` processes, on the current device. They find each other by files
  /// whose names begin with `file`, in a folder that all of them can write to; files of processes that
  /// have ended are ignored. A file of 8 bytes for each rank is left, which later groups ignore, too.
  /// Throws RuntimeError, with the ranks that are missing, if not all have come in time.
  static Group join(const std::filesystem::path &file, int rank, int size,
                    const GroupOptions &options = {},
                    std::source_location where = std::source_location::current());

  /// The rank's number, from 0.
  int rank() const;
  /// The number of ranks.
  int size() const;
  /// The rank's device.
  Device device() const;
  /// The bytes of the largest operand of a call.
  std::size_t capacity() const;
  /// The rank's registered memory (GroupOptions::registered), 0 at first; null if it has none. It is
  /// freed with the window.
  void *registered() const;

  /// Throws RuntimeError if a kernel of this rank has waited in vain for another rank, which has died or
  /// makes fewer calls, if that made another call at this rank's place, if this rank or one that it
  /// waits for was given more tokens than it had places for, or if two launches of the rank were under
  /// way together. What calls wrote since is undefined, and the group can't be used any more. It waits
  /// for nothing; a call of the group asks by itself.
  void check(std::source_location where = std::source_location::current()) const;

  /// From now on the calls go into this stream, after the work that the stream before has now. Not
  /// while a graph is captured. Launches of a graph with calls of the group are the caller's to order:
  /// two that run together are an error of `check`.
  /// Throws RuntimeError if the stream is none of the group's device.
  void move_to(StreamRef stream, std::source_location where = std::source_location::current());
  /// What a call does first: it throws RuntimeError as `check` does, if the stream is none of the
  /// group's device, and if another stream has the calls.
  void enter(StreamRef stream, std::source_location where = std::source_location::current()) const;
  /// What kernels of the group work on.
  const GroupMemory &memory() const;

private:
  friend class GroupOffer;
  struct State;
  explicit Group(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// What a rank tells the others, if the engine carries it: a few hundred bytes.
class FLYDSL_API GroupOffer {
public:
  /// Makes the rank's window on the current device. Throws RuntimeError for wrong numbers, and if
  /// there is no memory.
  GroupOffer(int rank, int size, const GroupOptions &options = {},
             std::source_location where = std::source_location::current());
  ~GroupOffer();
  GroupOffer(GroupOffer &&other) noexcept;

  /// The bytes for the other ranks, the same number on each. This function and `join` throw
  /// RuntimeError if the offer was joined or moved from.
  std::span<const std::byte>
  bytes(std::source_location where = std::source_location::current()) const;
  /// The group, by the bytes of all ranks in their order, the own included. Throws RuntimeError if
  /// they are not those of one group, and if a rank's memory can't be opened.
  Group join(std::span<const std::byte> all,
             std::source_location where = std::source_location::current()) &&;

private:
  friend class Group;
  struct State;
  std::unique_ptr<State> state_;
};

FLYDSL_NAMESPACE_END
