// One wave on which snippets of assembler text run: all snippets of a table are assembled at once.
#pragma once

#include "emulated_targets.h"
#include "emulator/core/group.h"
#include "emulator/core/program.h"
#include "emulator/core/wave.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace flyemu::test {

/// The processors that the tables run on.
inline constexpr auto &kTargets = kAllTargets;

/// Base mnemonics of the instructions that any machine of the target has executed.
std::set<std::string> &executedOn(const std::string &target);

class Machine : public MemoryMap {
public:
  explicit Machine(const std::string &target);

  const std::string target;
  const bool gfx9, gfx11, gfx12, gfx1250; ///< gfx12: gfx1201 and gfx1250
  const bool gfx940, gfx950;              ///< gfx940: gfx942 and gfx950
  const unsigned lanes;                   ///< of the wave

  /// Adds a snippet, of one line or several; returns its number.
  size_t add(const std::string &text);
  /// Assembles what was added. Snippets that the assembler refuses are not accepted.
  void build();
  bool accepted(size_t snippet) const { return snippets[snippet].count != 0; }
  const std::string &text(size_t snippet) const { return snippets[snippet].text; }

  /// Runs a snippet on the state below. Returns the fault's words; empty if there was none.
  std::string run(size_t snippet);

  /// The state: registers, masks, memories. Accumulation register i is row 256 + i.
  uint32_t *row(unsigned r) { return file.get() + r * kLanes; }
  uint32_t &s(unsigned i) { return wave.s[i]; }
  uint64_t s64(unsigned i) const { return wave.s64(i); }
  void setS64(unsigned i, uint64_t x) { wave.setS64(i, x); }
  void setExec(uint64_t x) { wave.setExec(x); }
  /// FP_ROUND, FP_DENORM, DX10_CLAMP, IEEE as in MODE.
  void setMode(uint32_t mode);
  /// The wave's own lanes of a mask.
  uint64_t mask(uint64_t x) const { return lanes == 64 ? x : x & 0xffffffff; }
  Wave wave;
  std::vector<uint8_t> memory = std::vector<uint8_t>(1 << 16); ///< the only mapped memory
  std::vector<uint8_t> lds = std::vector<uint8_t>(1 << 14);
  std::vector<uint8_t> scratch; ///< 256 bytes of each lane
  uint64_t address() const { return reinterpret_cast<uint64_t>(memory.data()); }

private:
  bool find(uint64_t at, MemoryRange &range) const override {
    range = {address(), memory.size(), true};
    return range.contains(at, 1);
  }

  struct Snippet {
    std::string text;
    size_t first = 0, count = 0; ///< dwords
  };
  struct Free {
    void operator()(uint32_t *p) const { std::free(p); }
  };
  std::deque<Snippet> snippets;
  std::unique_ptr<uint32_t, Free> file;
  std::vector<uint32_t> words;
  std::shared_ptr<const Program> program;
  Group group;
};

} // namespace flyemu::test
