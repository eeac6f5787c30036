#include "support/shared_use.h"

#include <algorithm>

namespace flydsl::support {

std::vector<SharedUse> byLine(const std::vector<SharedUse> &uses) {
  std::vector<SharedUse> lines;
  for (const SharedUse &use : uses) {
    auto same = std::ranges::find_if(lines, [&](const SharedUse &line) {
      return line.place.line == use.place.line && line.place.file == use.place.file;
    });
    if (same != lines.end())
      same->bytes += use.bytes;
    else if (use.bytes)
      lines.push_back(use);
  }
  std::ranges::sort(lines, [](const SharedUse &a, const SharedUse &b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.place.line < b.place.line;
  });
  return lines;
}

std::string overSharedLimit(const std::vector<SharedUse> &uses, std::uint64_t bytes,
                            std::uint64_t limit) {
  constexpr std::size_t most = 8;
  std::string text = std::to_string(bytes) + " bytes of shared memory are over the " +
                     std::to_string(limit) + " that a workgroup may have";
  for (std::size_t i = 0; i < std::min(uses.size(), most); ++i) {
    const SharedUse &use = uses[i];
    text += (i ? ", " : ": ") + std::to_string(use.bytes) + (i ? "" : " bytes");
    if (use.place.known())
      text += " at " + use.place.file + ":" + std::to_string(use.place.line);
  }
  return uses.size() > most ? text + " and more" : text;
}

} // namespace flydsl::support
