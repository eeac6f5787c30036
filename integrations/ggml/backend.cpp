// A stream of ggml: it computes graphs, node after node.
#include "device.h"
#include "repeats.h"

#include "ops/elementwise.h"


#include <algorithm>
#include <memory>
#include <vector>

namespace flydsl_ggml {
namespace {

struct Backend {
  DeviceState &state;
  fx::Stream stream;
  Repeats repeats;
};
Backend &backendOf(ggml_backend_t backend) { return *static_cast<Backend *>(backend->context); }

const char *name(ggml_backend_t backend) { return backendOf(backend).state.name.c_str(); }
void freeBackend(ggml_backend_t backend) {
  guarded("ending a backend", 0, [&] {
    backendOf(backend).state.device.make_current();
    backendOf(backend).stream.synchronize();
    return 0;
  });
  delete &backendOf(backend);
  delete backend;
}
void synchronize(ggml_backend_t backend) {
  orAbort("waiting for the device", [&] { backendOf(backend).stream.synchronize(); });
}

bool isNothing(const ggml_tensor *node) {
  return ggml_is_empty(node) || node->op == GGML_OP_NONE || node->op == GGML_OP_RESHAPE ||
         node->op == GGML_OP_VIEW || node->op == GGML_OP_PERMUTE ||
         node->op == GGML_OP_TRANSPOSE || !(node->flags & GGML_TENSOR_FLAG_COMPUTE);
}

ggml_status compute(ggml_backend_t backend, ggml_cgraph *graph) {
  Backend &on = backendOf(backend);
  const ggml_tensor *current = nullptr;
  const ggml_status status = guarded("computing a graph", GGML_STATUS_FAILED, [&] {
    on.state.device.make_current();
    std::vector<const ggml_tensor *> nodes;
    for (int i = 0; i < graph->n_nodes; ++i) {
      if (isNothing(graph->nodes[i]))
        continue;
      nodes.push_back(graph->nodes[i]);
      if (!findOp(nodes.back()->op)) {
        GGML_LOG_ERROR("flydsl: %s is not supported\n", ggml_op_desc(nodes.back()));
        return GGML_STATUS_FAILED;
      }
    }
    on.repeats.compute(on.stream, nodes, [&](const fx::Stream &stream) {
      for (const ggml_tensor *node : nodes) {
        current = node;
        findOp(node->op)->run({stream, on.state.wave}, node);
      }
    });
    return GGML_STATUS_SUCCESS;
  });
  if (status != GGML_STATUS_SUCCESS && current)
    GGML_LOG_ERROR("flydsl: the node was %s, %s\n", current->name, ggml_op_desc(current));
  return status;
}

void record(ggml_backend_t backend, ggml_backend_event_t event) {
  orAbort("recording an event",
          [&] { static_cast<fx::Event *>(event->context)->record(backendOf(backend).stream); });
}
void wait(ggml_backend_t backend, ggml_backend_event_t event) {
  orAbort("waiting for an event",
          [&] { backendOf(backend).stream.wait(*static_cast<fx::Event *>(event->context)); });
}

/// A number of this backend alone, as ggml tells kinds of backends apart.
ggml_guid_t guid() {
  static ggml_guid id{0x66, 0x6c, 0x79, 0x64, 0x73, 0x6c, 0x2d, 0x67,
                      0x67, 0x6d, 0x6c, 0x2d, 0x62, 0x63, 0x6b, 0x31};
  return &id;
}

} // namespace

void copyBytes(const fx::Stream &stream, void *to, const void *from, std::size_t bytes) {
  const auto target = reinterpret_cast<std::uintptr_t>(to),
             source = reinterpret_cast<std::uintptr_t>(from);
  const bool words = target % 4 == 0 && source % 4 == 0 && bytes % 4 == 0;
  const std::size_t size = words ? 4 : 1, most = std::size_t{1} << 30;
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t now = std::min(bytes - done, most);
    const auto part = [&](std::uintptr_t address) {
      const auto unit = static_cast<std::int64_t>(size);
      return Element{words ? GGML_TYPE_I32 : GGML_TYPE_I8,
                     {.address = static_cast<std::int64_t>(address + done),
                      .stride = {unit, 0, 0, 0},
                      .extent = {static_cast<std::int32_t>(now / size), 1, 1, 1}}};
    };
    const Element sources[] = {part(source)};
    elementwise({stream, stream.device().warp_size()}, "copy", part(target), sources, nullptr);
    done += now;
  }
}

ggml_backend_t makeBackend(DeviceState &state) {
  auto context = std::make_unique<Backend>(Backend{state, fx::Stream(state.device), {}});
  auto *backend = new ggml_backend{};
  backend->guid = guid();
  backend->device = &state.handle;
  backend->iface.get_name = name;
  backend->iface.free = freeBackend;
  backend->iface.synchronize = synchronize;
  backend->iface.graph_compute = compute;
  backend->iface.event_record = record;
  backend->iface.event_wait = wait;
  backend->context = context.release();
  return backend;
}

} // namespace flydsl_ggml
