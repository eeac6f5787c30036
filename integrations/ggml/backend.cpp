// A stream of ggml: it computes graphs, node after node.
#include "codebooks.h"
#include "device.h"
#include "repeats.h"
#include "scratch.h"
#include "settings.h"

#include "ops/fusion.h"

#include <flydsl/host/copy.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace flydsl_ggml {
namespace {

struct Backend {
  DeviceState &state;
  fx::Stream stream;
  Repeats repeats;
  Scratch scratch;
  fx::DeviceArray<std::uint8_t> codebooks;
  fx::Event before, after; ///< of copies from and to other backends
  unsigned failures;       ///< those of the device when the backend was made

  const fx::Stream &current() const {
    state.device.make_current();
    return stream;
  }
  std::int64_t addressOfCodebooks() const {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(codebooks.tensor().data()));
  }
};
fx::DeviceArray<std::uint8_t> codebooksOf(const DeviceState &state) {
  state.device.make_current();
  const std::vector<std::uint8_t> all = codebooks();
  return fx::DeviceArray<std::uint8_t>::from_host(all, {static_cast<std::int64_t>(all.size())});
}
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
  const Backend &on = backendOf(backend);
  counted(on.state, "waiting for the device", [&] { on.stream.synchronize(); });
}

//===-- Copies ---------------------------------------------------------------===//

ggml_backend_buffer_t bufferOf(const ggml_tensor *tensor) {
  return tensor->view_src ? tensor->view_src->buffer : tensor->buffer;
}
void setAsync(ggml_backend_t backend, ggml_tensor *tensor, const void *data, std::size_t offset,
              std::size_t size) {
  const Backend &on = backendOf(backend);
  counted(on.state, "copying to the device", [&] {
    fx::copy_async(static_cast<char *>(tensor->data) + offset, data, size, on.current());
  });
}
void getAsync(ggml_backend_t backend, const ggml_tensor *tensor, void *data, std::size_t offset,
              std::size_t size) {
  const Backend &on = backendOf(backend);
  if (!counted(on.state, "copying from the device", [&] {
        fx::copy_async(data, static_cast<const char *>(tensor->data) + offset, size, on.current());
      }))
    std::memset(data, 0xff, size); // NaN in all types of numbers
}
ggml_guid_t guid();
/// Between device memory of backends of this kind, after all work of both and before what either gets from
/// then on. ggml makes other copies through the host.
bool copyAsync(ggml_backend_t from, ggml_backend_t to, const ggml_tensor *source,
               ggml_tensor *target) {
  const auto isOurs = [](ggml_backend_t backend, const ggml_tensor *tensor) {
    return ggml_guid_matches(backend->guid, guid()) && isDeviceBuffer(bufferOf(tensor));
  };
  if (!isOurs(from, source) || !isOurs(to, target))
    return false;
  Backend &reader = backendOf(to), &writer = backendOf(from);
  return guarded("copying between streams", false, [&] {
    if (from != to) {
      writer.before.record(writer.current());
      reader.current().wait(writer.before);
    }
    fx::copy_async(target->data, source->data, ggml_nbytes(source), reader.current());
    if (from != to) {
      reader.after.record(reader.current());
      writer.current().wait(reader.after);
    }
    return true;
  });
}

//===-- Graphs ---------------------------------------------------------------===//

/// GGML_FLYDSL_FUSION=0: each node is a kernel of its own, as for looking for a wrong one.
bool fuses() {
  static const bool yes = isOn("GGML_FLYDSL_FUSION");
  return yes;
}

bool isNothing(const ggml_tensor *node) {
  return ggml_is_empty(node) || ggml_op_is_empty(node->op) ||
         !(node->flags & GGML_TENSOR_FLAG_COMPUTE);
}

