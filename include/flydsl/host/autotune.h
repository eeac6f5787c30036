// Autotuning: finds the fastest of several configurations of a kernel on this device, by measuring
// them once, and remembers it.
#pragma once

#include <flydsl/detail/fields.h>
#include <flydsl/dtype.h>
#include <flydsl/host/executable.h>
#include <flydsl/host/stream.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
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
    /// Takes any integer type. Throws Error for a number that does not fit 64 bits with a sign.
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

  /// The entries in the order in which they were given.
  const std::vector<Entry> &entries() const { return entries_; }
  /// The value of a name. Throws Error if there is no such name, or if its value has another type.
  std::int64_t integer(const std::string &name) const;
  bool flag(const std::string &name) const;
  double real(const std::string &name) const;
  const std::string &text(const std::string &name) const;
  /// The entries as text: "block=256 stages=2".
  std::string str() const;
  friend bool operator==(const Config &, const Config &) = default;

private:
  const Value &find(const std::string &name) const;
  std::vector<Entry> entries_;
};

namespace detail {

/// The name of a field inside the struct `name`; the outermost struct has no name.
inline std::string fieldOf(const std::string &name, std::string_view field) {
  return (name.empty() ? "" : name + ".") + std::string(field);
}

template <class T>
void addEntries(std::vector<Config::Entry> &to, std::string name, const T &value) {
  if constexpr (PlainStruct<T>)
    eachField(value, [&](std::string_view field, const auto &inner) {
      addEntries(to, fieldOf(name, field), inner);
    });
  else if constexpr (IsStdArray<T>::value)
    for (std::size_t i = 0; i < value.size(); ++i)
      addEntries(to, name + "." + std::to_string(i), value[i]);
  else if constexpr (std::is_enum_v<T>)
    to.emplace_back(std::move(name), static_cast<std::underlying_type_t<T>>(value));
  else if constexpr (std::is_same_v<T, DType>)
    to.emplace_back(std::move(name), Config::Value(std::string(value.name())));
  else if constexpr (std::is_arithmetic_v<T>)
    to.emplace_back(std::move(name), value);
  else {
    static_assert(std::is_convertible_v<const T &, std::string>,
                  "a Config holds numbers, flags, texts, enums, dtypes, and structs and arrays of "
                  "them; what else a configuration has follows from these");
    to.emplace_back(std::move(name), Config::Value(std::string(value)));
  }
}

/// Throws Error for a number that the type of the field does not hold.
[[noreturn]] FLYDSL_API void failField(const std::string &name, const Config &config,
                                       const char *expected);
FLYDSL_API DType dtypeNamed(const std::string &name, const Config &config);

template <class T>
void takeEntries(const Config &from, std::string name, T &value, std::size_t &taken) {
  if constexpr (PlainStruct<T>) {
    eachField(value, [&](std::string_view field, auto &inner) {
      takeEntries(from, fieldOf(name, field), inner, taken);
    });
  } else if constexpr (IsStdArray<T>::value) {
    for (std::size_t i = 0; i < value.size(); ++i)
      takeEntries(from, name + "." + std::to_string(i), value[i], taken);
  } else {
    ++taken;
    if constexpr (std::is_same_v<T, bool>) {
      value = from.flag(name);
    } else if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(from.real(name));
    } else if constexpr (std::is_same_v<T, DType>) {
      value = dtypeNamed(name, from);
    } else if constexpr (std::is_integral_v<T>) {
      const std::int64_t number = from.integer(name);
      if (!std::in_range<T>(number))
        failField(name, from, "a number that the field holds");
      value = static_cast<T>(number);
    } else if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> number;
      --taken;
      takeEntries(from, name, number, taken);
      value = static_cast<T>(number);
    } else {
      value = from.text(name);
    }
  }
}
FLYDSL_API void expectAllTaken(const Config &config, std::size_t taken);

} // namespace detail

