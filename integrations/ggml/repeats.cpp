#include "repeats.h"

#include <ggml-impl.h>

#include <algorithm>

namespace flydsl_ggml {
namespace {

/// Graphs of a decoder change when the part of the cache that attention reads grows, and differ between
/// prompts and steps: so many are captured, and so many that were computed once are known.
constexpr std::size_t kKept = 8;
/// A capture costs more than a launch; graphs of fewer nodes are launched.
constexpr std::size_t kFewest = 4;

/// Calls `each` with the numbers that the tensor is described by, until it returns false; returns whether
/// it never did.
template <class Each> bool eachOf(const ggml_tensor *tensor, const Each &each) {
  bool all = each(static_cast<std::uint64_t>(tensor->type)) &&
             each(reinterpret_cast<std::uintptr_t>(tensor->data));
  for (int d = 0; all && d < GGML_MAX_DIMS; ++d)
    all = each(static_cast<std::uint64_t>(tensor->ne[d])) && each(tensor->nb[d]);
  return all;
}
template <class Each> bool eachOf(std::span<const ggml_tensor *const> nodes, const Each &each) {
  for (const ggml_tensor *node : nodes) {
    // Results of a graph, which the flags name, are not fused away.
    bool all = each(static_cast<std::uint64_t>(node->op)) &&
               each(static_cast<std::uint64_t>(node->flags)) && eachOf(node, each);
    for (const std::int32_t parameter : node->op_params)
      all = all && each(static_cast<std::uint32_t>(parameter));
    for (std::size_t i = 0; all && i < GGML_MAX_SRC; ++i)
      if (node->src[i])
        all = each(i) && eachOf(node->src[i], each);
    if (!all)
      return false;
  }
  return true;
}
std::vector<std::uint64_t> descriptionOf(std::span<const ggml_tensor *const> nodes) {
  std::vector<std::uint64_t> all;
  all.reserve(nodes.size() * 64);
  eachOf(nodes, [&](std::uint64_t number) {
    all.push_back(number);
    return true;
  });
  return all;
}
bool describes(const std::vector<std::uint64_t> &description,
               std::span<const ggml_tensor *const> nodes) {
  std::size_t at = 0;
  return eachOf(nodes,
                [&](std::uint64_t number) {
                  return at < description.size() && description[at++] == number;
                }) &&
         at == description.size();
}

} // namespace

void Repeats::launch(const fx::Stream &stream, std::list<Captured>::iterator captured) {
  captured_.splice(captured_.begin(), captured_, captured);
  captured->graph.launch(stream);
}

bool Repeats::replay(const fx::Stream &stream, std::uint64_t uid) {
  const auto found = std::ranges::find(captured_, uid, &Captured::uid);
  if (!uid || found == captured_.end())
    return false;
  launch(stream, found);
  return true;
}

void Repeats::compute(const fx::Stream &stream, std::uint64_t uid,
                      std::span<const ggml_tensor *const> nodes,
                      const std::function<void(const fx::Stream &)> &work) {
  if (nodes.empty())
    return;
  if (off_ || nodes.size() < kFewest)
    return work(stream);
  const auto isThis = [&](const std::vector<std::uint64_t> &description) {
    return describes(description, nodes);
  };
  if (const auto found = std::ranges::find_if(captured_, isThis, &Captured::description);
      found != captured_.end()) {
    found->uid = uid;
    return launch(stream, found);
  }
  const auto seen = std::ranges::find_if(seen_, isThis);
  if (seen == seen_.end()) {
    work(stream);
    seen_.push_front(descriptionOf(nodes));
    if (seen_.size() > kKept)
      seen_.pop_back();
    return;
  }
  try {
    fx::Graph graph = fx::Graph::capture(stream, work);
    captured_.push_front({std::move(*seen), uid, std::move(graph)});
    seen_.erase(seen);
    GGML_LOG_DEBUG("flydsl: a graph of %zu nodes is captured\n", nodes.size());
  } catch (const fx::Error &error) {
    GGML_LOG_WARN("flydsl: graphs are launched node by node: %s\n", error.what());
    off_ = true;
    return work(stream);
  }
  if (captured_.size() > kKept) {
    stream.synchronize(); // the one that was used longest ago may be under way
    captured_.pop_back();
  }
  captured_.front().graph.launch(stream);
}

} // namespace flydsl_ggml
