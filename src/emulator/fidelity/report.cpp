// The report of what is known of instructions, in Markdown.
#include "emulator/fidelity/fidelity.h"
#include "emulator/observe/lds_phases.h"

#include <algorithm>

namespace flyemu {
namespace {

std::string cell(const char *text) { return std::string(" ") + text + " |"; }

struct Range {
  unsigned least = ~0u, most = 0;
  std::size_t count = 0;
};

std::string headOf(const char *first, const std::vector<std::string> &targets,
                   std::initializer_list<const char *> last) {
  std::string head = std::string("| ") + first + " |", line = "|---|";
  for (const std::string &target : targets) {
    head += " " + target + " |";
    line += "---|";
  }
  for (const char *one : last) {
    head += cell(one);
    line += "---|";
  }
  return head + "\n" + line + "\n";
}

const char *nameOf(LdsAccess access) {
  switch (access) {
  case LdsAccess::Read:
    return "read";
  case LdsAccess::Write:
    return "write";
  case LdsAccess::Atomic:
    return "atomic operation";
  case LdsAccess::ReadPair:
    return "read of two addresses";
  case LdsAccess::WritePair:
    return "write of two addresses";
  }
  return "";
}
const char *nameOf(Evidence evidence) {
  switch (evidence) {
  case Evidence::Measured:
    return "measured";
  case Evidence::Documented:
    return "documented by AMD";
  case Evidence::Assumed:
    return "assumed";
  }
  return "";
}

} // namespace

std::string fidelityReport(const std::vector<std::string> &targets) {
  const std::span<const ResultRow> resultKinds = resultRows();
  const std::span<const TimeRow> timeKinds = timeRows();
  std::vector results(targets.size(), std::vector<std::size_t>(resultKinds.size()));
  std::vector times(targets.size(), std::vector<Range>(timeKinds.size()));
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const Machine &machine = *findMachine(targets[t]);
    const TimingFigures figures =
        timingFigures(machine, static_cast<unsigned>(machine.processor->waveSize),
                      memoryLatency(machine.product(), false));
    eachKnown(machine, [&](const KnownInstruction &i) {
      ++results[t][rowOf(resultKinds, i)];
      const std::size_t row = rowOf(timeKinds, i);
      Range &range = times[t][row];
      const unsigned cycles = timeKinds[row].cycles(i, figures);
      range.least = std::min(range.least, cycles);
      range.most = std::max(range.most, cycles);
      ++range.count;
    });
  }
  std::string text = headOf("instructions (how many)", targets, {"results", "known from"});
  for (std::size_t r = 0; r < resultKinds.size(); ++r) {
    text += std::string("| ") + resultKinds[r].what + " |";
    for (std::size_t t = 0; t < targets.size(); ++t)
      text += results[t][r] ? " " + std::to_string(results[t][r]) + " |" : " |";
    text += cell(nameOf(resultKinds[r].nearness)) + cell(resultKinds[r].known) + "\n";
  }
  text += "\n" + headOf("instructions (cycles)", targets, {"cycles", "known from"});
  for (std::size_t r = 0; r < timeKinds.size(); ++r) {
    text += std::string("| ") + timeKinds[r].what + " |";
    for (std::size_t t = 0; t < targets.size(); ++t) {
      const Range &range = times[t][r];
      text += !range.count ? " |"
              : range.least == range.most
                  ? " " + std::to_string(range.least) + " |"
                  : " " + std::to_string(range.least) + " to " + std::to_string(range.most) + " |";
    }
    text += cell(nameOf(timeKinds[r].evidence)) + cell(timeKinds[r].known) + "\n";
  }
  text += "\n| LDS of | access | bytes of a lane | banks | phases | known from "
          "|\n|---|---|---|---|---|---|\n";
  for (const LdsRow &row : ldsRows())
    text += "| " + std::string(row.processor) + " | " + nameOf(row.access) + " | " +
            std::to_string(row.dwords * 4) + " | " + std::to_string(row.service.banks) + " | " +
            nameOf(row.evidence) + " | " + std::string(row.source) + " |\n";
  return text;
}

} // namespace flyemu
