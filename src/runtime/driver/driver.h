// What the library asks of whatever makes devices: a table of functions that a driver fills in.
// Everything outside of the drivers' own folders knows this table alone.
#pragma once

#include <flydsl/emulator.h>
#include <flydsl/error.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace flydsl::runtime {

/// The result of a driver's function. Zero is success; every other number is the driver's own, and
/// becomes `RuntimeError::code()`.
using Status = int;

/// The most devices that one process uses.
inline constexpr int kMaxDevices = 64;

/// What does not change about a device, asked once.
struct DeviceInfo {
  std::string name;
  std::string arch;     ///< the processor's name alone: "gfx942"
  std::string archFull; ///< the target id: "gfx942:sramecc+:xnack-"
  int computeUnits = 0;
  int xcds = 0; ///< accelerator dies; 0 where the driver does not say
  int warpSize = 0;
  std::size_t sharedBytes = 0; ///< the most shared memory of a workgroup
  std::size_t memoryBytes = 0; ///< 0 where the driver does not say
};

/// Puts one launch into a stream. The signature is that of hipModuleLaunchKernel and
/// cuLaunchKernel, so that a launch is one indirect call. The grid counts workgroups, the block
/// work-items; `sharedBytes` is the dynamic shared memory of a workgroup. `parameters` is null;
/// `extra` is the list kArgumentBuffer, the arguments as detail::ArgPack packs them,
/// kArgumentBytes, a pointer to their size, and the driver's endOfArguments.
using LaunchFunction = Status (*)(void *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                                  unsigned blockX, unsigned blockY, unsigned blockZ,
                                  unsigned sharedBytes, void *stream, void **parameters,
                                  void **extra);
/// The same in clusters of so many workgroups along x, y and z.
using ClusterLaunchFunction = Status (*)(const std::array<unsigned, 3> &cluster, void *function,
                                         const std::array<unsigned, 3> &grid,
                                         const std::array<unsigned, 3> &block, unsigned sharedBytes,
                                         void *stream, void **extra);
inline void *const kArgumentBuffer = reinterpret_cast<void *>(1);
inline void *const kArgumentBytes = reinterpret_cast<void *>(2);

/// What only an emulator has: counters of launches and findings of its checks, as flydsl/emulator.h
/// describes them. A function that the loaded emulator lacks is null.
struct EmulatorFunctions {
  decltype(&::flydslEmulatorCounterName) counterName = nullptr;
  decltype(&::flydslEmulatorCountLaunches) countLaunches = nullptr;
  decltype(&::flydslEmulatorCountedLaunches) countedLaunches = nullptr;
  decltype(&::flydslEmulatorGetLaunch) getLaunch = nullptr;
  decltype(&::flydslEmulatorFindings) findings = nullptr;
};

/// Graphs of captured work. A driver has all of these functions or none.
struct GraphFunctions {
  /// From here on, what this thread puts into the stream, and into streams that wait for it, is
  /// kept instead of done.
  Status (*beginCapture)(void *stream) = nullptr;
  /// `graph` is null where the capture failed.
  Status (*endCapture)(void *stream, void **graph) = nullptr;
  Status (*countNodes)(void *graph, std::size_t *count) = nullptr;
  Status (*instantiate)(void **executable, void *graph) = nullptr;
  /// Gives the executable the parameters of a graph of the same form. `fits` is false, and nothing
  /// changed, where the form is another.
  Status (*update)(void *executable, void *graph, bool *fits) = nullptr;
  Status (*launch)(void *executable, void *stream) = nullptr;
  Status (*destroyGraph)(void *graph) = nullptr;
  Status (*destroyExecutable)(void *executable) = nullptr;
};

/// What other processes open memory by: bytes of the driver's own, HIP's hipIpcMemHandle_t.
inline constexpr std::size_t kMemoryHandleBytes = 64;

/// Memory of several devices and of several processes. A driver has all of these functions or none.
struct PeerFunctions {
  /// Whether kernels of a device may be allowed to reach memory of another one.
  Status (*canAccess)(int device, int peer, bool *can) = nullptr;
  /// Allows kernels of the current device to reach memory of `peer`, if they may not yet.
  Status (*enableAccess)(int peer) = nullptr;
  /// Memory of the current device that other devices and the host see while kernels write it.
  Status (*allocate)(void **pointer, std::size_t bytes) = nullptr;
  /// The handle of an allocation, by which other processes open it.
  Status (*exportMemory)(void *handle, void *pointer) = nullptr;
  /// Memory of another process, for kernels of the current device.
  Status (*openMemory)(void **pointer, const void *handle) = nullptr;
  Status (*closeMemory)(void *pointer) = nullptr;
};

