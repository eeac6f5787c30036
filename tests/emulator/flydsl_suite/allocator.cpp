// PyTorch's tensors in the emulator's pinned memory, so that kernels may touch them: an allocator that
// takes the place of PyTorch's own for the CPU. run.sh compiles it against the installed PyTorch.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <new>

extern "C" int hipHostMalloc(void **pointer, size_t size, unsigned flags);
extern "C" int hipHostFree(void *pointer);

namespace {

/// What PyTorch's allocator of a GPU rounds sizes to (kMinBlockSize of c10's CUDACachingAllocator). Reads
/// past a tensor's end that stay in it are seen by no GPU; set it to 1 to see them here.
#ifndef FLYDSL_SUITE_GRANULE
#define FLYDSL_SUITE_GRANULE 512
#endif
constexpr size_t kGranule = FLYDSL_SUITE_GRANULE;

void release(void *pointer) { hipHostFree(pointer); }

struct Pinned final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void *pointer = nullptr;
    if (bytes && hipHostMalloc(&pointer, (bytes + kGranule - 1) / kGranule * kGranule, 0) != 0)
      throw std::bad_alloc();
    return {pointer, pointer, release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return release; }
  void copy_data(void *to, const void *from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

} // namespace

extern "C" void flydslUsePinnedMemory() { c10::SetCPUAllocator(new Pinned, 255); }
