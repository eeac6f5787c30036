// What the library that stands in for librccl has besides RCCL's functions.
#pragma once

/// What the all-gather of a communicator does.
enum class StandIn : int {
  blocks,        ///< it returns when all ranks have come
  goes_on,       ///< ncclInProgress, and goes on without the caller
  fails_at_once, ///< an error, and goes on all the same
  fails_later,   ///< ncclInProgress, then an error, and goes on all the same
  in_group,      ///< ncclSuccess, and nothing happens before standInEnd, as before ncclGroupEnd
  not_ready,     ///< the communicator's own functions give ncclInProgress
};

struct ncclComm;

extern "C" {
/// The version that the library tells from now on.
void standInVersion(int version);
/// Communicators of so many ranks, rank r on device `devices[r]`.
void standInComms(ncclComm **made, int size, const int *devices, StandIn behaviour);
void standInBehaviour(ncclComm *communicator, StandIn behaviour);
/// Waits until the communicator's all-gather has ended, which makes that of a group begin; returns its
/// ncclResult_t, which is an error if the memory was no more there.
int standInEnd(ncclComm *communicator);
void standInDestroy(ncclComm *communicator);
}