/// One driver. Streams, events, modules and functions are the driver's own handles; a null stream
/// is the current device's default stream. Every function is there unless its comment says that it
/// may be null. The functions work on the current device of the calling thread.
struct Driver {
  std::string name;        ///< for messages and the log: "HIP", "emulator"
  std::string path;        ///< the file that the functions came from
  int deviceCount = 0;     ///< 1 to kMaxDevices, once the driver is in use
  bool isEmulator = false; ///< its devices are emulated
  Status notReady = -1;    ///< what queries return while work is still under way
  EmulatorFunctions emulator;
  GraphFunctions graph; ///< null where the driver has no graphs
  PeerFunctions peer;   ///< null where the driver knows no other devices' memory

  /// The name and the text of a status, and what else the driver says of this thread's last call.
  std::string (*errorText)(Status status) = nullptr;

  // Devices.
  /// Throws RuntimeError where the device can't be asked.
  DeviceInfo (*describeDevice)(int device) = nullptr;
  Status (*getDevice)(int *device) = nullptr;
  Status (*setDevice)(int device) = nullptr;
  Status (*synchronizeDevice)() = nullptr;
  Status (*resetDevice)() = nullptr; ///< may be null

  // Memory of the device.
  Status (*allocate)(void **pointer, std::size_t bytes) = nullptr;
  Status (*release)(void *pointer) = nullptr;
  Status (*copyToDevice)(void *device, const void *host, std::size_t bytes) = nullptr;
  Status (*copyToHost)(void *host, const void *device, std::size_t bytes) = nullptr;
  /// In the order of a stream, between memory of devices and of the host in any direction.
  Status (*copyInStream)(void *to, const void *from, std::size_t bytes, void *stream) = nullptr;
  /// May return before it is done; the default stream is then to be waited for.
  Status (*fill)(void *pointer, int byte, std::size_t bytes) = nullptr;
  /// The allocation that an address is in; `base` is null if the driver knows none. May be null. It
  /// may be asked while this thread captures a graph.
  Status (*allocationOf)(const void *pointer, void **base, std::size_t *bytes) = nullptr;

  // Memory of the host that every device reaches at the same address, and that the host sees while
  // kernels write it. Both may be null. It may be allocated while this thread captures a graph.
  Status (*allocateHost)(void **pointer, std::size_t bytes) = nullptr;
  Status (*releaseHost)(void *pointer) = nullptr;

  // Streams.
  /// The stream does not wait for the default stream.
  Status (*createStream)(void **stream) = nullptr;
  Status (*destroyStream)(void *stream) = nullptr;
  Status (*synchronizeStream)(void *stream) = nullptr;
  Status (*queryStream)(void *stream) = nullptr;
  Status (*waitForEvent)(void *stream, void *event) = nullptr;
  Status (*deviceOfStream)(void *stream, int *device) = nullptr; ///< may be null

  // Events.
  Status (*createEvent)(void **event) = nullptr;
  Status (*destroyEvent)(void *event) = nullptr;
  Status (*recordEvent)(void *event, void *stream) = nullptr;
  Status (*synchronizeEvent)(void *event) = nullptr;
  Status (*queryEvent)(void *event) = nullptr;
  Status (*millisecondsBetween)(float *milliseconds, void *start, void *stop) = nullptr;

  // Code.
  /// Loads a code object, which stays in memory for as long as the module. It is allowed while this
  /// thread captures a graph.
  Status (*loadModule)(void **module, const void *image, std::size_t bytes) = nullptr;
  Status (*unloadModule)(void *module) = nullptr;
  Status (*getFunction)(void **function, void *module, const char *name) = nullptr;
  LaunchFunction launch = nullptr;
  ClusterLaunchFunction launchClusters = nullptr; ///< null: the driver has no clusters
  void *endOfArguments = nullptr;                 ///< what ends the last argument of `launch`
};

/// What was tried to find a driver and why it did not do, for the error.
struct Attempts {
  std::string text;
  void add(const std::string &what) { text += "\n  " + what; }
};

} // namespace flydsl::runtime
