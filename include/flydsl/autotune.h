// Autotuning: the fastest of some configurations of a kernel on this device, measured once and
// remembered.
#pragma once

#include <flydsl/executable.h>
#include <flydsl/stream.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

FLYDSL_NAMESPACE_BEGIN

/// Named values: a configuration ({{"block", 256}, {"stages", 2}}), or the key of a problem ({{"N",
/// 4096}}).
class FLYDSL_API Config {
public:
  using Value = std::variant<std::int64_t, bool, double, std::string>;
  /// A name and its value.
  struct Entry {
    std::string name;
    Value value;
    Entry(std::string name, Value value) : name(std::move(name)), value(std::move(value)) {}
    Entry(std::string name, bool value) : Entry(std::move(name), Value(value)) {}
    Entry(std::string name, double value) : Entry(std::move(name), Value(value)) {}
    /// Of any integer type; throws Error for a number that 64 bits with a sign do not hold.
    template <std::integral T>
      requires(!std::same_as<T, bool>)
    Entry(std::string name, T value) : Entry(std::move(name), Value(integerOf(value))) {}
    Entry(std::string name, const char *value)
        : Entry(std::move(name), Value(std::string(value))) {}
    friend bool operator==(const Entry &, const Entry &) = default;

  private:
    template <std::integral T> static std::int64_t integerOf(T value) {
      if (!std::in_range<std::int64_t>(value))
        throw Error("the value " + std::to_string(value) +
                    " of a configuration is more than 63 bits hold");
      return static_cast<std::int64_t>(value);
    }
  };

  Config() = default;
  Config(std::initializer_list<Entry> entries) : entries_(entries) {}
  explicit Config(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  /// In the order in which they were given.
  const std::vector<Entry> &entries() const { return entries_; }
  /// Throws Error for a name that is not there or a value of another type.
  std::int64_t integer(const std::string &name) const;
  bool flag(const std::string &name) const;
  double real(const std::string &name) const;
  const std::string &text(const std::string &name) const;
  /// "block=256 stages=2".
  std::string str() const;
  friend bool operator==(const Config &, const Config &) = default;

private:
  const Value &find(const std::string &name) const;
  std::vector<Entry> entries_;
};

/// One configuration, compiled.
struct Candidate {
  Executable executable;
  /// Enqueues one run. `iteration` counts the runs, so that buffers can be rotated: what the caches
  /// of the device hold from the run before is not what a real caller finds there.
  std::function<void(StreamRef stream, int iteration)> run;
};

/// What became of one configuration.
struct Trial {
  /// Measured, or why it was not: registers spilled, the code does not fit the device, it threw,
  /// its results are wrong.
  enum class Outcome { measured, spills, too_large, failed, wrong };
  Config config;
  Outcome outcome = Outcome::failed;
  double milliseconds = 0; ///< `measured`: the median of a run; on the emulator an estimate
  std::string reason;      ///< otherwise: why not
};

/// How a search goes about it.
struct AutotuneOptions {
  /// Taken where nothing is known and FLYDSL_AUTOTUNE=1 does not ask for a search.
  std::optional<Config> default_config = {};
  int warmup = 3;
  int repeat = 20;
  /// Threads that build configurations; 0: as many as the machine has.
  unsigned threads = 0;
  /// Configurations whose registers spill are measured too.
  bool allow_spills = false;
  /// Whether the results of a configuration are right. Called once for each that is built, on the
  /// calling thread, after one run (iteration 0) that has ended and before anything is measured;
  /// where it returns false or throws, the configuration is out, however fast. It clears what it has
  /// looked at (DeviceArray::poison), so that the next one's results are its own. Not given: any
  /// results are taken.
  std::function<bool(const Config &config)> validate = {};
  /// Told after each configuration; on the calling thread.
  std::function<void(const Trial &trial, std::size_t done, std::size_t total)> progress = {};
};

/// The configuration to use, and how it was found.
struct AutotuneResult {
  /// Where the configuration comes from.
  enum class Source { cache, artifact, default_config, search };
  Config config;
  Source source = Source::search;
  double milliseconds = 0;   ///< of the winner; 0 where it was not measured now
  std::vector<Trial> trials; ///< of a search
};

/// The configuration to use for the problem `key`. Looked for, in this order: the cache of earlier
/// winners (by name, key, device and library build, in FLYDSL_AUTOTUNE_CACHE_DIR, else
/// ~/.flydsl/autotune), the artifacts shipped in FLYDSL_AUTOTUNE_CONFIG_DIR (by name, key and
/// device), the default, a search. FLYDSL_AUTOTUNE=1 searches whatever is known, and writes an
/// artifact where FLYDSL_AUTOTUNE_CONFIG_DIR is set.
///
/// A search calls `build` for every configuration, several at a time, on threads of its own with
/// the caller's device current; measures the candidates one after the other with events on a stream
/// of its own; and remembers the fastest. A configuration that throws, spills, does not fit or gives
/// wrong results is reported and skipped. On the emulator the cost is not a time but
/// Device::count_launches' estimate of one run, and the log says so; a finding of a check
/// (FLYDSL_EMULATOR_CHECK) counts as wrong results. Throws Error where no configuration can be
/// measured, naming the reasons, and for options that can't be.
FLYDSL_API AutotuneResult autotune(const std::string &name, const std::vector<Config> &configs,
                                   const Config &key,
                                   const std::function<Candidate(const Config &)> &build,
                                   const AutotuneOptions &options = {});

FLYDSL_NAMESPACE_END
