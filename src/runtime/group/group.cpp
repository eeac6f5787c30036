// Groups: their making in one process, and the rules of a call.
#include "runtime/group/group_state.h"

#include "runtime/current_driver.h"
#include "runtime/device_info.h"
#include "runtime/graph_capture.h"

#include <algorithm>
#include <atomic>
#include <string>

FLYDSL_NAMESPACE_BEGIN
using namespace flydsl::runtime;

namespace runtime {
namespace {
/// Lines of caches; each belongs to one turn alone.
constexpr std::size_t kLine = 256;
constexpr std::size_t kMostCapacity = std::size_t(1) << 32;
constexpr std::size_t kMostRegistered = std::size_t(1) << 36;
/// 24 days. The ticks of a much longer time, and the deadline of a meeting, would not fit 64 bits.
constexpr std::chrono::milliseconds kLongestTimeout{0x7fffffff};
/// The constant clock counts 100 million a second on every processor (LLVM, AMDGPUUsage,
/// s_memrealtime; AMD's ISA documents, S_MEMREALTIME and MSG_RTN_GET_REALTIME).
constexpr std::int64_t kTicksOfMillisecond = 100'000;
} // namespace

void expectRank(int rank, int size, const GroupOptions &options,
                const std::source_location &where) {
  if (size != 2 && size != 4 && size != 8)
    throw RuntimeError("a group of " + std::to_string(size) + " ranks; it has 2, 4 or 8", 0, where);
  if (rank < 0 || rank >= size)
    throw RuntimeError("rank " + std::to_string(rank) + " of a group of " + std::to_string(size) +
                           "; ranks count from 0",
                       0, where);
  if (options.capacity == 0 || options.capacity > kMostCapacity)
    throw RuntimeError("a group's capacity is " + std::to_string(options.capacity) +
                           " bytes; it is 1 to 2^32",
                       0, where);
  if (options.registered > kMostRegistered)
    throw RuntimeError("a group's registered memory is " + std::to_string(options.registered) +
                           " bytes; it is up to 2^36",
                       0, where);
  if (options.timeout.count() <= 0)
    throw RuntimeError("a group's timeout is " + std::to_string(options.timeout.count()) +
                           " ms; it is above 0, because a rank that dies would never be noticed",
                       0, where);
  if (options.timeout > kLongestTimeout)
    throw RuntimeError("a group's timeout is " + std::to_string(options.timeout.count()) +
                           " ms; it is up to " + std::to_string(kLongestTimeout.count()),
                       0, where);
}

std::size_t turnBytes(const GroupOptions &options) {
  return (2 * options.capacity + kLine - 1) / kLine * kLine;
}
std::size_t windowBytes(const GroupOptions &options) {
  return GroupMemory::turns_at + 2 * turnBytes(options) + options.registered;
}

void keepToTheEnd(std::shared_ptr<const void> memory) {
  static std::mutex mutex;
  static auto &kept = *new std::vector<std::shared_ptr<const void>>; // never destroyed
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(memory));
}

} // namespace runtime

Group::State::State(int rank, int size, Device device, const GroupOptions &options,
                    const std::source_location &where)
    : rank(rank), size(size), device(device), options(options),
      status(sizeof(std::int32_t), where) {
  memory.turn_bytes = turnBytes(options);
  memory.registered_bytes = options.registered;
  memory.status = status.data(where);
  memory.timeout_ticks = options.timeout.count() * kTicksOfMillisecond;
}

std::vector<Group> Group::of(const std::vector<Device> &devices, const GroupOptions &options,
                             std::source_location where) {
  const int size = static_cast<int>(devices.size());
  expectRank(0, size, options, where);
  for (auto device = devices.begin(); device != devices.end(); ++device)
    if (std::find(devices.begin(), device, *device) != device)
      throw RuntimeError("a group has device " + std::to_string(device->ordinal()) +
                             " twice; each rank has a device of its own",
                         0, where);
  for (const Device device : devices)
    for (const Device peer : devices)
      enable_access(device, peer, where);
  std::vector<std::shared_ptr<SharedMemory>> windows;
  for (const Device device : devices) {
    const DeviceScope scope(device.ordinal());
    windows.push_back(std::make_shared<SharedMemory>(windowBytes(options), where));
  }
  std::vector<Group> groups;
  for (int rank = 0; rank < size; ++rank) {
    const Device device = devices[static_cast<std::size_t>(rank)];
    const DeviceScope scope(device.ordinal());
    auto state = std::make_shared<State>(rank, size, device, options, where);
    state->windows = windows;
    for (std::size_t i = 0; i < windows.size(); ++i)
      state->memory.windows[i] = windows[i]->data(where);
    groups.push_back(Group(std::move(state)));
  }
  return groups;
}

