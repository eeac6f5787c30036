// The emulated devices of the process, and what belongs to each: target, streams, sticky fault.
#pragma once

#include "emulator/core/dispatch.h"
#include "emulator/core/weak_memory.h"
#include "emulator/hip/device/device_figures.h"
#include "emulator/hip/device/device_heap.h"
#include "emulator/hip/device/memory.h"
#include "emulator/hip/handles.h"
#include "emulator/hip/report/launch_history.h"
#include "emulator/hip/stream/stream.h"
#include "emulator/loader/target_id.h"

#include <atomic>
#include <string>
#include <vector>

namespace flyemu::hip {

class Module;
class StreamOrder;
struct Graph;
struct GraphExec;
struct GraphNode;

/// What the environment asks for.
struct Configuration {
  int devices = 1;       ///< FLYDSL_EMULATOR_DEVICES
  unsigned hipMajor = 5; ///< FLYDSL_EMULATOR_HIP
  std::string processor; ///< FLYDSL_EMULATOR_ARCH, else ARCH if it runs here, else gfx942
  /// Of FLYDSL_EMULATOR_PRODUCT, else of the processor's default product.
  const DeviceFigures *figures = nullptr;
  unsigned checks = 0; ///< FLYDSL_EMULATOR_CHECK, as flyemu::Check bits
  /// FLYDSL_EMULATOR_LANDING; where it is not set, loads land late if waits are checked
  bool landLate = false;
  bool weakMemory = false;        ///< FLYDSL_EMULATOR_MEMORY_MODEL
  Products products = {};         ///< FLYDSL_EMULATOR_MATRIX
  std::string trace;              ///< FLYDSL_EMULATOR_TRACE: the file of timelines
  uint64_t traceBlocks = 1;       ///< FLYDSL_EMULATOR_TRACE_BLOCKS
  Order order;                    ///< FLYDSL_EMULATOR_ORDER
  uint32_t slice = kDefaultSlice; ///< FLYDSL_EMULATOR_SLICE
  unsigned threads = 0;           ///< FLYDSL_EMULATOR_THREADS; 0: as many as the machine has
  uint64_t instructionLimit = 0;  ///< FLYDSL_EMULATOR_INSTRUCTION_LIMIT; 0: the core's
  /// FLYDSL_EMULATOR_TIMEOUT (seconds); zero: launches may take any time
  std::chrono::nanoseconds timeLimit = std::chrono::hours(1);
  uint64_t memoryBytes = 0;    ///< FLYDSL_EMULATOR_MEMORY; default: half of the host's
  bool warmLastCache = false;  ///< FLYDSL_EMULATOR_LAST_CACHE
  bool counters = false;       ///< FLYDSL_EMULATOR_COUNTERS: log them after each launch
  bool launchBlocking = false; ///< HIP_LAUNCH_BLOCKING: launches return when their kernel has ended
  std::string error;           ///< why there is no device, when there is none

  static Configuration fromEnvironment();
};

class Device {
public:
  Device(int index, const Configuration &configuration, DeviceMemory &space);

  int index() const { return index_; }
  const DeviceFigures &figures() const { return *configuration_.figures; }
  const Configuration &configuration() const { return configuration_; }
  const loader::TargetId &target() const { return target_; }
  DeviceMemory &space() const { return space_; }

  /// The legacy default stream.
  Stream &defaultStream() { return *defaultStream_; }
  StreamRef defaultStreamRef() { return defaultStream_; }

  StreamRef createStream(unsigned flags, int priority);
  void destroyStream(const StreamRef &stream);
  std::vector<StreamRef> streams() const;

  /// The streams for which an operation in \p stream implicitly waits.
  std::vector<StreamRef> implicitStreams(const Stream &stream);
  /// The completions that an operation in \p stream must wait for, beside the stream's own order:
  /// the default stream and the blocking streams wait for each other.
  std::vector<CompletionRef> implicitDependencies(const Stream &stream);

  /// In a forked child: its streams have no threads.
  void restartAfterFork();
  /// Waits until all streams are done.
  void synchronize();

  /// The first failed operation's status: it stays until reset().
  hipError_t fault() const { return fault_.load(std::memory_order_acquire); }
  /// Throws the fault, if there is one, as DeviceLost with what was noted of it.
  void requireHealthy() const;
  void noteFault(hipError_t status, const std::string &text);
  /// Ends all work, destroys streams, frees memory, forgets the fault.
  void reset();

  std::atomic<unsigned> flags{0}; ///< hipSetDeviceFlags
  std::atomic<unsigned long long> dispatches{0};
  LaunchHistory history;
  DeviceHeap heap; ///< of malloc in kernels
  /// The caches before its memory; null where that is coherent.
  const std::unique_ptr<WeakMemory> caches;

private:
  unsigned streamsMade_ = 0; ///< guarded by mutex_
  int index_;
  const Configuration &configuration_;
  DeviceMemory &space_;
  loader::TargetId target_;
  StreamRef defaultStream_;
  mutable std::mutex mutex_;
  std::vector<StreamRef> streams_; ///< without the default stream
  std::atomic<hipError_t> fault_{hipSuccess};
  std::string faultText_; ///< guarded by mutex_
};

/// Everything that the process shares. Never destroyed: streams may run until the very end.
class Runtime {
public:
  static Runtime &get();

  /// Throws hipErrorNoDevice, with the reason, when the configuration allows none.
  void requireDevices() const;
  Device &device(int index);
  Device &currentDevice();
  int deviceCount() const { return static_cast<int>(devices_.size()); }
  /// Waits for all work of all devices.
  void synchronizeAll();
  const Configuration &configuration() const { return configuration_; }
  DeviceMemory &space() { return *space_; }
  /// Null where streams are not checked.
  StreamOrder *order() { return order_.get(); }

  /// The stream of a handle: null is the current device's default stream; also hipStreamPerThread.
  StreamRef stream(hipStream_t handle);

  HandleTable<Event> events;
  HandleTable<Stream> streams;
  HandleTable<Module> modules;
  HandleTable<Function> functions;
  HandleTable<Graph> graphs;
  HandleTable<GraphNode> graphNodes;
  HandleTable<GraphExec> graphExecs;

private:
  Runtime();
  ~Runtime();

  Configuration configuration_;
  std::unique_ptr<StreamOrder> order_;
  std::unique_ptr<DeviceMemory> space_;
  std::vector<std::unique_ptr<Device>> devices_;
};

/// The calling thread's device.
int currentDeviceIndex();
void setCurrentDeviceIndex(int index);

} // namespace flyemu::hip
