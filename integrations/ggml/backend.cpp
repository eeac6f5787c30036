// A stream of ggml: it computes graphs, node after node.
#include "codebooks.h"
#include "device.h"
#include "repeats.h"
#include "scratch.h"

#include "ops/fusion.h"

#include <algorithm>
#include <cstdlib>

#include <memory>
#include <string_view>
#include <vector>

namespace flydsl_ggml {
namespace {

struct Backend {
  DeviceState &state;
  fx::Stream stream;
  Repeats repeats;
  Scratch scratch;
  fx::DeviceArray<std::uint8_t> codebooks;

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
  orAbort("waiting for the device", [&] { backendOf(backend).stream.synchronize(); });
}

/// GGML_FLYDSL_FUSION=0: each node is a kernel of its own, as for looking for a wrong one.
bool fuses() {
  static const bool yes = [] {
    const char *value = std::getenv("GGML_FLYDSL_FUSION");
    const std::string_view text = value ? value : "1";
    if (text != "0" && text != "1")
      GGML_LOG_WARN("flydsl: GGML_FLYDSL_FUSION is \"%s\"; expected 0 or 1, and nodes are fused as "
                    "with 1\n",
                    value);
    return text != "0";
  }();
  return yes;
}

bool isNothing(const ggml_tensor *node) {
  return ggml_is_empty(node) || ggml_op_is_empty(node->op) ||
         !(node->flags & GGML_TENSOR_FLAG_COMPUTE);
}

ggml_status compute(ggml_backend_t backend, ggml_cgraph *graph) {
  Backend &on = backendOf(backend);
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
      if (!findOp(nodes.back()->op)) {
        GGML_LOG_ERROR("flydsl: %s is not supported\n", ggml_op_desc(nodes.back()));
        return GGML_STATUS_FAILED;
      }
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
  orAbort("recording an event",
          [&] { static_cast<fx::Event *>(event->context)->record(backendOf(backend).stream); });
}
void wait(ggml_backend_t backend, ggml_backend_event_t event) {
  orAbort("waiting for an event",
          [&] { backendOf(backend).stream.wait(*static_cast<fx::Event *>(event->context)); });
}

/// The number of this kind of backend; ggml distinguishes kinds of backends by it.
ggml_guid_t guid() {
  static ggml_guid id{0x66, 0x6c, 0x79, 0x64, 0x73, 0x6c, 0x2d, 0x67,
                      0x67, 0x6d, 0x6c, 0x2d, 0x62, 0x63, 0x6b, 0x31};
  return &id;
}

} // namespace

ggml_backend_t makeBackend(DeviceState &state) {
  auto context = std::make_unique<Backend>(
      Backend{state, fx::Stream(state.device), {}, {}, codebooksOf(state)});
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
