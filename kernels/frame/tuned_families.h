// Tuned configurations as words and as the structs of their families.
#pragma once

#include <flydsl/kernels/tuning/tuned.h>

#include <functional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// An entry that its family has understood.
struct TunedRead {
  TunedEntry entry;          ///< with all fields
  std::string_view family;   ///< its name
  std::function<void()> put; ///< adds it to the entries in use; the caller holds tunedMutex
};
/// Throws Error for an entry whose words are none of a problem and its configuration, or whose
/// configuration is not supported.
TunedRead readTuned(const TunedEntry &entry);
/// Takes the entries of all families out of use; the caller holds tunedMutex.
void clearTuned();

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
