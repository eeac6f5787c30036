// Streams and events: HIP's own, owned or borrowed.
#pragma once

#include <flydsl/detail/resets.h>
#include <flydsl/device.h>

#include <source_location>

// HIP's opaque types, so that a native handle is taken as itself and nothing else is.
struct ihipStream_t;
struct ihipEvent_t;

FLYDSL_NAMESPACE_BEGIN

class Event;

/// A stream that the object owns; created on the current device, destroyed with the object after
/// its work.
class FLYDSL_API Stream {
public:
  explicit Stream(std::source_location where = std::source_location::current());
  explicit Stream(Device device, std::source_location where = std::source_location::current());
  ~Stream();
  Stream(Stream &&other) noexcept;
  Stream &operator=(Stream &&other) noexcept;

  /// The hipStream_t. It throws RuntimeError, as the functions below do, where the stream was moved
  /// from or its device was reset.
  ihipStream_t *native(std::source_location where = std::source_location::current()) const {
    if (native_ && made_.isThere()) [[likely]]
      return native_;
    refuse(where);
  }
  Device device() const { return device_; }
  /// Waits for the work in it; throws the error of a kernel that failed.
  void synchronize(std::source_location where = std::source_location::current()) const;
  /// True when all work in it has finished.
  bool idle(std::source_location where = std::source_location::current()) const;
  /// What is put in from now on waits for the event.
  void wait(const Event &event, std::source_location where = std::source_location::current()) const;

private:
  [[noreturn]] void refuse(const std::source_location &where) const;
  void destroy() noexcept;
  ihipStream_t *native_ = nullptr;
  Device device_;
  detail::MadeOn made_;
};

/// What a launch takes as its stream: an fx::Stream, a native hipStream_t of any origin, or nothing
/// for the current device's default stream. It owns nothing. Of a Stream that was moved from, or
/// whose device was reset, it is a RuntimeError.
class StreamRef {
public:
  constexpr StreamRef() = default;
  constexpr StreamRef(std::nullptr_t) {}
  StreamRef(const Stream &stream, std::source_location where = std::source_location::current())
      : native_(stream.native(where)), device_(stream.device().ordinal()) {}
  constexpr StreamRef(ihipStream_t *native) : native_(native) {}

  /// The hipStream_t; null for the default stream.
  constexpr ihipStream_t *native() const { return native_; }
  /// The stream's device where the reference knows it, else -1.
  constexpr int device() const { return device_; }

private:
  ihipStream_t *native_ = nullptr;
  int device_ = -1;
};

/// A point in a stream, with a time.
class FLYDSL_API Event {
public:
  explicit Event(std::source_location where = std::source_location::current());
  ~Event();
  Event(Event &&other) noexcept;
  Event &operator=(Event &&other) noexcept;

  /// The hipEvent_t. It throws RuntimeError, as the functions below do, where the event was moved
  /// from or its device was reset.
  ihipEvent_t *native(std::source_location where = std::source_location::current()) const;
  /// Marks the place behind all work that the stream has now; waits until that is reached; tells
  /// whether it is. Throw RuntimeError where HIP refuses.
  void record(StreamRef stream, std::source_location where = std::source_location::current());
  void synchronize(std::source_location where = std::source_location::current()) const;
  bool reached(std::source_location where = std::source_location::current()) const;
  /// Milliseconds from `start` to this event; both recorded and reached.
  float milliseconds_since(const Event &start,
                           std::source_location where = std::source_location::current()) const;

private:
  void destroy() noexcept;
  ihipEvent_t *native_ = nullptr;
  detail::MadeOn made_;
};

FLYDSL_NAMESPACE_END
