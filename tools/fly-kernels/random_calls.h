// Random problems, configurations and numbers of rows of a family: what `fly-kernels random` tries.
#pragma once

#include "family.h"

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace fly_kernels {

/// A call of a family with operands that the tool makes.
struct RandomCall {
  const LibraryFamily *family = nullptr;
  fx::Config problem = {};
  std::optional<fx::Config> config = {}; ///< none: what is chosen
  std::int64_t m = 0;

  /// The command that makes this call again.
  std::string command(const fx::Target &target) const;
};

/// Calls that a target supports, each a few steps from the one before it or from a problem of a list. The
/// same seed gives the same calls.
class RandomCalls {
public:
  /// `bases`: problems to begin with; those that the target does not support are left out, and the family's
  /// default is added. `mostBytes`: of all operands of a call, so that the emulator runs it in a second or
  /// so.
  RandomCalls(const LibraryFamily &family, const std::vector<fx::Config> &bases,
              const fx::Target &target, std::int64_t mostBytes, std::uint64_t seed);

  /// Asks about a problem and configurations whose fields may have any values: `supported` must answer
  /// whatever they are, and what is chosen and listed must be supported. Throws flydsl::Error if it is
  /// not. `before` sees each question.
  void ask(const std::function<void(const RandomCall &)> &before);
  const LibraryFamily &family() const { return *family_; }
  /// The next call; none if a few thousand steps found none that is supported and small enough.
  std::optional<RandomCall> next();

private:
  std::uint64_t below(std::uint64_t count);
  bool oneIn(std::uint64_t count) { return below(count) == 0; }
  template <class T> const T &oneOf(const std::vector<T> &all) {
    return all[std::size_t(below(all.size()))];
  }
  /// Another value of one field.
  fx::Config changedOf(const fx::Config &config, const Enumerations &enumerations);
  fx::Config::Value changedOf(const fx::Config::Entry &entry, const Enumerations &enumerations);
  std::int64_t changedOf(std::int64_t number);
  /// The same problem with a size halved.
  fx::Config smallerOf(const fx::Config &problem, const Enumerations &enumerations);
  std::optional<fx::Config> problem();
  std::optional<fx::Config> config(const fx::Config &problem, std::int64_t m);

  const LibraryFamily *family_;
  fx::Target target_;
  std::int64_t mostBytes_;
  std::mt19937_64 random_;
  std::vector<fx::Config> bases_;
  std::optional<fx::Config> last_; ///< the problem of the last call
};

/// A call that still fails, with as many fields as can be at their defaults, and few rows.
RandomCall smallest(RandomCall call, const fx::Target &target,
                    const std::function<bool(const RandomCall &)> &fails);

} // namespace fly_kernels
