// Groups over a communicator of RCCL: its ranks exchange their offers by one all-gather.
//
// The functions and the numbers of ncclUint8 and ncclInProgress are those of NCCL's API of version 2
// (nccl.h; RCCL's rccl.h has the same). It is an API of C, and stable. Since 2.9 a version is
// 10000 * major + 100 * minor + patch.
#include <flydsl/host/rccl.h>

#include "runtime/group/group_state.h"

#include "runtime/device_info.h"

#include <flydsl/host/device_array.h>

#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
using namespace flydsl::runtime;

namespace {

constexpr const char *kNames[] = {"librccl.so.1", "librccl.so"};
constexpr int kFirstVersion = 20900, kEndOfVersions = 30000, kUint8 = 1, kInProgress = 7;
using Deadline = std::chrono::steady_clock::time_point;

/// Asks `came` until it says so. Returns false if it does not in time.
template <class F> bool comes(const F &came, Deadline deadline) {
  while (!came()) {
    if (std::chrono::steady_clock::now() >= deadline)
      return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

class Rccl {
public:
  Rccl(const std::filesystem::path &library, const std::source_location &where) : where_(where) {
    void *handle = find(library);
    bind(handle, "ncclGetVersion", getVersion_);
    bind(handle, "ncclGetErrorString", getErrorString_);
    bind(handle, "ncclCommCount", commCount_);
    bind(handle, "ncclCommUserRank", commUserRank_);
    bind(handle, "ncclCommCuDevice", commCuDevice_);
    bind(handle, "ncclCommGetAsyncError", getAsyncError_);
    bind(handle, "ncclAllGather", allGather_);
    int version = 0;
    check(getVersion_(&version), "asking for RCCL's version");
    if (version < kFirstVersion || version >= kEndOfVersions)
      fail("librccl has version " + std::to_string(version) +
           "; groups are made over those of 2.9 (" + std::to_string(kFirstVersion) +
           ") to below 3.0 (" + std::to_string(kEndOfVersions) +
           "). Exchange GroupOffer::bytes() by messages instead");
  }
  int count(ncclComm *communicator) const {
    return asked(commCount_, communicator, "asking for a communicator's ranks");
  }
  int rank(ncclComm *communicator) const {
    return asked(commUserRank_, communicator, "asking for the rank in a communicator");
  }
  int device(ncclComm *communicator) const {
    return asked(commCuDevice_, communicator, "asking for a communicator's device");
  }
  /// Puts an all-gather into a stream. A communicator that does not block does so later: returns false
  /// if it has not by the deadline.
  bool allGather(const void *from, void *to, std::size_t bytes, ncclComm *communicator,
                 const Stream &stream, Deadline deadline) const {
    constexpr const char *kWhat = "exchanging the offers of a group";
    int code = allGather_(from, to, bytes, kUint8, communicator, stream.native(where_));
    const bool came = comes(
        [&] {
          if (code == kInProgress)
            check(getAsyncError_(communicator, &code), kWhat);
          return code != kInProgress;
        },
        deadline);
    if (came)
      check(code, kWhat);
    return came;
  }
  [[noreturn]] void fail(const std::string &why) const { throw RuntimeError(why, 0, where_); }

private:
  using Ask = int (*)(const ncclComm *, int *);
  /// dlsym's handle for a librccl that the process has, or for one at a path.
  void *find(const std::filesystem::path &library) const {
    if (!library.empty()) {
      if (void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) // never closed
        return handle;
      fail("librccl can't be loaded: " + std::string(dlerror()));
    }
    if (dlsym(RTLD_DEFAULT, "ncclCommCount"))
      return RTLD_DEFAULT;
    for (const char *name : kNames)
      if (void *handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD))
        return handle;
    fail("this process has no librccl, so that the communicator is of no library that is known: "
         "give the path of the library that made it, or exchange GroupOffer::bytes() by messages");
  }
  template <class Function> void bind(void *handle, const char *name, Function &into) const {
    into = reinterpret_cast<Function>(dlsym(handle, name));
    if (!into)
      fail("librccl has no function " + std::string(name) +
           ": it is none, or too old for a group over its communicators");
  }
  void check(int code, const char *what) const {
    if (code == 0) // ncclSuccess
      return;
    if (code == kInProgress)
      fail("RCCL is still at work while " + std::string(what) +
           ": wait until ncclCommGetAsyncError gives ncclSuccess for the communicator");
    const char *text = getErrorString_(code);
    fail("RCCL reports an error while " + std::string(what) + ": " +
         (text ? text : "code " + std::to_string(code)));
  }
  int asked(Ask ask, const ncclComm *communicator, const char *what) const {
    int answer = -1;
    check(ask(communicator, &answer), what);
    return answer;
  }

  const std::source_location where_;
  int (*getVersion_)(int *) = nullptr;
  const char *(*getErrorString_)(int) = nullptr;
  Ask commCount_ = nullptr, commUserRank_ = nullptr, commCuDevice_ = nullptr;
  int (*getAsyncError_)(ncclComm *, int *) = nullptr;
  int (*allGather_)(const void *, void *, std::size_t, int, ncclComm *, ihipStream_t *) = nullptr;
};

/// What an exchange works on.
struct Exchange {
  std::unique_ptr<GroupOffer> offer; ///< none if the rank refuses
  DeviceArray<std::uint8_t> own, all;
  Stream stream;
  Event done;
  bool isUnderWay = false;
  Exchange(std::int64_t bytes, int size, Device device)
      : own({bytes}), all({bytes * size}), stream(device) {}
};
/// Holds an exchange. Of one that is under way RCCL may still write the memory, and a rank that comes
/// late may still use the window: it is kept.
class HeldExchange {
public:
  HeldExchange(int size, Device device)
      : exchange_(std::make_shared<Exchange>(sizeof(OfferBytes), size, device)) {}
  ~HeldExchange() {
    if (exchange_->isUnderWay)
      keepToTheEnd(exchange_);
  }
  HeldExchange(const HeldExchange &) = delete;
  HeldExchange &operator=(const HeldExchange &) = delete;
  Exchange *operator->() const { return exchange_.get(); }
  Exchange &operator*() const { return *exchange_; }

private:
  std::shared_ptr<Exchange> exchange_;
};

OfferBytes bytesOf(const GroupOffer &offer, const std::source_location &where) {
  OfferBytes bytes;
  std::memcpy(static_cast<void *>(&bytes), offer.bytes(where).data(), sizeof bytes);
  return bytes;
}

/// Sends the bytes of this rank, and returns those of all.
std::vector<std::byte> exchanged(const Rccl &rccl, Exchange &exchange, const OfferBytes &own,
                                 ncclComm *communicator, int rank, int size,
                                 std::chrono::milliseconds timeout,
                                 const std::source_location &where) {
  const auto *first = reinterpret_cast<const std::uint8_t *>(&own);
  exchange.own.copy_from(std::vector<std::uint8_t>(first, first + sizeof own));
  exchange.all.fill(0);
  const Deadline deadline = std::chrono::steady_clock::now() + timeout;
  exchange.isUnderWay = true;
  bool came = rccl.allGather(exchange.own.data(), exchange.all.data(), sizeof own, communicator,
                             exchange.stream, deadline);
  if (came) {
    exchange.done.record(exchange.stream, where);
    came = comes([&] { return exchange.done.reached(where); }, deadline);
  }
  if (!came)
    rccl.fail("rank " + std::to_string(rank) + " of a communicator of " + std::to_string(size) +
              " has waited " + std::to_string(timeout.count()) +
              " ms for the others in vain: they have died, or make no group");
  const std::vector<std::uint8_t> all = exchange.all.to_host();
  if (std::memcmp(all.data() + static_cast<std::size_t>(rank) * sizeof own, &own, sizeof own) != 0)
    rccl.fail("RCCL's all-gather has not brought the rank's own bytes; between ncclGroupStart and "
              "ncclGroupEnd it waits for the latter: make the group outside of them");
  exchange.isUnderWay = false;
  const auto bytes = std::as_bytes(std::span(all));
  return {bytes.begin(), bytes.end()};
}

} // namespace

Group group_of_communicator(ncclComm *communicator, const GroupOptions &options,
                            const std::filesystem::path &library, std::source_location where) {
  const Rccl rccl(library, where);
  if (!communicator)
    rccl.fail("the communicator of a group is null");
  const int size = rccl.count(communicator), rank = rccl.rank(communicator),
            device = rccl.device(communicator), current = Device::current(where).ordinal();
  expectRank(rank, size, {}, where); // all ranks have the same numbers, but each its own options
  const DeviceScope scope(device);
  const HeldExchange exchange(size, Device(device, where));
  // A rank that can't offer takes part all the same, so that the others refuse and do not wait.
  OfferBytes own{};
  own.magic = kMagicOfRefusal;
  std::exception_ptr refusal;
  try {
    if (current != device)
      rccl.fail("the communicator has device " + std::to_string(device) +
                ", and the current device is " + std::to_string(current) +
                "; make the communicator's current");
    exchange->offer = std::make_unique<GroupOffer>(rank, size, options, where);
    own = bytesOf(*exchange->offer, where);
  } catch (...) {
    refusal = std::current_exception();
  }
  // The timeout may be what is wrong.
  const auto timeout = refusal ? GroupOptions{}.timeout : options.timeout;
  try {
    const std::vector<std::byte> all =
        exchanged(rccl, *exchange, own, communicator, rank, size, timeout, where);
    if (!refusal)
      return std::move(*exchange->offer).join(all, where);
  } catch (...) {
    if (!refusal)
      throw;
  }
  std::rethrow_exception(refusal);
}

FLYDSL_NAMESPACE_END
