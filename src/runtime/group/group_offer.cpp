// Groups of several processes: what ranks tell each other, and how they find each other by files.
#include "runtime/group/group_state.h"

#include "runtime/device_info.h"
#include "support/file.h"
#include "support/process.h"
#include "support/text.h"

#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>

FLYDSL_NAMESPACE_BEGIN
using namespace flydsl::runtime;

namespace {

/// Tells processes apart, also those that have the same number in different containers.
std::uint64_t thisProcess() {
  static std::uint64_t number = 0;
  static pid_t of = 0;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (of != getpid()) { // a forked child is another process
    of = getpid();
    number = support::random64();
  }
  return number;
}

/// The machine, and its run since it was started.
std::uint64_t thisMachine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(file, text);
  return support::digest(text);
}

[[noreturn]] void refuse(int rank, const std::string &why, const std::source_location &where) {
  throw RuntimeError("what rank " + std::to_string(rank) + " tells the group can't be used: " + why,
                     0, where);
}

template <class State>
void expectState(const std::unique_ptr<State> &state, const std::source_location &where) {
  if (!state)
    throw RuntimeError("a GroupOffer that was joined or moved from is used; make another one", 0,
                       where);
}

/// Throws if an offer is none of a group.
void expectFits(const OfferBytes &offer, const OfferBytes &own, int rank,
                const std::source_location &where) {
  if (offer.magic == kMagicOfRefusal)
    refuse(rank, "it has refused to take part, and its own error says why", where);
  if (offer.magic == 0)
    refuse(rank, "its bytes are 0, because nothing of it has come", where);
  if (offer.magic != kMagicOfOffers)
    refuse(rank, "it is not GroupOffer::bytes() of this version of the library", where);
  if (offer.rank != rank)
    refuse(rank, "it is of rank " + std::to_string(offer.rank) + "; ranks stand in their order",
           where);
  if (offer.size != own.size)
    refuse(rank,
           "its group has " + std::to_string(offer.size) + " ranks, this one " +
               std::to_string(own.size),
           where);
  if (offer.capacity != own.capacity)
    refuse(rank,
           "its capacity is " + std::to_string(offer.capacity) + " bytes, here it is " +
               std::to_string(own.capacity),
           where);
  if (offer.registered != own.registered)
    refuse(rank,
           "its registered memory is " + std::to_string(offer.registered) + " bytes, here it is " +
               std::to_string(own.registered),
           where);
  if (offer.machine != own.machine)
    refuse(rank, "it is of another machine; between machines the engine's own library carries data",
           where);
  if (rank == own.rank && offer.nonce != own.nonce)
    refuse(rank, "it is not what this rank has offered", where);
}

/// Throws if two ranks have one device. Each rank looks at all of them, so that all refuse.
void expectOwnDevices(const std::vector<OfferBytes> &offers, const std::source_location &where) {
  for (std::size_t rank = 0; rank < offers.size(); ++rank)
    for (std::size_t before = 0; before < rank; ++before)
      if (offers[before].process == offers[rank].process &&
          offers[before].device == offers[rank].device)
        refuse(static_cast<int>(rank),
               "it has device " + std::to_string(offers[rank].device) +
                   " of its process, as rank " + std::to_string(before) +
                   " does; each rank has a device of its own",
               where);
}

/// The window of a rank of another process.
std::unique_ptr<OpenedMemory> openedWindow(const OfferBytes &offer,
                                           const std::source_location &where) {
  try {
    return std::make_unique<OpenedMemory>(offer.handle, where);
  } catch (const RuntimeError &error) {
    refuse(offer.rank, error.what(), where);
  }
}

/// A folder's files by which ranks find each other: an offer of each rank, and what each has seen.
class Meeting {
public:
  Meeting(const std::filesystem::path &file, const OfferBytes &own, const GroupOptions &options)
      : file_(file), own_(own), size_(static_cast<std::size_t>(own.size)), offers_(size_),
        timeout_(options.timeout) {}

