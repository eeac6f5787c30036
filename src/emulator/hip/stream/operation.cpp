#include "emulator/hip/stream/operation.h"

#include "emulator/core/program_moves.h"
#include "emulator/hip/device/device.h"
#include "emulator/hip/graph/graph_run.h"
#include "emulator/hip/launch/launch_services.h"
#include "emulator/hip/module/module.h"
#include "emulator/hip/order/operation_touches.h"
#include "emulator/hip/report/launch_report.h"
#include "emulator/hip/report/log.h"
#include "emulator/hip/report/trace_file.h"
#include "emulator/observe/memory_times.h"
#include "emulator/observe/run_dispatch.h"

#include <algorithm>

namespace flyemu::hip {
namespace {

class Executor {
public:
  Executor(Device &device, const Position &position) : device_(device), position_(position) {}

  void operator()(const EmptyOperation &) {}

  void operator()(const KernelOperation &operation) {
    device_.requireHealthy(); // a faulted device runs no more kernels
    const Configuration &configuration = device_.configuration();
    // The segment is copied: kernels may not see the launch's own buffer change under a replay.
    std::vector<uint8_t> kernarg = operation.kernarg;
    kernarg.resize(kernarg.size() + 64); // scalar loads may read past the end up to their own size
    LaunchMemory memory(device_.space(), device_.index());
    memory.addRange({reinterpret_cast<uint64_t>(kernarg.data()), kernarg.size(), false});
    const KernelCode kernel = operation.function->kernel->ready();
    Dispatch dispatch;
    dispatch.kernel = &kernel;
    dispatch.grid = operation.shape.grid;
    dispatch.block = operation.shape.block;
    dispatch.dynamicLds = operation.shape.dynamicLds;
    dispatch.cluster = operation.shape.cluster;
    dispatch.kernarg = reinterpret_cast<uint64_t>(kernarg.data());
    dispatch.kernargSize = static_cast<uint32_t>(operation.kernarg.size());
    dispatch.dispatchId = ++device_.dispatches;
    dispatch.cooperative = operation.cooperative;
    dispatch.residentGroups = residentGroups(operation);

    Options options;
    options.threads = configuration.threads;
    options.dies = static_cast<unsigned>(device_.figures().dies());
    setMemory(options, *device_.figures().product, configuration.warmLastCache);
    options.checks = configuration.checks;
    options.landLate = configuration.landLate;
    options.products = configuration.products;
    options.weakMemory = device_.caches.get();
    options.timelineGroups = configuration.trace.empty() ? 0 : configuration.traceBlocks;
    options.order = configuration.order;
    options.slice = configuration.slice;
    options.counters = configuration.counters || device_.history.counting();
    if (configuration.instructionLimit)
      options.instructionLimit = configuration.instructionLimit;
    // The value that a faulted kernel of another stream should have written may never come.
    options.abandon = [this] { return device_.fault() != hipSuccess; };
    options.timeLimit = configuration.timeLimit;
    options.notice = [](const std::string &text) {
      log(ReportLevel::Notice, text +
                                   "; FLYDSL_EMULATOR_TIMEOUT=<seconds> ends such a launch, Ctrl-C "
                                   "the program");
    };
    LaunchServices services(operation.function->kernel->metadata, device_.heap, kernarg, memory,
                            dispatch, options);
    KernelTouches touches(position_, operation.function, device_.space());
    if (position_.submission)
      options.touched = &touches.bytes;
    const DispatchResult result = runDispatch(dispatch, memory, options);
    services.finish();
    if (result.ok)
      touches.finish();
    if (!result.ok)
      device_.requireHealthy();
    if (options.timelineGroups)
      if (const std::string error = addToTraceFile(configuration.trace, result, kernel);
          !error.empty())
        log(ReportLevel::Error, error);
    reportLaunch(operation, result, options, device_);
  }

  void operator()(const CopyOperation &copy) {
    auto *target = reinterpret_cast<uint8_t *>(copy.target);
    auto *source = copy.staged ? copy.staged->data() : reinterpret_cast<uint8_t *>(copy.source);
    for (uint64_t z = 0; z < copy.depth; ++z)
      for (uint64_t y = 0; y < copy.height; ++y) {
        uint8_t *to = target + z * copy.targetSlice + y * copy.targetPitch;
        const uint8_t *from = source + z * copy.sourceSlice + y * copy.sourcePitch;
        device_.space().noteCopied(reinterpret_cast<uint64_t>(to), reinterpret_cast<uint64_t>(from),
                                   copy.width);
        moveForProgram(to, from, copy.width);
      }
    note(copy, position_, device_.space());
  }

