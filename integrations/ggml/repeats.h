// Graphs of ggml that come again: their launches are captured once, and replayed as one operation.
#pragma once

#include <flydsl/flydsl.h>
#include <flydsl/host/graph.h>

#include <ggml.h>

#include <cstdint>
#include <functional>
#include <list>
#include <span>
#include <vector>

namespace flydsl_ggml {
namespace fx = flydsl;

/// What a backend remembers of the graphs that it computed. A graph is the same if all that its kernels
/// and their arguments depend on is: ops, their parameters, types, shapes, strides and addresses.
class Repeats {
public:
  /// Replays the graph that was captured with this number, and returns whether there is one. ggml's
  /// scheduler gives a graph a new number whenever it makes or allocates one, so the same number stands
  /// for the same graph; 0 stands for none.
  bool replay(const fx::Stream &stream, std::uint64_t uid);
  /// Puts the work of the nodes into the stream. The first time, `work` does it; the second time it is
  /// captured, and from then on it is replayed. Graphs that come in turns, as those of two models do, are
  /// captured, too: the last few that were used are kept.
  void compute(const fx::Stream &stream, std::uint64_t uid,
               std::span<const ggml_tensor *const> nodes,
               const std::function<void(const fx::Stream &)> &work);

private:
  struct Captured {
    std::vector<std::uint64_t> description;
    std::uint64_t uid;
    fx::Graph graph;
  };
  void launch(const fx::Stream &stream, std::list<Captured>::iterator captured);

  std::list<std::vector<std::uint64_t>> seen_; ///< computed once; the newest first
  std::list<Captured> captured_;               ///< the last used first
  bool off_ = false;                           ///< the driver can't capture
};

} // namespace flydsl_ggml
