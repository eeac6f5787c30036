// The findings are counted by the emulator; a GPU's driver has none.
#include "runtime/new_findings.h"

#include "runtime/current_driver.h"

namespace flydsl::runtime {

static std::int64_t countOf(int device, char *text, std::uint32_t size) {
  const auto count = driver().emulator.findings;
  return count ? count(device, text, size) : 0;
}

NewFindings::NewFindings(int device) : device_(device), before_(countOf(device, nullptr, 0)) {}

std::string NewFindings::newest() const {
  char text[1024] = "";
  const std::int64_t found = countOf(device_, text, sizeof text) - before_;
  if (found <= 0)
    return {};
  return text + (found == 1 ? std::string() : " (the last of " + std::to_string(found) + ")");
}

} // namespace flydsl::runtime
