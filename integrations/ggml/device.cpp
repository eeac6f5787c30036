#include "device.h"

#include "ops/op.h"

namespace flydsl_ggml {
namespace {

const char *name(ggml_backend_dev_t device) { return stateOf(device).name.c_str(); }
const char *description(ggml_backend_dev_t device) { return stateOf(device).description.c_str(); }
void memory(ggml_backend_dev_t device, std::size_t *free, std::size_t *total) {
  *total = *free = guarded("asking for memory", std::size_t{0},
                           [&] { return stateOf(device).device.total_memory(); });
}
enum ggml_backend_dev_type type(ggml_backend_dev_t) { return GGML_BACKEND_DEVICE_TYPE_GPU; }
void props(ggml_backend_dev_t device, ggml_backend_dev_props *props) {
  *props = {};
  props->name = name(device);
  props->description = description(device);
  props->type = type(device);
  memory(device, &props->memory_free, &props->memory_total);
  props->caps.async = true;
  props->caps.host_buffer = true;
  props->caps.events = true;
}
ggml_backend_t init(ggml_backend_dev_t device, const char *) {
  return guarded("making a backend", ggml_backend_t{},
                 [&] { return makeBackend(stateOf(device)); });
}
ggml_backend_buffer_type_t buffers(ggml_backend_dev_t device) { return &stateOf(device).buffers; }
ggml_backend_buffer_type_t hostBuffers(ggml_backend_dev_t device) {
  return &stateOf(device).hostBuffers;
}

bool supports(ggml_backend_dev_t device, const ggml_tensor *op) {
  if (ggml_op_is_empty(op->op))
    return true;
  const Op *row = findOp(op->op);
  if (!row || !fitsIndices(op))
    return false;
  for (const ggml_tensor *source : op->src)
    if (source && !fitsIndices(source))
      return false;
  return guarded("asking for an op", false, [&] { return row->supports(op); });
}
bool supportsBuffers(ggml_backend_dev_t device, ggml_backend_buffer_type_t type) {
  return type == &stateOf(device).buffers;
}
/// Products of many rows are worth a copy of their weights from the host.
bool offloads(ggml_backend_dev_t, const ggml_tensor *op) {
  constexpr std::int64_t rows = 32;
  return (op->op == GGML_OP_MUL_MAT && op->ne[1] >= rows) ||
         (op->op == GGML_OP_MUL_MAT_ID && op->ne[2] >= rows);
}

fx::Event &eventOf(ggml_backend_event_t event) { return *static_cast<fx::Event *>(event->context); }
ggml_backend_event_t newEvent(ggml_backend_dev_t device) {
  return guarded("making an event", ggml_backend_event_t{}, [&] {
    stateOf(device).device.make_current();
    return new ggml_backend_event{device, new fx::Event};
  });
}
void freeEvent(ggml_backend_dev_t, ggml_backend_event_t event) {
  delete &eventOf(event);
  delete event;
}
void waitForEvent(ggml_backend_dev_t device, ggml_backend_event_t event) {
  counted(stateOf(device), "waiting for an event", [&] { eventOf(event).synchronize(); });
}

constexpr ggml_backend_device_i kDevice{
    .get_name = name,
    .get_description = description,
    .get_memory = memory,
    .get_type = type,
    .get_props = props,
    .init_backend = init,
    .get_buffer_type = buffers,
    .get_host_buffer_type = hostBuffers,
    .buffer_from_host_ptr = nullptr,
    .supports_op = supports,
    .supports_buft = supportsBuffers,
    .offload_op = offloads,
    .event_new = newEvent,
    .event_free = freeEvent,
    .event_synchronize = waitForEvent,
};

} // namespace

DeviceState::DeviceState(fx::Device of)
    : device(of), name("FlyDSL" + std::to_string(of.ordinal())), description(of.str()),
      hostName(name + "_Host"),
      target(of.target()), buffers{bufferTypeInterface(), &handle, nullptr},
      hostBuffers{hostBufferTypeInterface(), &handle, nullptr}, handle{kDevice, nullptr, this} {}

} // namespace flydsl_ggml