  /// Returns the offers of all ranks when all have seen the same ones.
  std::vector<OfferBytes> meet(const std::source_location &where) {
    const auto deadline = std::chrono::steady_clock::now() + timeout_;
    write(offerFile(own_.rank), &own_, sizeof own_, where);
    std::uint64_t told = 0;
    std::vector<OfferBytes> agreed;
    while (true) {
      std::string missing = missingOffers();
      if (missing.empty()) {
        const std::uint64_t seen = support::digest(
            {reinterpret_cast<const char *>(offers_.data()), sizeof(OfferBytes) * size_});
        if (seen != told)
          write(seenFile(own_.rank), &seen, sizeof seen, where);
        told = seen;
        agreed = offers_;
      }
      // A rank that has seen this may have ended since.
      if (told) {
        const std::string others = othersThatSaw(told);
        if (others.empty())
          break;
        missing = missing.empty() ? others : missing;
      }
      if (std::chrono::steady_clock::now() >= deadline)
        throw RuntimeError("rank " + std::to_string(own_.rank) + " of a group of " +
                               std::to_string(size_) + " has waited " +
                               std::to_string(timeout_.count()) + " ms by the files " +
                               file_.string() + ".*; missing: rank " + missing,
                           0, where);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    std::error_code ignored;
    std::filesystem::remove(offerFile(own_.rank), ignored); // all have read it
    return agreed;
  }

private:
  std::filesystem::path seenFile(int rank) const { return named(rank, ".seen"); }
  std::filesystem::path offerFile(int rank) const { return named(rank, ""); }
  std::filesystem::path named(int rank, const char *end) const {
    return file_.string() + "." + std::to_string(rank) + end;
  }
  static void write(const std::filesystem::path &path, const void *bytes, std::size_t count,
                    const std::source_location &where) {
    const std::string problem = support::writeFile(
        path.string(), std::span(static_cast<const std::uint8_t *>(bytes), count),
        {.existing = support::WriteOptions::Existing::replace, .group = {}, .durable = false});
    if (!problem.empty())
      throw RuntimeError("the ranks of a group can't find each other: " + path.string() +
                             " can't be written: " + problem,
                         0, where);
  }
  static bool read(const std::filesystem::path &path, void *bytes, std::size_t count) {
    const support::FileContents file = support::readAll(path.string(), count);
    if (!file.bytes || file.bytes->size() != count)
      return false;
    std::memcpy(bytes, file.bytes->data(), count);
    return true;
  }
  /// The ranks without an offer of a process that lives.
  std::string missingOffers() {
    std::string missing;
    for (std::size_t rank = 0; rank < size_; ++rank) {
      OfferBytes found;
      if (read(offerFile(static_cast<int>(rank)), &found, sizeof found))
        offers_[rank] = found;
      const OfferBytes &offer = offers_[rank];
      // An offer that was read stays, because its rank removes it when all have seen it.
      if (offer.magic != kMagicOfOffers || !support::isAlive(offer.pid))
        support::appendItem(missing, std::to_string(rank));
    }
    return missing;
  }
  std::string othersThatSaw(std::uint64_t seen) const {
    std::string missing;
    for (std::size_t rank = 0; rank < size_; ++rank) {
      std::uint64_t of = 0;
      if (!read(seenFile(static_cast<int>(rank)), &of, sizeof of) || of != seen)
        support::appendItem(missing, std::to_string(rank));
    }
    return missing;
  }

  std::filesystem::path file_;
  OfferBytes own_;
  std::size_t size_;
  std::vector<OfferBytes> offers_;
  std::chrono::milliseconds timeout_;
};

} // namespace

GroupOffer::GroupOffer(int rank, int size, const GroupOptions &options,
                       std::source_location where) {
  expectRank(rank, size, options, where);
  const Device device = Device::current(where);
  auto window = std::make_shared<SharedMemory>(windowBytes(options), where);
  const OfferBytes bytes{.magic = kMagicOfOffers,
                         .machine = thisMachine(),
                         .process = thisProcess(),
                         .nonce = support::random64(),
                         .capacity = options.capacity,
                         .registered = options.registered,
                         .window = reinterpret_cast<std::uint64_t>(window->data(where)),
                         .rank = rank,
                         .size = size,
                         .device = device.ordinal(),
                         .pid = getpid(),
                         .handle = memory_handle(window->data(where), where)};
  state_ = std::make_unique<State>(State{options, device, std::move(window), bytes});
}
GroupOffer::~GroupOffer() = default;
GroupOffer::GroupOffer(GroupOffer &&other) noexcept = default;

std::span<const std::byte> GroupOffer::bytes(std::source_location where) const {
  expectState(state_, where);
  return std::as_bytes(std::span(&state_->bytes, 1));
}

Group GroupOffer::join(std::span<const std::byte> all, std::source_location where) && {
  expectState(state_, where);
  const std::unique_ptr<State> offer = std::move(state_);
  const OfferBytes &own = offer->bytes;
  const auto size = static_cast<std::size_t>(own.size);
  if (all.size() != size * sizeof(OfferBytes))
    throw RuntimeError("a group of " + std::to_string(size) + " ranks is joined by " +
                           std::to_string(size * sizeof(OfferBytes)) +
                           " bytes, those of all ranks in their order; there are " +
                           std::to_string(all.size()),
                       0, where);
  std::vector<OfferBytes> offers(size);
  std::memcpy(static_cast<void *>(offers.data()), all.data(), all.size());
  for (std::size_t rank = 0; rank < size; ++rank)
    expectFits(offers[rank], own, static_cast<int>(rank), where);
  expectOwnDevices(offers, where);

  try {
    const DeviceScope scope(offer->device.ordinal());
    auto state =
        std::make_shared<Group::State>(own.rank, own.size, offer->device, offer->options, where);
    state->windows.push_back(offer->window);
    for (std::size_t rank = 0; rank < size; ++rank) {
      const OfferBytes &peer = offers[rank];
      void *&window = state->memory.windows[rank];
      if (peer.process == own.process) {
        enable_access(offer->device, Device(peer.device, where), where);
        window = reinterpret_cast<void *>(peer.window);
        continue;
      }
      state->opened.push_back(openedWindow(peer, where));
      window = state->opened.back()->data(where);
    }
    return Group(std::move(state));
  } catch (...) {
    keepToTheEnd(offer->window); // the other ranks may have joined
    throw;
  }
}

Group Group::join(const std::filesystem::path &file, int rank, int size,
                  const GroupOptions &options, std::source_location where) {
  GroupOffer offer(rank, size, options, where);
  Meeting meeting(file, offer.state_->bytes, options);
  const std::vector<OfferBytes> offers = meeting.meet(where);
  return std::move(offer).join(std::as_bytes(std::span(offers)), where);
}

FLYDSL_NAMESPACE_END