/// The fields of a struct by name, "stage.count" for a field of a field and
/// "waves.0" for an element of an array. A field is a number, flag, text, enum or
/// dtype, or a struct or array of them.
template <detail::PlainStruct T> Config to_config(const T &configuration) {
  std::vector<Config::Entry> entries;
  detail::addEntries(entries, {}, configuration);
  return Config(std::move(entries));
}

/// The struct whose to_config is `config`. Throws Error for a field that is missing or of
/// another type, a number that the field does not hold, and a value that is no field's.
template <detail::PlainStruct T> T from_config(const Config &config) {
  T configuration{};
  std::size_t taken = 0;
  detail::takeEntries(config, {}, configuration, taken);
  detail::expectAllTaken(config, taken);
  return configuration;
}

/// One configuration, compiled.
struct Candidate {
  Executable executable;
  /// Enqueues one run. `iteration` counts the runs; use it to rotate buffers, because a real caller
  /// does not find the data of a previous run in the caches of the device.
  std::function<void(StreamRef stream, int iteration)> run;
};

/// The result of one configuration.
struct Trial {
  /// `measured`, or the reason why it was not: its registers spilled, its code does not fit the
  /// device, it threw, or its results are wrong.
  enum class Outcome { measured, spills, too_large, failed, wrong };
  Config config;
  Outcome outcome = Outcome::failed;
  double milliseconds = 0; ///< `measured`: the median of the runs; an estimate on the emulator
  std::string reason;      ///< the reason, if it was not measured
};

/// Options of a search.
struct AutotuneOptions {
  /// The configuration to take if none is known and FLYDSL_AUTOTUNE=1 does not ask for a search.
  std::optional<Config> default_config = {};
  int warmup = 3;
  int repeat = 20;
  /// The number of threads that build configurations; 0: one per processor of the machine.
  unsigned threads = 0;
  /// True if configurations whose registers spill are measured too.
  bool allow_spills = false;
  /// Returns true if the results of a configuration are right; if it is not given, any results are
  /// accepted. It is called on the calling thread, once for each configuration that was built,
  /// after one run (iteration 0) has ended and before anything is measured. If it returns false or
  /// throws, the configuration is dropped, however fast it is. It should clear the results
  /// (DeviceArray::poison), so that the results of the next configuration are its own.
  std::function<bool(const Config &config)> validate = {};
  /// Called after each configuration, on the calling thread.
  std::function<void(const Trial &trial, std::size_t done, std::size_t total)> progress = {};
};

/// The chosen configuration, and how it was found.
struct AutotuneResult {
  /// The origin of the configuration.
  enum class Source { cache, artifact, default_config, search };
  Config config;
  Source source = Source::search;
  double milliseconds = 0;   ///< time of the winner; 0 if it was not measured by this call
  std::vector<Trial> trials; ///< of a search; otherwise empty
};

/// Chooses the configuration for the problem `key`. It looks in this order:
///
///   1. the cache of earlier winners, by name, key, device and library build, in
///      FLYDSL_AUTOTUNE_CACHE_DIR, or ~/.flydsl/autotune if that is not set;
///   2. the artifacts shipped in FLYDSL_AUTOTUNE_CONFIG_DIR, by name, key and device;
///   3. the default configuration;
///   4. a search.
///
/// FLYDSL_AUTOTUNE=1 always searches, and writes an artifact if FLYDSL_AUTOTUNE_CONFIG_DIR is set.
///
/// A search calls `build` for every configuration, for several at a time, on threads of its own
/// with the caller's device current. It measures the candidates one after another, with events on a
/// stream of its own, and remembers the fastest. A configuration that throws, spills, does not fit
/// or gives wrong results is reported and skipped. On the emulator the cost is not a time but the
/// estimate that Device::count_launches gives for one run, and the log says so; a finding of a
/// check (FLYDSL_EMULATOR_CHECK) counts as wrong results. Throws Error for invalid options, and if
/// no configuration can be measured; the error names the reasons.
FLYDSL_API AutotuneResult autotune(const std::string &name, const std::vector<Config> &configs,
                                   const Config &key,
                                   const std::function<Candidate(const Config &)> &build,
                                   const AutotuneOptions &options = {});

FLYDSL_NAMESPACE_END
