// Graphs own two handles of the driver's: what was captured, and what is launched.
#include "runtime/current_driver.h"
#include "runtime/device_info.h"
#include "runtime/graph_capture.h"

#include <flydsl/host/graph.h>

#include <string>
#include <utility>

namespace flydsl::runtime {

static thread_local int capturesHere = 0;

bool isCapturing() noexcept { return capturesHere > 0; }

void enterCapture() noexcept {
  ++capturesHere;
  capturesUnderWay.fetch_add(1, std::memory_order_relaxed);
}

void leaveCapture() noexcept {
  --capturesHere;
  capturesUnderWay.fetch_sub(1, std::memory_order_relaxed);
}

void refuseInCapture(const char *doing, const char *instead, const SourceLocation &where) {
  if (capturesUnderWay.load(std::memory_order_relaxed) > 0 && isCapturing()) [[unlikely]]
    throw RuntimeError(std::string(doing) +
                           " while a graph is captured would be done at once, and not when the "
                           "graph is launched; " +
                           instead,
                       0, where);
}

} // namespace flydsl::runtime

FLYDSL_NAMESPACE_BEGIN
using namespace flydsl::runtime;

namespace {

const GraphFunctions &graphs(const std::source_location &where) {
  const Driver &used = driver();
  if (!used.graph.beginCapture)
    throw RuntimeError("the driver \"" + used.name + "\" (" + used.path +
                           ") has no graphs; put the work into the stream each time",
                       0, where);
  return used.graph;
}

} // namespace

void Graph::beginCapture(const Stream &stream, const std::source_location &where) {
  DeviceScope scope(stream.device().ordinal());
  check(graphs(where).beginCapture(stream.native(where)), "beginning to capture a stream", where);
  enterCapture();
}

void *Graph::endCapture(const Stream &stream, const std::source_location &where) {
  leaveCapture();
  const GraphFunctions &functions = graphs(where);
  void *graph = nullptr;
  check(
      functions.endCapture(stream.native(where), &graph),
      "ending the capture of a stream (inside of it the stream is not waited for, and each stream "
      "that waits for one of its events is waited for by it before the end)",
      where);
  std::size_t count = 0;
  const Status status = functions.countNodes(graph, &count);
  if (status == 0 && count > 0)
    return graph;
  (void)functions.destroyGraph(graph);
  check(status, "counting what was captured", where);
  throw RuntimeError(
      "nothing was put into the stream while it was captured; launch into the stream "
      "that the work is given",
      0, where);
}

void Graph::dropCapture(const Stream &stream) noexcept {
  leaveCapture();
  const Driver *used = driverToLetGo();
  void *graph = nullptr;
  if (used && used->graph.endCapture(stream.native(), &graph) == 0 && graph)
    (void)used->graph.destroyGraph(graph);
}

Graph::Graph(void *graph, Device device, const std::source_location &where)
    : graph_(graph), made_(device.ordinal()) {
  DeviceScope scope(device.ordinal());
  const Status status = graphs(where).instantiate(&executable_, graph_);
  if (status != 0)
    destroy(); // the destructor does not run
  check(status, "making a graph of captured work", where);
}

Graph::~Graph() { destroy(); }

/// A reset of the device destroys its graphs.
void Graph::destroy() noexcept {
  const Driver *used = graph_ ? driverToLetGo() : nullptr;
  if (!used || !made_.isThere())
    return;
  if (executable_)
    (void)used->graph.destroyExecutable(executable_);
  (void)used->graph.destroyGraph(graph_);
}

Graph::Graph(Graph &&other) noexcept
    : graph_(std::exchange(other.graph_, nullptr)),
      executable_(std::exchange(other.executable_, nullptr)), made_(other.made_) {}

Graph &Graph::operator=(Graph &&other) noexcept {
  if (this == &other)
    return *this;
  destroy();
  graph_ = std::exchange(other.graph_, nullptr);
  executable_ = std::exchange(other.executable_, nullptr);
  made_ = other.made_;
  return *this;
}

void Graph::requireUsable(const std::source_location &where) const {
  if (!graph_)
    throw RuntimeError("a Graph that was moved from is used", 0, where);
  if (!made_.isThere())
    throw RuntimeError("a Graph is used whose device was reset after it was made", 0, where);
}

void Graph::launch(StreamRef stream, std::source_location where) const {
  requireUsable(where);
  if (!stream.native())
    refuseInCapture("a launch of a graph on the default stream",
                    "launch it into the stream that the work is given", where);
  if (stream.device() >= 0 && stream.device() != made_.device())
    throw RuntimeError("a graph of device " + std::to_string(made_.device()) +
                           " is launched into a stream of device " +
                           std::to_string(stream.device()) +
                           "; capture it in a stream of that device, with memory of that device",
                       0, where);
  check(graphs(where).launch(executable_, stream.native()), "launching a graph", where);
}

bool Graph::take(void *newer, Device device, const std::source_location &where) {
  bool fits = false;
  Status status = 0;
  if (device.ordinal() == made_.device())
    status = graphs(where).update(executable_, newer, &fits);
  if (status != 0) {
    (void)graphs(where).destroyGraph(newer);
    check(status, "updating a graph", where);
  }
  if (!fits) {
    *this = Graph(newer, device, where);
    return false;
  }
  (void)graphs(where).destroyGraph(std::exchange(graph_, newer));
  return true;
}

std::size_t Graph::size(std::source_location where) const {
  requireUsable(where);
  std::size_t count = 0;
  check(graphs(where).countNodes(graph_, &count), "counting the operations of a graph", where);
  return count;
}

FLYDSL_NAMESPACE_END
