#include "emulator/observe/findings.h"

#include "emulator/core/program.h"

#include <bit>

namespace flyemu {

namespace {
std::string idText(const std::array<uint32_t, 3> &id) {
  return "workgroup (" + std::to_string(id[0]) + ", " + std::to_string(id[1]) + ", " +
         std::to_string(id[2]) + ")";
}

/// "lane 5", "lanes 0-7, 9".
std::string laneText(uint64_t lanes) {
  std::string text = std::popcount(lanes) == 1 ? "lane " : "lanes ";
  for (const char *between = ""; lanes; between = ", ") {
    const int first = std::countr_zero(lanes);
    const int count = std::countr_one(lanes >> first);
    text += between + std::to_string(first);
    if (count > 1)
      text += "-" + std::to_string(first + count - 1);
    if (first + count > 63)
      break;
    lanes &= ~uint64_t(0) << (first + count);
  }
  return text;
}
} // namespace

uint32_t Findings::beginGroup(const Group &group) {
  std::lock_guard lock(mutex_);
  groups_.push_back(group.id);
  return static_cast<uint32_t>(groups_.size());
}

std::string placeText(const KernelCode &kernel, size_t index) {
  const uint64_t address = kernel.program->address + index * 4;
  std::string result = kernel.offsetText(address) + " " + kernel.program->text(index);
  const std::string line = kernel.source ? kernel.source(address) : std::string();
  return line.empty() ? result : result + " (" + line + ")";
}

std::string Findings::place(size_t index) const { return placeText(kernel_, index); }

std::string Findings::place(const Inst &inst) const { return place(program().entryOf(inst)); }

std::string Findings::line(const Inst &inst) const {
  const size_t index = program().entryOf(inst);
  return kernel_.source ? kernel_.source(program().address + index * 4) : std::string();
}

std::string Findings::who(const Touch &touch) const {
  std::string group;
  {
    std::lock_guard lock(mutex_);
    group = idText(groups_[touch.group - 1]);
  }
  const Enc enc = program().insts[touch.inst].enc;
  const bool scalar = enc == Enc::Smem || enc == Enc::Tensor;
  return group + ", wave " + std::to_string(touch.wave()) +
         (scalar ? "" : ", lane " + std::to_string(touch.lane())) + ", at " + place(touch.inst);
}

void Findings::add(Check check, const std::string &what, const Wave &wave, const Inst &inst,
                   uint64_t lanes) {
  {
    std::lock_guard lock(mutex_);
    if (findings_.size() >= kMost || !reported_.insert({check, &inst}).second)
      return;
  }
  std::string text = "kernel '" + kernel_.name + "': " + what + "; " + idText(wave.group->id) +
                     ", wave " + std::to_string(wave.index);
  if (lanes && inst.enc != Enc::Tensor) // whose accesses are the wave's
    text += ", " + laneText(lanes);
  text += ", at " + place(inst);
  std::lock_guard lock(mutex_);
  findings_.push_back({check, std::move(text)});
}

std::vector<Finding> Findings::take() {
  std::lock_guard lock(mutex_);
  return std::move(findings_);
}

} // namespace flyemu
