// Groups over a communicator of RCCL: its ranks exchange their offers by one all-gather.
//
// The functions and the number of ncclUint8 are those of NCCL's API of version 2 (nccl.h; RCCL's rccl.h
// has the same). It is an API of C, and stable. Since 2.9 a version is 10000 * major + 100 * minor + patch.
#include <flydsl/host/rccl.h>

#include "runtime/group/group_state.h"

#include "runtime/device_info.h"

#include <flydsl/host/device_array.h>

#include <dlfcn.h>
#include <exception>
#include <memory>
#include <string>
#include <thread>

FLYDSL_NAMESPACE_BEGIN
using namespace flydsl::runtime;

namespace {

constexpr const char *kNames[] = {"librccl.so.1", "librccl.so"};
constexpr int kFirstVersion = 20900, kEndOfVersions = 30000, kUint8 = 1;

class Rccl {
public:
  Rccl(const std::filesystem::path &library, const std::source_location &where) : where_(where) {
    void *handle = find(library);
    bind(handle, "ncclGetVersion", getVersion_);
    bind(handle, "ncclGetErrorString", getErrorString_);
    bind(handle, "ncclCommCount", commCount_);
    bind(handle, "ncclCommUserRank", commUserRank_);
    bind(handle, "ncclCommCuDevice", commCuDevice_);
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
  void allGather(const void *from, void *to, std::size_t bytes, ncclComm *communicator,
                 const Stream &stream) const {
    check(allGather_(from, to, bytes, kUint8, communicator, stream.native(where_)),
          "exchanging the offers of a group");
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
  int (*allGather_)(const void *, void *, std::size_t, int, ncclComm *, ihipStream_t *) = nullptr;
};

/// The memory of an exchange. It is not freed while RCCL may still write it.
struct Exchange {
  DeviceArray<std::uint8_t> own, all;
  Stream stream;
  Event done;
  Exchange(std::int64_t bytes, int size, Device device)
      : own({bytes}), all({bytes * size}), stream(device) {}
};

/// Whether an event comes within a time.
bool comes(const Event &event, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!event.reached()) {
    if (std::chrono::steady_clock::now() >= deadline)
      return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

} // namespace

Group group_of_communicator(ncclComm *communicator, const GroupOptions &options,
                            const std::filesystem::path &library, std::source_location where) {
  const Rccl rccl(library, where);
  if (!communicator)
    rccl.fail("the communicator of a group is null");
  const int size = rccl.count(communicator), rank = rccl.rank(communicator),
            device = rccl.device(communicator);
  expectRank(rank, size, options, where); // all ranks have the same size and options
  // A rank that can't offer takes part with zeros, so that the others refuse and do not wait.
  std::unique_ptr<GroupOffer> offer;
  std::exception_ptr refusal;
  std::vector<std::uint8_t> bytes(sizeof(OfferBytes), 0);
  try {
    if (const int current = Device::current(where).ordinal(); current != device)
      rccl.fail("the communicator has device " + std::to_string(device) +
                ", and the current device is " + std::to_string(current) +
                "; make the communicator's current");
    offer = std::make_unique<GroupOffer>(rank, size, options, where);
    const auto *own = reinterpret_cast<const std::uint8_t *>(offer->bytes(where).data());
    bytes.assign(own, own + sizeof(OfferBytes));
  } catch (...) {
    refusal = std::current_exception();
  }
  const DeviceScope scope(device);
  auto exchange = std::make_unique<Exchange>(std::ssize(bytes), size, Device(device, where));
  exchange->own.copy_from(bytes);
  rccl.allGather(exchange->own.data(), exchange->all.data(), bytes.size(), communicator,
                 exchange->stream);
  exchange->done.record(exchange->stream);
  if (!comes(exchange->done, options.timeout)) {
    (void)exchange.release();
    rccl.fail("rank " + std::to_string(rank) + " of a communicator of " + std::to_string(size) +
              " has waited " + std::to_string(options.timeout.count()) +
              " ms for the others in vain: they have died, or make no group");
  }
  if (refusal)
    std::rethrow_exception(refusal);
  const std::vector<std::uint8_t> all = exchange->all.to_host();
  return std::move(*offer).join(std::as_bytes(std::span(all)), where);
}

FLYDSL_NAMESPACE_END