/// Whether the node can be computed; otherwise the reason is logged.
bool isComputable(const ggml_tensor *node) {
  const Op *op = findOp(node->op);
  if (!op || !op->supports(node)) {
    GGML_LOG_ERROR("flydsl: %s (%s) is not supported\n", node->name, ggml_op_desc(node));
    return false;
  }
  const auto isThere = [&](const ggml_tensor *tensor) {
    const ggml_backend_buffer_t buffer = bufferOf(tensor);
    const char *why = buffer && isDeviceBuffer(buffer) ? lostContents(buffer) : nullptr;
    if (why)
      GGML_LOG_ERROR("flydsl: %s (%s) can't be computed, because of %s: %s\n", node->name,
                     ggml_op_desc(node), tensor->name, why);
    return !why;
  };
  for (const ggml_tensor *source : node->src)
    if (source && !isThere(source))
      return false;
  return isThere(node);
}

ggml_status compute(ggml_backend_t backend, ggml_cgraph *graph) {
  Backend &on = backendOf(backend);
  if (on.state.failures != on.failures) {
    GGML_LOG_ERROR(
        "flydsl: %s computes nothing, because a copy or a wait failed before; make a new "
        "backend\n",
        on.state.name.c_str());
    return GGML_STATUS_FAILED;
  }
  const ggml_tensor *current = nullptr;
  const ggml_status status = guarded("computing a graph", GGML_STATUS_FAILED, [&] {
    on.state.device.make_current();
    if (on.repeats.replay(on.stream, graph->uid))
      return GGML_STATUS_SUCCESS;
    std::vector<const ggml_tensor *> nodes;
    for (int i = 0; i < graph->n_nodes; ++i) {
      if (isNothing(graph->nodes[i]))
        continue;
      nodes.push_back(graph->nodes[i]);
      if (!isComputable(nodes.back()))
        return GGML_STATUS_FAILED;
    }
    on.repeats.compute(on.stream, graph->uid, nodes, [&](const fx::Stream &stream) {
      const Run run{stream, on.state.target, &on.scratch, on.addressOfCodebooks()};
      for (int i = 0; i < graph->n_nodes;) {
        current = graph->nodes[i];
        if (isNothing(current)) {
          ++i;
          continue;
        }
        on.scratch.restart();
        const int done = fuses() ? runFused(run, graph, i) : 0;
        if (!done)
          findOp(current->op)->run(run, current);
        i += std::max(done, 1);
      }
    });
    return GGML_STATUS_SUCCESS;
  });
  if (status != GGML_STATUS_SUCCESS && current)
    GGML_LOG_ERROR("flydsl: the node was %s, %s\n", current->name, ggml_op_desc(current));
  return status;
}

void record(ggml_backend_t backend, ggml_backend_event_t event) {
  const Backend &on = backendOf(backend);
  counted(on.state, "recording an event",
          [&] { static_cast<fx::Event *>(event->context)->record(on.current()); });
}
void wait(ggml_backend_t backend, ggml_backend_event_t event) {
  const Backend &on = backendOf(backend);
  counted(on.state, "waiting for an event",
          [&] { on.current().wait(*static_cast<fx::Event *>(event->context)); });
}

/// The number of this kind of backend; ggml distinguishes kinds of backends by it.
ggml_guid_t guid() {
  static ggml_guid id{0x66, 0x6c, 0x79, 0x64, 0x73, 0x6c, 0x2d, 0x67,
                      0x67, 0x6d, 0x6c, 0x2d, 0x62, 0x63, 0x6b, 0x31};
  return &id;
}

} // namespace

ggml_backend_t makeBackend(DeviceState &state) {
  state.device.make_current();
  auto context = std::make_unique<Backend>(Backend{state,
                                                   fx::Stream(state.device),
                                                   {},
                                                   {},
                                                   codebooksOf(state),
                                                   fx::Event(),
                                                   fx::Event(),
                                                   state.failures});
  auto *backend = new ggml_backend{};
  backend->guid = guid();
  backend->device = &state.handle;
  backend->iface.get_name = name;
  backend->iface.free = freeBackend;
  backend->iface.set_tensor_async = setAsync;
  backend->iface.get_tensor_async = getAsync;
  backend->iface.cpy_tensor_async = copyAsync;
  backend->iface.synchronize = synchronize;
  backend->iface.graph_compute = compute;
  backend->iface.event_record = record;
  backend->iface.event_wait = wait;
  backend->context = context.release();
  return backend;
}

} // namespace flydsl_ggml
