// Streams and events of HIP, owned or borrowed.
#pragma once

#include <flydsl/detail/resets.h>
#include <flydsl/host/device.h>

#include <source_location>

// HIP's opaque types. They are declared here so that functions accept a native handle and no other
// pointer.
struct ihipStream_t;
struct ihipEvent_t;

FLYDSL_NAMESPACE_BEGIN

class Event;

/// A stream that the object owns. It is created on the current device. The destructor waits for its
/// work and destroys it.
class FLYDSL_API Stream {
public:
  explicit Stream(std::source_location where = std::source_location::current());
  explicit Stream(Device device, std::source_location where = std::source_location::current());
  ~Stream();
  Stream(Stream &&other) noexcept;
  Stream &operator=(Stream &&other) noexcept;

  /// The hipStream_t. This function and those below throw RuntimeError if the stream was moved from
  /// or its device was reset.
  ihipStream_t *native(std::source_location where = std::source_location::current()) const {
    if (native_ && made_.isThere()) [[likely]]
      return native_;
    refuse(where);
  }
  /// The stream's device.
  Device device() const { return device_; }
  /// Waits for all work in the stream. Throws the error of a kernel that failed.
  void synchronize(std::source_location where = std::source_location::current()) const;
  /// True if all work in the stream has finished.
  bool idle(std::source_location where = std::source_location::current()) const;
  /// Makes work that is enqueued from now on wait for the event.
  void wait(const Event &event, std::source_location where = std::source_location::current()) const;

private:
  [[noreturn]] void refuse(const std::source_location &where) const;
  void destroy() noexcept;
  ihipStream_t *native_ = nullptr;
  Device device_;
  detail::MadeOn made_;
};

/// The stream of a launch: an fx::Stream, a native hipStream_t of any origin, or nothing for the
/// current device's default stream. It owns nothing. Making one from a Stream that was moved from,
/// or whose device was reset, throws RuntimeError.
class StreamRef {
public:
  constexpr StreamRef() = default;
  constexpr StreamRef(std::nullptr_t) {}
  StreamRef(const Stream &stream, std::source_location where = std::source_location::current())
      : native_(stream.native(where)), device_(stream.device().ordinal()) {}
  constexpr StreamRef(ihipStream_t *native) : native_(native) {}

  /// The hipStream_t; null for the default stream.
  constexpr ihipStream_t *native() const { return native_; }
  /// The stream's device if the reference knows it, otherwise -1.
  constexpr int device() const { return device_; }

private:
  ihipStream_t *native_ = nullptr;
  int device_ = -1;
};

/// A point in a stream. It has a time.
class FLYDSL_API Event {
public:
  explicit Event(std::source_location where = std::source_location::current());
  ~Event();
  Event(Event &&other) noexcept;
  Event &operator=(Event &&other) noexcept;

  /// The hipEvent_t. This function and those below throw RuntimeError if the event was moved from
  /// or its device was reset.
  ihipEvent_t *native(std::source_location where = std::source_location::current()) const;
  /// Places the event after all work that the stream has now. Throws RuntimeError if HIP refuses.
  void record(StreamRef stream, std::source_location where = std::source_location::current());
  /// Waits until the stream has reached the event.
  void synchronize(std::source_location where = std::source_location::current()) const;
  /// True if the stream has reached the event.
  bool reached(std::source_location where = std::source_location::current()) const;
  /// The milliseconds from `start` to this event. Both must be recorded and reached.
  float milliseconds_since(const Event &start,
                           std::source_location where = std::source_location::current()) const;

private:
  void destroy() noexcept;
  ihipEvent_t *native_ = nullptr;
  detail::MadeOn made_;
};

FLYDSL_NAMESPACE_END