int Group::rank() const { return state_->rank; }
int Group::size() const { return state_->size; }
Device Group::device() const { return state_->device; }
std::size_t Group::capacity() const { return state_->options.capacity; }
void *Group::registered() const {
  const GroupMemory &memory = state_->memory;
  auto *window = static_cast<std::byte *>(memory.windows[static_cast<std::size_t>(state_->rank)]);
  return memory.registered_bytes ? window + GroupMemory::turns_at + 2 * memory.turn_bytes : nullptr;
}
const GroupMemory &Group::memory() const { return state_->memory; }

void Group::check(std::source_location where) const {
  auto *word = static_cast<std::int32_t *>(state_->status.data(where));
  const int status = std::atomic_ref(*word).load(std::memory_order_acquire);
  if (status == 0)
    return;
  const std::string who =
      "rank " + std::to_string(state_->rank) + " of a group of " + std::to_string(state_->size);
  const auto reason = [&]() -> std::string {
    if (status == GroupMemory::overlapping)
      return " had two launches under way together, which used one window: order launches of "
             "graphs "
             "with calls of the group one after another, or make a group for each stream";
    if (status > GroupMemory::no_places)
      return " can't go on: rank " + std::to_string(status - GroupMemory::no_places - 1) +
             " was given more slots of tokens than its experts have places for; give it more "
             "places "
             "there, or a larger capacity";
    if (status == GroupMemory::no_places)
      return " was given more slots of tokens than its experts have places for: give "
             "expert_dispatch more places, or a larger capacity";
    if (status >= GroupMemory::other_call)
      return " and rank " + std::to_string(status - GroupMemory::other_call) +
             " made different calls at one place of their order: another kind, type, size, "
             "root or configuration";
    return " has waited " + std::to_string(state_->options.timeout.count()) + " ms for rank " +
           std::to_string(status - 1) +
           " in vain: it has died, makes fewer calls, or is later than that";
  };
  throw RuntimeError(who + reason() +
                         ". What calls wrote since is undefined; end the ranks' work, and make "
                         "another group",
                     0, where);
}

void Group::State::expectStream(StreamRef stream, const std::source_location &where) const {
  int device = stream.device();
  if (device < 0 && stream.native() && driver().deviceOfStream)
    flydsl::runtime::check(driver().deviceOfStream(stream.native(), &device),
                           "asking for the device of a stream", where);
  if (device < 0)
    device = Device::current(where).ordinal();
  if (device != this->device.ordinal())
    throw RuntimeError("a call of rank " + std::to_string(rank) + ", which has device " +
                           std::to_string(this->device.ordinal()) +
                           ", goes into a stream of device " + std::to_string(device),
                       0, where);
}

void Group::enter(StreamRef stream, std::source_location where) const {
  check(where);
  state_->expectStream(stream, where);
  const std::lock_guard lock(state_->mutex);
  if (!state_->stream)
    state_->stream = stream.native();
  if (*state_->stream != stream.native())
    throw RuntimeError(
        "the calls of rank " + std::to_string(state_->rank) +
            " go into another stream than this one: two calls at a time would use one window; "
            "call Group::move_to(stream) first, or make a group for each stream",
        0, where);
}

void Group::move_to(StreamRef stream, std::source_location where) {
  refuseInCapture("moving a group to a stream", "move it before the capture", where);
  const DeviceScope scope(state_->device.ordinal());
  state_->expectStream(stream, where);
  const std::lock_guard lock(state_->mutex);
  if (state_->stream && *state_->stream != stream.native()) {
    Event done(where);
    done.record(StreamRef(*state_->stream), where);
    flydsl::runtime::check(driver().waitForEvent(stream.native(), done.native(where)),
                           "making a stream wait for an event", where);
  }
  state_->stream = stream.native();
}

FLYDSL_NAMESPACE_END
