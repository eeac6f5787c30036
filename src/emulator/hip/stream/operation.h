// What a stream can be asked to do, as plain values: a queue runs them, a graph keeps and replays
// them.
#pragma once

#include "emulator/hip/stream/completion.h"
#include "emulator/hip/stream/shared_event.h"
#include "emulator/loader/kernarg.h"

#include <chrono>
#include <functional>
#include <hip/hip_runtime_api.h>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

namespace flyemu::hip {

class Device;
struct CaptureState;
struct Function;

struct KernelOperation {
  std::shared_ptr<Function> function;
  loader::LaunchShape shape;
  std::vector<uint8_t> kernarg; ///< hidden arguments included
  bool cooperative = false;     ///< all workgroups are resident together
};

/// Rows of bytes, slices of rows. A plain copy is one row.
struct CopyOperation {
  uint64_t target = 0;
  uint64_t source = 0;
  uint64_t width = 0; ///< bytes of a row
  uint64_t height = 1;
  uint64_t depth = 1;
  uint64_t targetPitch = 0, sourcePitch = 0;    ///< bytes from row to row
  uint64_t targetSlice = 0, sourceSlice = 0;    ///< bytes from slice to slice
  std::shared_ptr<std::vector<uint8_t>> staged; ///< when set, the source's bytes, taken at the call
};

struct FillOperation {
  uint64_t target = 0;
  uint32_t value = 0;
  uint32_t elementSize = 1; ///< 1, 2 or 4 bytes
  uint64_t width = 0;       ///< elements of a row
  uint64_t height = 1;
  uint64_t pitch = 0; ///< bytes from row to row
};

struct HostOperation {
  std::function<void(hipError_t)> call; ///< given the stream's status
};

/// The point in a stream's work that an event marks.
struct EventMark {
  CompletionRef completion = std::make_shared<Completion>();
  std::chrono::steady_clock::time_point time; ///< valid once completed
  SubmissionRef order; ///< the operation that records it; null where streams are not checked
  uint64_t number = 0; ///< the record's number, of an event of several processes
};

/// A hipEvent_t. Its mark changes with every record.
struct Event {
  unsigned flags = 0;
  int device = 0;
  std::mutex mutex;
  std::shared_ptr<EventMark> mark; ///< null before the first record, or when recorded in a capture
  std::shared_ptr<CaptureState> captured; ///< the point of a capture that the event marks
  std::shared_ptr<SharedEvent> shared;    ///< of hipEventInterprocess

  std::shared_ptr<EventMark> current() {
    std::lock_guard lock(mutex);
    return mark;
  }
};

struct RecordOperation {
  std::shared_ptr<Event> event;
  std::shared_ptr<EventMark> mark; ///< null in a graph: one is made when the node runs
};

struct WaitOperation {
  CompletionRef completion;                 ///< what to wait for, or
  std::shared_ptr<Event> event;             ///< in a graph: the event's mark when the node runs
  std::shared_ptr<SharedEvent> shared = {}; ///< or an event of several processes,
  uint64_t number = 0;                      ///< and which of its records
};

struct FreeOperation {
  uint64_t address = 0;
};

/// hipStreamWaitValue and hipStreamWriteValue.
struct ValueOperation {
  uint64_t address = 0;
  uint64_t value = 0;
  uint64_t mask = ~uint64_t(0);
  unsigned bytes = 4;
  unsigned condition = 0; ///< hipStreamWaitValueGte, ...
  bool write = false;
};

struct EmptyOperation {};

struct GraphPlan;

/// A launch of an instantiated graph.
struct GraphOperation {
  std::shared_ptr<const GraphPlan> plan;
};

using Operation =
    std::variant<EmptyOperation, KernelOperation, CopyOperation, FillOperation, HostOperation,
                 RecordOperation, WaitOperation, FreeOperation, ValueOperation, GraphOperation>;

/// Runs an operation to its end on the calling thread. Throws nothing: a failure, such as a
/// kernel's fault, is logged and becomes the device's. \p position is the operation's place in the
/// order of all, without a submission where streams are not checked.
void execute(const Operation &operation, Device &device, const Position &position);

} // namespace flyemu::hip
