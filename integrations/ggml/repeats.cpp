#include "repeats.h"

#include <ggml-impl.h>

namespace flydsl_ggml {
namespace {

/// Graphs of a decoder change when the part of the cache that attention reads grows, and differ between
/// prompts and steps.
constexpr std::size_t kKept = 8;
/// A capture costs more than a launch; graphs of fewer nodes are launched.
constexpr std::size_t kFewest = 4;

void describe(std::vector<std::uint64_t> &to, const ggml_tensor *tensor) {
  to.push_back(static_cast<std::uint64_t>(tensor->type));
  to.push_back(reinterpret_cast<std::uintptr_t>(tensor->data));
  for (int d = 0; d < GGML_MAX_DIMS; ++d) {
    to.push_back(static_cast<std::uint64_t>(tensor->ne[d]));
    to.push_back(tensor->nb[d]);
  }
}
std::vector<std::uint64_t> descriptionOf(std::span<const ggml_tensor *const> nodes) {
  std::vector<std::uint64_t> all;
  all.reserve(nodes.size() * 48);
  for (const ggml_tensor *node : nodes) {
    all.push_back(static_cast<std::uint64_t>(node->op));
    for (const std::int32_t parameter : node->op_params)
      all.push_back(static_cast<std::uint32_t>(parameter));
    describe(all, node);
    for (std::size_t i = 0; i < GGML_MAX_SRC; ++i)
      if (node->src[i]) {
        all.push_back(i);
        describe(all, node->src[i]);
      }
  }
  return all;
}

} // namespace

void Repeats::compute(const fx::Stream &stream, std::span<const ggml_tensor *const> nodes,
                      const std::function<void(const fx::Stream &)> &work) {
  if (nodes.empty())
    return;
  if (off_ || nodes.size() < kFewest)
    return work(stream);
  std::vector<std::uint64_t> description = descriptionOf(nodes);
  for (const Captured &captured : captured_)
    if (captured.description == description)
      return captured.graph.launch(stream);
  if (description != last_) {
    work(stream);
    last_ = std::move(description);
    return;
  }
  try {
    captured_.push_front({std::move(description), fx::Graph::capture(stream, work)});
  } catch (const fx::Error &error) {
    GGML_LOG_WARN("flydsl: graphs are launched node by node: %s\n", error.what());
    off_ = true;
    return work(stream);
  }
  if (captured_.size() > kKept) {
    stream.synchronize(); // the oldest may be under way
    captured_.pop_back();
  }
  captured_.front().graph.launch(stream);
}

} // namespace flydsl_ggml
