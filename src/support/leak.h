// Objects that must not be destroyed, such as what a crash has left half changed.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace flydsl::support {

/// Moves the object to where nothing destroys it. What it owns stays until the process ends. It
/// allocates nothing, because memory may be what is missing.
template <class T> void leak(T object) noexcept {
  alignas(T) std::byte place[sizeof(T)];
  ::new (static_cast<void *>(place)) T(std::move(object));
}

} // namespace flydsl::support
