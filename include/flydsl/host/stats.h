// Statistics of the library in this process: counters to read, and events to subscribe to.
#pragma once

#include <flydsl/export.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

FLYDSL_NAMESPACE_BEGIN

/// A snapshot of the counters since the process started. Launches of known signatures are not
/// counted, because they write no memory that threads share.
struct Stats {
  std::uint64_t traces = 0;         ///< kernels traced
  std::uint64_t compiles = 0;       ///< code objects generated
  std::uint64_t memory_hits = 0;    ///< code objects found in memory, by the hash of the IR
  std::uint64_t disk_hits = 0;      ///< code objects read from a cache directory
  std::uint64_t failures = 0;       ///< traces and compiles that ended in an error
  std::uint64_t loads = 0;          ///< modules loaded on a device
  std::uint64_t bytes_compiled = 0; ///< bytes of the code objects that were generated
  std::uint64_t bytes_from_disk = 0;
  double trace_milliseconds = 0;
  double compile_milliseconds = 0;
  double disk_milliseconds = 0;
  double load_milliseconds = 0;
  // The fleet's cache (FLYDSL_RUNTIME_REMOTE_CACHE); winners of autotuning count too.
  std::uint64_t remote_hits = 0;     ///< code objects and winners that it had
  std::uint64_t remote_misses = 0;   ///< those that it did not have
  std::uint64_t remote_stores = 0;   ///< those that this process gave it
  std::uint64_t remote_rejected = 0; ///< its entries that were damaged, not signed or not fitting
  std::uint64_t remote_failures = 0; ///< requests that failed or took too long
  std::uint64_t remote_skipped = 0;  ///< requests that were not sent, because others had failed
  std::uint64_t bytes_from_remote = 0;
  double remote_milliseconds = 0; ///< time of all requests, and of waiting for other machines
};
FLYDSL_API Stats stats();

/// The counters as Prometheus reads them (text exposition format, version 0.0.4): one counter each,
/// `flydsl_..._total`, times in seconds. An engine's /metrics page adds it to its own:
/// `page += fx::prometheus_text(fx::stats())`.
FLYDSL_API std::string prometheus_text(const Stats &stats);

/// An activity that took time. The texts live until the callback returns.
struct EventInfo {
  /// The kind of activity.
  enum class Kind { traced, compiled, memory_hit, disk_hit, loaded, failed, remote_hit };
  Kind kind = Kind::traced;
  std::string_view kernel;
  std::string_view target;
  std::string_view key;   ///< hexadecimal; empty for `traced`, `loaded` and `failed`
  std::string_view error; ///< `failed`: the message
  double milliseconds = 0;
  std::uint64_t bytes = 0; ///< bytes of the code object
  int device = -1;         ///< `loaded`: the device
};

/// A subscription to events. The destructor unsubscribes and waits for running callbacks.
class FLYDSL_API EventSubscription {
public:
  EventSubscription() = default;
  explicit EventSubscription(std::uint64_t id) : id_(id) {}
  ~EventSubscription();
  EventSubscription(EventSubscription &&other) noexcept : id_(other.id_) { other.id_ = 0; }
  EventSubscription &operator=(EventSubscription &&other) noexcept {
    std::uint64_t id = id_;
    id_ = other.id_;
    other.id_ = id;
    return *this;
  }

private:
  std::uint64_t id_ = 0;
};

/// Calls `told` after each event, on the thread that caused it. An exception of `told` is logged
/// and dropped. `told` must not subscribe, unsubscribe or launch.
[[nodiscard]] FLYDSL_API EventSubscription on_event(std::function<void(const EventInfo &)> told);

FLYDSL_NAMESPACE_END
