// What a launch has for its kernel beside the arguments: what the pointers among the hidden ones
// point to.
#pragma once

#include "emulator/core/dispatch.h"
#include "emulator/hip/device/device_heap.h"
#include "emulator/hip/launch/hostcall.h"
#include "emulator/hip/launch/printf_buffer.h"
#include "emulator/loader/kernarg.h"

#include <memory>

namespace flyemu::hip {

class LaunchServices {
public:
  /// Makes the services that the kernel asks for, adds their memory to the launch's, and writes the
  /// pointers into \p kernarg. Sets the fields of \p dispatch and \p options that belong to
  /// services; the grid, block, kernel, threads and resident workgroups must have been set.
  LaunchServices(const loader::KernelNotes &kernel, DeviceHeap &heap, std::vector<uint8_t> &kernarg,
                 LaunchMemory &memory, Dispatch &dispatch, Options &options);
  LaunchServices(const LaunchServices &) = delete;

  /// Prints the text that the kernel has left in its buffer. It is called when the launch has
  /// ended.
  void finish();

private:
  void pass(const char *kind, uint64_t address);
  void makeGridWords(const Dispatch &dispatch);
  void makeQueue(Dispatch &dispatch);
  void makeHostcalls(const Dispatch &dispatch, Options &options);
  void makeHeap();
  void nameMissing();

  /// The queue of the HSA runtime as far as kernels look at it (amd_hsa_queue.h, amd_queue_t).
  struct alignas(64) Queue {
    uint8_t head[64] = {};
    uint32_t sharedBase = 0;  ///< the upper half of an address in LDS
    uint32_t privateBase = 0; ///< the same of scratch
    uint8_t rest[184] = {};
  };
  static_assert(sizeof(Queue) == 256);

  const loader::KernelNotes &kernel_;
  DeviceHeap &heap_;
  std::vector<uint8_t> &kernarg_;
  LaunchMemory &memory_;
  PrintfBuffer printed_;
  alignas(64) uint32_t gridWords_[16] = {};
  Queue queue_;
  std::unique_ptr<HostcallBuffer> hostcalls_;
};

} // namespace flyemu::hip
