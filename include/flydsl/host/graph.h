// Work of a stream that is captured once and launched many times: one call for hundreds of kernels.
#pragma once

#include <flydsl/detail/resets.h>
#include <flydsl/host/stream.h>

#include <cstddef>
#include <source_location>
#include <type_traits>

FLYDSL_NAMESPACE_BEGIN

/// What work put into a stream: launches, copies and waits, with their arguments as they were then.
/// Memory and kernels that the work used must live for as long as the graph is launched: a graph
/// knows their addresses alone.
class FLYDSL_API Graph {
public:
  /// Calls `work(stream)` and keeps what it puts into the stream instead of doing it. A stream that
  /// waits for an event of this one is captured as well, and this one must wait for its end. `work`
  /// may compile and load kernels. It may not wait for the stream, copy or allocate. Throws what
  /// `work` throws, and RuntimeError where the stream is being captured already, where nothing came
  /// into it, where HIP refuses, and where the driver has no graphs.
  template <class Work>
    requires std::is_invocable_v<Work &, const Stream &>
  static Graph capture(const Stream &stream, Work &&work,
                       std::source_location where = std::source_location::current()) {
    return Graph(captured(stream, work, where), stream.device(), where);
  }

  ~Graph();
  Graph(Graph &&other) noexcept;
  Graph &operator=(Graph &&other) noexcept;

  /// Puts all of the work into a stream of the graph's device, as one operation. This function and
  /// those below throw RuntimeError if the graph was moved from or its device was reset.
  void launch(StreamRef stream, std::source_location where = std::source_location::current()) const;

  /// Captures again, and takes the new arguments, addresses and grids. Returns true where the work
  /// is of the same form, the same kernels in the same order; otherwise the graph is made anew,
  /// which takes longer. Launches that are under way keep what they had. Throws as `capture` does,
  /// and then the graph is as it was.
  template <class Work>
    requires std::is_invocable_v<Work &, const Stream &>
  bool update(const Stream &stream, Work &&work,
              std::source_location where = std::source_location::current()) {
    requireUsable(where);
    return take(captured(stream, work, where), stream.device(), where);
  }

  /// The number of operations.
  std::size_t size(std::source_location where = std::source_location::current()) const;

private:
  template <class Work>
  static void *captured(const Stream &stream, Work &work, const std::source_location &where) {
    beginCapture(stream, where);
    try {
      work(stream);
    } catch (...) {
      dropCapture(stream);
      throw;
    }
    return endCapture(stream, where);
  }
  static void beginCapture(const Stream &stream, const std::source_location &where);
  /// The driver's graph, which has operations.
  static void *endCapture(const Stream &stream, const std::source_location &where);
  static void dropCapture(const Stream &stream) noexcept;

  /// The graph is this object's from here on, whatever happens.
  Graph(void *graph, Device device, const std::source_location &where);
  bool take(void *newer, Device device, const std::source_location &where);
  void requireUsable(const std::source_location &where) const;
  void destroy() noexcept;

  void *graph_ = nullptr;
  void *executable_ = nullptr;
  detail::MadeOn made_;
};

FLYDSL_NAMESPACE_END
