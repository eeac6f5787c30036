// The instructions of a kernel's hot loop.
#pragma once

#include <flydsl/host/executable.h>

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace kernel_tests {

/// The instructions of the loop with the most matrix instructions, by class.
struct HotLoop {
  int matrix = 0, ldsReads = 0, ldsWrites = 0, loads = 0, stores = 0, barriers = 0, waits = 0,
      scalar = 0;
  int invalidates = 0; ///< of caches, which belong to barriers on RDNA
  int vector = 0;      ///< vector instructions that are none of these
  std::map<std::string, int> by = {};

  std::string str() const {
    std::string text;
    for (const auto &[name, count] : by)
      text += std::to_string(count) + " " + name + "\n";
    return text;
  }
  void add(const std::string &name) {
    const auto begins = [&](std::string_view with) { return name.starts_with(with); };
    ++by[name];
    ++(begins("v_mfma") || begins("v_wmma") || begins("v_smfmac") ? matrix
       : begins("ds_read") || begins("ds_load")                   ? ldsReads
       : begins("ds_write") || begins("ds_store")                 ? ldsWrites
       : begins("buffer_load") || begins("global_load")           ? loads
       : begins("buffer_store") || begins("global_store")         ? stores
       : begins("s_barrier") && !name.ends_with("_signal")        ? barriers
       : name.ends_with("_inv")                                   ? invalidates
       : begins("s_wait")                                         ? waits
       : begins("s_")                                             ? scalar
                                                                  : vector);
  }
};

/// Reads the disassembly, whose lines end in the address: "s_cbranch_scc1 65389 // 000000001b88". A
/// loop ends in a branch back; the operand counts words of 32 bits from the next instruction on.
inline HotLoop hotLoop(const flydsl::Executable &code) {
  struct Line {
    std::string name;
    std::uint64_t address, target;
  };
  std::vector<Line> lines;
  std::istringstream text(code.isa());
  for (std::string line; std::getline(text, line);) {
    const std::size_t comment = line.find("// ");
    if (comment == std::string::npos)
      continue;
    std::string name, operand;
    std::istringstream(line.substr(0, comment)) >> name >> operand;
    const std::uint64_t address = std::stoull(line.substr(comment + 3), nullptr, 16);
    std::uint64_t target = ~std::uint64_t(0);
    if (name.starts_with("s_cbranch") || name == "s_branch")
      target = address + 4 +
               static_cast<std::uint64_t>(4 * static_cast<std::int16_t>(std::stoul(operand)));
    lines.push_back({name, address, target});
  }
  HotLoop best;
  for (std::size_t end = 0; end < lines.size(); ++end) {
    if (lines[end].target > lines[end].address)
      continue;
    HotLoop loop;
    for (std::size_t i = 0; i <= end; ++i)
      if (lines[i].address >= lines[end].target)
        loop.add(lines[i].name);
    if (loop.matrix > best.matrix)
      best = loop;
  }
  return best;
}

} // namespace kernel_tests
