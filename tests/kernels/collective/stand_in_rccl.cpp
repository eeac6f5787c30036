// A library that stands in for librccl: communicators of the ranks of one process, each in a thread of its
// own, and an all-gather over them. Signatures are those of NCCL's nccl.h, version 2.
#include <hip/hip_runtime_api.h>

#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

namespace {

int versionToTell = 22304; // as of ROCm 6.4

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
};

extern "C" {

void standInVersion(int version) { versionToTell = version; }
/// Communicators of so many ranks, rank r on device `devices[r]`.
void standInComms(ncclComm **made, int size, const int *devices) {
  const auto room = std::make_shared<Room>();
  for (int rank = 0; rank < size; ++rank)
    made[rank] = new ncclComm{room, rank, size, devices[rank]};
}
void standInDestroy(ncclComm *communicator) { delete communicator; }

int ncclGetVersion(int *version) {
  *version = versionToTell;
  return 0;
}
const char *ncclGetErrorString(int code) { return code == 4 ? "invalid argument" : "no error"; }
int ncclCommCount(const ncclComm *communicator, int *count) {
  *count = communicator->size;
  return communicator->size > 0 ? 0 : 4;
}
int ncclCommUserRank(const ncclComm *communicator, int *rank) {
  *rank = communicator->rank;
  return 0;
}
int ncclCommCuDevice(const ncclComm *communicator, int *device) {
  *device = communicator->device;
  return 0;
}
/// The work of the last rank's call is put into no stream: it is done when the calls return.
int ncclAllGather(const void *from, void *to, std::size_t count, int type, ncclComm *communicator,
                  hipStream_t stream) {
  if (type != 1) // ncclUint8
    return 4;
  Room &room = *communicator->room;
  if (hipStreamSynchronize(stream) != hipSuccess)
    return 1;
  std::unique_lock lock(room.mutex);
  room.bytes.resize(count * static_cast<std::size_t>(communicator->size));
  if (hipMemcpy(room.bytes.data() + count * static_cast<std::size_t>(communicator->rank), from,
                count, hipMemcpyDeviceToHost) != hipSuccess)
    return 1;
  const int call = room.calls;
  if (++room.came == communicator->size) {
    room.came = 0;
    ++room.calls;
    room.changed.notify_all();
  } else {
    room.changed.wait(lock, [&] { return room.calls != call; });
  }
  return hipMemcpy(to, room.bytes.data(), room.bytes.size(), hipMemcpyHostToDevice) == hipSuccess
             ? 0
             : 1;
}
}
