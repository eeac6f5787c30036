// What the emulator's checks found.
#pragma once

#include <cstdint>
#include <string>

namespace flydsl::runtime {

/// The findings of a device's launches from now on; on a GPU there are none.
class NewFindings {
public:
  explicit NewFindings(int device);
  /// The newest one since then, and how many there were; empty for none. Launches that are still
  /// under way are not asked.
  std::string newest() const;

private:
  int device_;
  std::int64_t before_;
};

} // namespace flydsl::runtime
