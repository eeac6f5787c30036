// A library that stands in for librccl: communicators of the ranks of one process, each in a thread of its
// own, and an all-gather over them. Signatures are those of NCCL's nccl.h, version 2.
#include "collective/stand_in_rccl.h"

#include <hip/hip_runtime_api.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

int versionToTell = 22304; // as of ROCm 6.4
constexpr int kSuccess = 0, kUnhandledError = 1, kInternalError = 3, kInvalidArgument = 4,
              kRemoteError = 6, kInProgress = 7; // ncclResult_t

/// Where the ranks of an all-gather meet.
struct Room {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<char> bytes;
  int came = 0, calls = 0;
};

} // namespace

struct ncclComm {
  std::shared_ptr<Room> room;
  int rank, size, device;
  StandIn behaviour;
  const void *from = nullptr;
  void *to = nullptr;
  std::size_t count = 0;
  std::atomic<int> state = kSuccess; ///< of the last all-gather
  std::thread worker = {};
};

namespace {

/// The exchange. It waits until all ranks have come.
int gather(ncclComm &one) {
  Room &room = *one.room;
  const auto size = static_cast<std::size_t>(one.size), rank = static_cast<std::size_t>(one.rank);
  if (hipSetDevice(one.device) != hipSuccess)
    return kUnhandledError;
  std::unique_lock lock(room.mutex);
  room.bytes.resize(one.count * size);
  if (hipMemcpy(room.bytes.data() + one.count * rank, one.from, one.count, hipMemcpyDeviceToHost) !=
      hipSuccess)
    return kUnhandledError;
  const int call = room.calls;
  if (++room.came == one.size) {
    room.came = 0;
    ++room.calls;
    room.changed.notify_all();
  } else {
    room.changed.wait(lock, [&] { return room.calls != call; });
  }
  return hipMemcpy(one.to, room.bytes.data(), room.bytes.size(), hipMemcpyHostToDevice) ==
                 hipSuccess
             ? kSuccess
             : kUnhandledError;
}
void gatherInBackground(ncclComm &one) {
  one.state = kInProgress;
  one.worker = std::thread([&one] { one.state = gather(one); });
}

} // namespace

extern "C" {

void standInVersion(int version) { versionToTell = version; }
void standInComms(ncclComm **made, int size, const int *devices, StandIn behaviour) {
  const auto room = std::make_shared<Room>();
  for (int rank = 0; rank < size; ++rank)
    made[rank] = new ncclComm{room, rank, size, devices[rank], behaviour};
}
void standInBehaviour(ncclComm *communicator, StandIn behaviour) {
  communicator->behaviour = behaviour;
}
int standInEnd(ncclComm *communicator) {
  if (communicator->behaviour == StandIn::in_group)
    gatherInBackground(*communicator);
  if (communicator->worker.joinable())
    communicator->worker.join();
  return communicator->state;
}
void standInDestroy(ncclComm *communicator) {
  if (communicator->worker.joinable())
    communicator->worker.join();
  delete communicator;
}

int ncclGetVersion(int *version) {
  *version = versionToTell;
  return kSuccess;
}
const char *ncclGetErrorString(int code) {
  switch (code) {
  case kInvalidArgument:
    return "invalid argument";
  case kInternalError:
    return "internal error";
  case kRemoteError:
    return "remote process exited";
  default:
    return "no error";
  }
}
int ncclCommCount(const ncclComm *communicator, int *count) {
  if (communicator->behaviour == StandIn::not_ready)
    return kInProgress;
  *count = communicator->size;
  return communicator->size > 0 ? kSuccess : kInvalidArgument;
}
int ncclCommUserRank(const ncclComm *communicator, int *rank) {
  *rank = communicator->rank;
  return kSuccess;
}
int ncclCommCuDevice(const ncclComm *communicator, int *device) {
  *device = communicator->device;
  return kSuccess;
}
int ncclCommGetAsyncError(ncclComm *communicator, int *error) {
  *error =
      communicator->behaviour == StandIn::fails_later ? kRemoteError : communicator->state.load();
  return kSuccess;
}
/// The work is put into no stream.
int ncclAllGather(const void *from, void *to, std::size_t count, int type, ncclComm *communicator,
                  hipStream_t stream) {
  if (type != 1) // ncclUint8
    return kInvalidArgument;
  if (hipStreamSynchronize(stream) != hipSuccess)
    return kUnhandledError;
  communicator->from = from;
  communicator->to = to;
  communicator->count = count;
  switch (communicator->behaviour) {
  case StandIn::blocks:
    return gather(*communicator);
  case StandIn::in_group:
    return kSuccess;
  case StandIn::fails_at_once:
    gatherInBackground(*communicator);
    return kInternalError;
  case StandIn::goes_on:
  case StandIn::fails_later:
  case StandIn::not_ready:
    gatherInBackground(*communicator);
    return kInProgress;
  }
  return kInvalidArgument;
}
}
