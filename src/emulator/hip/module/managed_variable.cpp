#include "emulator/hip/module/managed_variable.h"

#include "emulator/hip/device/device.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

namespace flyemu::hip {

ManagedVariable::ManagedVariable(size_t size, size_t alignment, const void *initial) : size_(size) {
  // Rows of 256 bytes keep two variables from being neighbours without an end between them.
  constexpr size_t least = 256;
  if (size > SIZE_MAX / 4 || alignment > SIZE_MAX / 4)
    fail(hipErrorOutOfMemory, "a managed variable of " + std::to_string(size) + " bytes");
  alignment = std::bit_ceil(std::max(alignment, least));
  data_ = std::aligned_alloc(alignment, (size / alignment + 1) * alignment);
  if (!data_)
    fail(hipErrorOutOfMemory, "a managed variable of " + std::to_string(size) + " bytes");
  if (initial)
    std::memcpy(data_, initial, size);
  else
    std::memset(data_, 0, size);
  Allocation allocation;
  allocation.base = address();
  allocation.size = size;
  allocation.kind = MemoryKind::Managed;
  Runtime::get().space().add(allocation);
}

ManagedVariable::~ManagedVariable() {
  Runtime::get().space().remove(address(), MemoryKind::Managed);
  std::free(data_);
}

} // namespace flyemu::hip
