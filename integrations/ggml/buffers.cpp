// Device memory as ggml's buffers, and pinned memory of the host.
#include "device.h"

#include <flydsl/host/copy.h>
#include <flydsl/host/host_memory.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <source_location>
#include <vector>

namespace flydsl_ggml {
namespace {

/// A buffer of a device.
struct Buffer {
  DeviceState &state;
  fx::detail::DeviceMemory memory; // the public array of bytes copies whole arrays alone
  char *base;
  bool incomplete = false; ///< a copy into it failed
};
Buffer &bufferOf(ggml_backend_buffer_t buffer) { return *static_cast<Buffer *>(buffer->context); }
std::source_location here(std::source_location where = std::source_location::current()) {
  return where;
}
std::size_t offsetIn(const Buffer &buffer, const ggml_tensor *tensor, std::size_t offset) {
  return static_cast<std::size_t>(static_cast<const char *>(tensor->data) - buffer.base) + offset;
}

void freeBuffer(ggml_backend_buffer_t buffer) {
  guarded("freeing a buffer", 0, [&] {
    bufferOf(buffer).state.device.make_current();
    delete &bufferOf(buffer);
    return 0;
  });
}
void *baseOf(ggml_backend_buffer_t buffer) { return bufferOf(buffer).base; }
void setTensor(ggml_backend_buffer_t buffer, ggml_tensor *tensor, const void *data,
               std::size_t offset, std::size_t size) {
  Buffer &to = bufferOf(buffer);
  if (!counted(to.state, "copying to the device", [&] {
        to.state.device.make_current();
        to.memory.copyFrom(data, offsetIn(to, tensor, offset), size, here());
      }))
    to.incomplete = true;
}
/// Where it fails, all bytes are 0xff, NaN in all types of numbers.
void getTensor(ggml_backend_buffer_t buffer, const ggml_tensor *tensor, void *data,
               std::size_t offset, std::size_t size) {
  const Buffer &from = bufferOf(buffer);
  if (!counted(from.state, "copying from the device", [&] {
        from.state.device.make_current();
        from.memory.copyTo(data, offsetIn(from, tensor, offset), size, here());
      }))
    std::memset(data, 0xff, size);
}
void memsetTensor(ggml_backend_buffer_t buffer, ggml_tensor *tensor, std::uint8_t value,
                  std::size_t offset, std::size_t size) {
  const std::vector<std::uint8_t> bytes(size, value);
  setTensor(buffer, tensor, bytes.data(), offset, size);
}
void clear(ggml_backend_buffer_t buffer, std::uint8_t value) {
  Buffer &of = bufferOf(buffer);
  if (!counted(of.state, "clearing a buffer", [&] {
        of.state.device.make_current();
        of.state.device.synchronize(); // graphs that are under way write the buffer
        of.memory.fillBytes(value, here());
        of.state.device.synchronize();
      }))
    of.incomplete = true;
}
/// Between buffers of one device; ggml copies between others through the host.
bool copyTensor(ggml_backend_buffer_t buffer, const ggml_tensor *from, ggml_tensor *to) {
  DeviceState &state = bufferOf(buffer).state;
  const ggml_backend_buffer_t source = from->view_src ? from->view_src->buffer : from->buffer;
  if (!source || source->buft != &state.buffers)
    return false;
  return guarded("copying a tensor", false, [&] {
    state.device.make_current();
    const fx::Stream stream(state.device);
    state.device.synchronize(); // what writes the source may be in another stream
    fx::copy_async(to->data, from->data, ggml_nbytes(from), stream);
    stream.synchronize();
    return true;
  });
}

constexpr ggml_backend_buffer_i kBuffer{
    .free_buffer = freeBuffer,
    .get_base = baseOf,
    .init_tensor = nullptr,
    .memset_tensor = memsetTensor,
    .set_tensor = setTensor,
    .get_tensor = getTensor,
    .set_tensor_2d = nullptr,
    .get_tensor_2d = nullptr,
    .cpy_tensor = copyTensor,
    .clear = clear,
    .reset = nullptr,
};

const char *nameOfType(ggml_backend_buffer_type_t type) {
  return stateOf(type->device).name.c_str();
}
ggml_backend_buffer_t allocate(ggml_backend_buffer_type_t type, std::size_t size) {
  return guarded("allocating a buffer", ggml_backend_buffer_t{}, [&] {
    DeviceState &state = stateOf(type->device);
    state.device.make_current();
    auto buffer = std::make_unique<Buffer>(
        Buffer{state, fx::detail::DeviceMemory(std::max<std::size_t>(size, 1), here()), nullptr});
    buffer->base = static_cast<char *>(buffer->memory.data(here()));
    return ggml_backend_buffer_init(type, kBuffer, buffer.release(), size);
  });
}
std::size_t alignment(ggml_backend_buffer_type_t) { return 128; }

//===-- Pinned memory --------------------------------------------------------===//

const char *nameOfHostType(ggml_backend_buffer_type_t type) {
  return stateOf(type->device).hostName.c_str();
}
void freeHost(ggml_backend_buffer_t buffer) {
  delete static_cast<fx::HostMemory *>(buffer->context);
}
void *hostBase(ggml_backend_buffer_t buffer) {
  return static_cast<fx::HostMemory *>(buffer->context)->data();
}
void clearHost(ggml_backend_buffer_t buffer, std::uint8_t value) {
  std::memset(hostBase(buffer), value, buffer->size);
}
/// Tensors in it are the CPU backend's. Its own functions take the buffer's context for the memory, so
/// those that use the context are replaced.
ggml_backend_buffer_t allocateHost(ggml_backend_buffer_type_t type, std::size_t size) {
  return guarded("allocating pinned memory", ggml_backend_buffer_t{}, [&] {
    stateOf(type->device).device.make_current();
    auto memory = std::make_unique<fx::HostMemory>(std::max<std::size_t>(size, 1));
    ggml_backend_buffer_t buffer = ggml_backend_cpu_buffer_from_ptr(memory->data(), size);
    if (!buffer)
      return ggml_backend_buffer_t{};
    buffer->buft = type;
    buffer->context = memory.release();
    buffer->iface.free_buffer = freeHost;
    buffer->iface.get_base = hostBase;
    buffer->iface.clear = clearHost;
    return buffer;
  });
}
bool isHost(ggml_backend_buffer_type_t) { return true; }

} // namespace

bool isDeviceBuffer(ggml_backend_buffer_t buffer) {
  return buffer->iface.free_buffer == freeBuffer;
}
const char *lostContents(ggml_backend_buffer_t buffer) {
  const Buffer &of = bufferOf(buffer);
  if (const char *why = of.memory.gone())
    return why;
  return of.incomplete ? "a copy into the buffer failed" : nullptr;
}

ggml_backend_buffer_type_i bufferTypeInterface() {
  return {.get_name = nameOfType,
          .alloc_buffer = allocate,
          .get_alignment = alignment,
          .get_max_size = nullptr,
          .get_alloc_size = nullptr,
          .is_host = nullptr};
}
ggml_backend_buffer_type_i hostBufferTypeInterface() {
  return {.get_name = nameOfHostType,
          .alloc_buffer = allocateHost,
          .get_alignment = alignment,
          .get_max_size = nullptr,
          .get_alloc_size = nullptr,
          .is_host = isHost};
}

} // namespace flydsl_ggml
