// The tuned configurations in use, as `choose` finds them: flydsl/kernels/tuning/tuned.h.
#pragma once

#include <flydsl/kernels/plan.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The GPU that a configuration was measured on.
struct TunedDevice {
  std::string target;
  int computeUnits = 0;
  friend bool operator==(const TunedDevice &, const TunedDevice &) = default;
};
/// The product in hand of a target.
TunedDevice tunedDevice(const Target &target);

/// An entry of a family.
template <class P> struct TunedOf {
  P problem;
  ConfigOf<P> config;
  std::int64_t rows;
  TunedDevice device;
};
/// Whether an entry of so many rows serves a call of m.
inline bool servesRows(std::int64_t rows, std::int64_t m) { return rows >= m && m > rows / 2; }

/// The entries of a family that are in use; tunedMutex guards them.
template <class P> std::vector<TunedOf<P>> &tunedEntries() {
  static auto *entries = new std::vector<TunedOf<P>>; // outlives every thread that may ask
  return *entries;
}
std::shared_mutex &tunedMutex();
/// Whether any are in use. The first call reads the file of FLYDSL_KERNELS_TUNED, and throws Error if
/// that is refused.
bool tunedInUse();
/// A number that changes with the entries in use.
std::uint64_t tunedState();

/// The configuration in use for a problem, if there is one.
template <class P>
std::optional<ConfigOf<P>> tunedFor(const P &problem, std::int64_t m, const Target &target) {
  if (!tunedInUse()) [[likely]]
    return std::nullopt;
  const std::shared_lock lock(tunedMutex());
  const std::vector<TunedOf<P>> &entries = tunedEntries<P>();
  if (entries.empty())
    return std::nullopt;
  const TunedDevice device = tunedDevice(target);
  const TunedOf<P> *found = nullptr;
  for (const TunedOf<P> &entry : entries)
    if (servesRows(entry.rows, m) && (!found || entry.rows < found->rows) &&
        entry.problem == problem && entry.device == device)
      found = &entry;
  return found ? std::optional(found->config) : std::nullopt;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
