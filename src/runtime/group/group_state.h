// What a rank has of its group.
#pragma once

#include <flydsl/host/group.h>
#include <flydsl/host/host_memory.h>
#include <flydsl/host/peers.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace runtime {

/// Throws RuntimeError for numbers that no group has.
void expectRank(int rank, int size, const GroupOptions &options, const std::source_location &where);
/// The bytes of a turn, and of a whole window.
std::size_t turnBytes(const GroupOptions &options);
std::size_t windowBytes(const GroupOptions &options);
/// Keeps until the process ends what other ranks, or a library, may still use.
void keepToTheEnd(std::shared_ptr<const void> memory);

/// "folygrp2": the layout of OfferBytes.
inline constexpr std::uint64_t kMagicOfOffers = 0x32707267'796c6f66;
/// "folygrno": the number of a rank that has refused and tells the others so; nothing else of its bytes counts.
inline constexpr std::uint64_t kMagicOfRefusal = 0x6f6e7267'796c6f66;

/// The bytes of an offer, as they are sent: there are none between the members.
struct OfferBytes {
  std::uint64_t magic;
  std::uint64_t machine; ///< of the machine's present run
  std::uint64_t process; ///< random: of the process
  std::uint64_t nonce;   ///< random: of the offer
  std::uint64_t capacity, registered;
  std::uint64_t window; ///< its address in the process
  std::int32_t rank, size;
  std::int32_t device; ///< its ordinal in the process
  std::int32_t pid;
  MemoryHandle handle;
};
static_assert(sizeof(OfferBytes) == 7 * 8 + 4 * 4 + sizeof(MemoryHandle));

} // namespace runtime

struct Group::State {
  State(int rank, int size, Device device, const GroupOptions &options,
        const std::source_location &where);
  /// Throws RuntimeError if a stream is none of the rank's device.
  void expectStream(StreamRef stream, const std::source_location &where) const;
  const int rank, size;
  const Device device;
  const GroupOptions options;
  HostMemory status;
  GroupMemory memory;
  /// The windows of this process that the rank uses, and those of others.
  std::vector<std::shared_ptr<SharedMemory>> windows;
  std::vector<std::unique_ptr<OpenedMemory>> opened;

  std::mutex mutex;
  std::optional<ihipStream_t *> stream; ///< that has the calls, guarded by mutex
};

struct GroupOffer::State {
  GroupOptions options;
  Device device;
  std::shared_ptr<SharedMemory> window;
  runtime::OfferBytes bytes;
};

FLYDSL_NAMESPACE_END