  void operator()(const FillOperation &fill) {
    for (uint64_t y = 0; y < fill.height; ++y) {
      auto *row = reinterpret_cast<uint8_t *>(fill.target) + y * fill.pitch;
      device_.space().noteWritten(reinterpret_cast<uint64_t>(row), fill.width * fill.elementSize);
      fillForProgram(row, fill.value, fill.elementSize, fill.width);
    }
    note(fill, position_, device_.space());
  }

  void operator()(const HostOperation &host) {
    if (position_.submission) // it may tell another thread of the host to go on
      Runtime::get().order()->hostReached(position_.submission);
    try {
      Outside running;
      host.call(device_.fault());
    } catch (...) {
      fail(hipErrorUnknown, "a host function in a stream threw an exception");
    }
  }

  void operator()(const RecordOperation &record) {
    std::shared_ptr<EventMark> mark = record.mark;
    if (!mark) {
      mark = std::make_shared<EventMark>();
      mark->order = position_.submission;
      if (record.event->shared)
        mark->number = record.event->shared->record();
      std::lock_guard lock(record.event->mutex);
      record.event->mark = mark;
    }
    mark->time = std::chrono::steady_clock::now();
    mark->completion->finish();
    if (record.event->shared)
      record.event->shared->reach(mark->number);
  }

  void operator()(const WaitOperation &wait) {
    if (wait.completion)
      wait.completion->wait();
    else if (wait.shared) {
      Outside waiting;
      wait.shared->wait(wait.number, [&] { device_.requireHealthy(); });
      if (position_.submission)
        Runtime::get().order()->sawMemory(position_.submission);
    } else if (std::shared_ptr<EventMark> mark = wait.event->current()) {
      mark->completion->wait();
      if (mark->order && position_.submission)
        Runtime::get().order()->waitLate(position_.submission, mark->order);
    }
  }

  void operator()(const FreeOperation &free) {
    note(free, position_, device_.space());
    device_.space().release(free.address, {MemoryKind::Device, MemoryKind::Managed});
  }

  void operator()(const ValueOperation &operation) {
    auto *word = reinterpret_cast<void *>(operation.address);
    note(operation, position_, device_.space());
    if (operation.write) {
      device_.space().noteWritten(operation.address, operation.bytes);
      if (operation.bytes == 4)
        __atomic_store_n(static_cast<uint32_t *>(word), static_cast<uint32_t>(operation.value),
                         __ATOMIC_SEQ_CST);
      else
        __atomic_store_n(static_cast<uint64_t *>(word), operation.value, __ATOMIC_SEQ_CST);
      return;
    }
    Outside waiting;
    while (
        !holds(operation, operation.bytes == 4
                              ? __atomic_load_n(static_cast<uint32_t *>(word), __ATOMIC_SEQ_CST)
                              : __atomic_load_n(static_cast<uint64_t *>(word), __ATOMIC_SEQ_CST))) {
      device_.requireHealthy();
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    if (position_.submission)
      Runtime::get().order()->sawMemory(position_.submission);
  }

  void operator()(const GraphOperation &graph) {
    StayInside whole;
    runGraph(*graph.plan, device_, position_.submission);
  }

private:
  /// The number of workgroups that the hardware holds at a time. A cooperative launch is known to
  /// fit.
  uint64_t residentGroups(const KernelOperation &operation) const {
    const auto &shape = operation.shape;
    if (operation.cooperative)
      return uint64_t(shape.grid[0]) * shape.grid[1] * shape.grid[2];
    const int threads = static_cast<int>(shape.block[0] * shape.block[1] * shape.block[2]);
    return static_cast<uint64_t>(
        std::max(activeWorkgroups(*operation.function, threads, shape.dynamicLds), 1) *
        device_.figures().computeUnits);
  }

  static bool holds(const ValueOperation &operation, uint64_t word) {
    uint64_t seen = word & operation.mask, value = operation.value;
    switch (operation.condition) {
    case hipStreamWaitValueGte:
      return operation.bytes == 4 ? static_cast<int32_t>(seen - value) >= 0
                                  : static_cast<int64_t>(seen - value) >= 0;
    case hipStreamWaitValueEq:
      return seen == value;
    case hipStreamWaitValueAnd:
      return (seen & value) != 0;
    default: // hipStreamWaitValueNor
      return ~(seen | value) != 0;
    }
  }

  Device &device_;
  const Position &position_;
};

} // namespace

void execute(const Operation &operation, Device &device, const Position &position) {
  try {
    std::visit(Executor(device, position), operation);
  } catch (const DeviceLost &) { // noted already
  } catch (const StatusError &error) {
    log(ReportLevel::Error, error.what());
    device.noteFault(error.status(), error.what());
  } catch (const std::exception &error) {
    const std::string text = std::string("an operation in a stream failed: ") + error.what();
    log(ReportLevel::Error, text);
    device.noteFault(hipErrorUnknown, text);
  }
}

} // namespace flyemu::hip
