// A kernel's timeline: marks and ranges that its waves record, with the time, collected per launch
// and written as a Chrome trace (which Perfetto and chrome://tracing open).
//
// Events stay in a kernel's source. They become code only if the kernel is traced with the hint
// `.ktrace = true` or with FLYDSL_KTRACE_ENABLE=1; else the code is that of the kernel without
// them. A wave records an event once, whatever lanes reach it.
#pragma once

#include <flydsl/host/launch.h>
#include <flydsl/kernel/numeric.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace ktrace {

//===-- in kernels --------------------------------------------------------===//

/// An event's name with the source location of its call.
struct Name {
  std::string_view text;
  Loc loc;
  Name(const char *name, Loc where = Loc::current()) : text(name), loc(where) {}
};

/// Whether the kernel that is being traced records its events. It is constant in a kernel: what is
/// computed for a payload alone can stand in an `if` of C++.
FLYDSL_API bool enabled(Loc loc = Loc::current());

/// A range that `range_stop` ends, in any order with others. It is for one launch of one wave.
class RangeToken {
public:
  RangeToken(std::string name, detail::Handle handle)
      : name_(std::move(name)), handle_(std::move(handle)) {}
  /// The range's name in the timeline.
  const std::string &name() const { return name_; }
  /// What `range_stop` takes; empty where nothing is recorded.
  const detail::Handle &handle() const { return handle_; }

private:
  std::string name_;
  detail::Handle handle_;
};

namespace impl {
FLYDSL_API void mark(const Name &name, const detail::Handle &payload);
FLYDSL_API void push(const Name &name, const detail::Handle &payload);
FLYDSL_API RangeToken start(const Name &name, const detail::Handle &payload);
FLYDSL_API void stop(const RangeToken &token, const detail::Handle &payload, Loc loc);
} // namespace impl

/// Records a point in time. `payload`, a number of at most 64 bits or a truth value, is recorded
/// with it: the value of the first lane that is there.
inline void mark(const Name &name) { impl::mark(name, {}); }
template <class T> void mark(const Name &name, const T &payload) {
  impl::mark(name, Numeric::Arg(payload, name.loc).handle);
}

/// Begins a range inside of those that are open; `range_pop` ends the last one.
inline void range_push(const Name &name) { impl::push(name, {}); }
template <class T> void range_push(const Name &name, const T &payload) {
  impl::push(name, Numeric::Arg(payload, name.loc).handle);
}
/// Ends the range that was pushed last. A TraceError where none is open in this kernel.
FLYDSL_API void range_pop(Loc loc = Loc::current());

/// Begins a range that its token ends. Ranges of tokens may overlap.
[[nodiscard]] inline RangeToken range_start(const Name &name) { return impl::start(name, {}); }
template <class T> [[nodiscard]] RangeToken range_start(const Name &name, const T &payload) {
  return impl::start(name, Numeric::Arg(payload, name.loc).handle);
}
/// Ends the range of a token.
inline void range_stop(const RangeToken &token, Loc loc = Loc::current()) {
  impl::stop(token, {}, loc);
}
template <class T>
void range_stop(const RangeToken &token, const T &payload, Loc loc = Loc::current()) {
  impl::stop(token, Numeric::Arg(payload, loc).handle, loc);
}

/// Runs `body` inside of a range: `fx::ktrace::range("load", [&] { ... })`.
template <class Body> void range(const Name &name, Body &&body) {
  range_push(name);
  std::forward<Body>(body)();
  range_pop(name.loc);
}

//===-- on the host -------------------------------------------------------===//
/// What an event says.
enum class Kind : std::uint8_t { mark, range_push, range_pop, range_start, range_stop };

using Payload = std::variant<std::monostate, std::uint64_t, std::int64_t, float, double, bool>;

/// One event of one wave.
struct Event {
  Kind kind = Kind::mark;
  std::string name; ///< empty for range_pop
  Payload payload;
  std::uint64_t ticks = 0;          ///< of the device's constant clock
  std::optional<std::size_t> start; ///< range_stop: which event of the launch began the range
  std::array<std::int64_t, 3> block = {0, 0, 0};
  unsigned wave = 0;                              ///< in its block
  unsigned die = 0, engine = 0, compute_unit = 0; ///< where the wave ran
};

/// What one launch recorded: the events of each wave in their order, block after block.
struct Launch {
  std::string kernel, target;
  int device = 0;
  Dim3 grid, block;
  double nanoseconds_per_tick = 10;
  std::vector<Event> events;
  /// Events that found no room. They are the last ones of their waves; FLYDSL_KTRACE_BUFFER_BYTES
  /// or a filter of blocks makes room.
  std::uint64_t dropped = 0;
};

/// The launches as a Chrome trace: a process for each launch, a thread for each wave. Times are
/// microseconds from the first event of all. Ranges that have no end last until their wave's last
/// event. A launch that dropped events says so in its process's name.
FLYDSL_API std::string chrome_trace(const std::vector<Launch> &launches);

/// While one lives, the launches of all kernels that record events are kept in it, in the order in
/// which they were made, and no file is written. Such a launch waits for its kernel to end.
class FLYDSL_API Capture {
public:
  Capture();
  ~Capture();
  Capture(const Capture &) = delete;
  Capture &operator=(const Capture &) = delete;

  /// The launches so far.
  std::vector<Launch> launches() const;
  /// Writes them as a Chrome trace. A RuntimeError where the file can't be written.
  void write(const std::string &path, Loc loc = Loc::current()) const;

  struct State;

private:
  std::shared_ptr<State> state_;
};

} // namespace ktrace
FLYDSL_NAMESPACE_END
