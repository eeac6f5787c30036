#include "machine.h"

#include "assemble.h"
#include "emulator/core/dispatch.h"
#include "emulator/core/hardware_register.h"
#include "emulator/core/wave_setup.h"
#include "emulator/isa/op.h"
#include "emulator/ops/decode_program.h"

#include <map>

namespace flyemu::test {

std::set<std::string> &executedOn(const std::string &target) {
  static std::map<std::string, std::set<std::string>> executed;
  return executed[target];
}

Machine::Machine(const std::string &cpu)
    : target(cpu), gfx9(cpu[3] == '9'), gfx11(cpu.substr(0, 5) == "gfx11"),
      gfx12(cpu.substr(0, 5) == "gfx12"), gfx1250(cpu == "gfx1250"),
      gfx940(cpu == "gfx942" || cpu == "gfx950"), gfx950(cpu == "gfx950"), lanes(gfx9 ? 64 : 32),
      scratch(256 * kLanes), file(static_cast<uint32_t *>(std::aligned_alloc(
                                 64, findMachine(target)->fileRows() * kLanes * 4))) {
  std::fill_n(file.get(), findMachine(target)->fileRows() * kLanes, 0);
  wave.v = file.get();
  wave.lanes = lanes;
  wave.runsOn(*findMachine(target));
  wave.memory = this;
  wave.group = &group;
  wave.lds = lds.data();
  wave.ldsSize = static_cast<uint32_t>(lds.size());
  wave.scratch = scratch.data();
  wave.scratchSize = 256;
  group.waves.resize(1);
  if (gfx9 && !gfx940) // kernels set it, from what the launch gives them
    wave.setS64(wave.target->flatScratch, reinterpret_cast<uint64_t>(scratch.data()));
  setMode(0x1f0);
  setExec(~uint64_t(0));
}

void Machine::setMode(uint32_t mode) { setModeBits(wave, mode); }

size_t Machine::add(const std::string &text) {
  snippets.push_back({text});
  return snippets.size() - 1;
}

void Machine::build() {
  std::vector<std::string> texts;
  for (const Snippet &s : snippets)
    texts.push_back(s.text);
  std::vector<std::vector<uint32_t>> code = assembleEach(target, texts);
  words.clear();
  for (size_t i = 0; i < snippets.size(); ++i) {
    snippets[i].first = words.size();
    snippets[i].count = code[i].size();
    words.insert(words.end(), code[i].begin(), code[i].end());
    if (!code[i].empty())
      words.push_back(0xbf800000); // s_nop 0, so that a branch past the end has somewhere to go
  }
  program = decodeProgram(target, words.data(), words.size() * 4);
  wave.codeBegin = program->insts.data();
  wave.codeEnd = program->insts.data() + program->insts.size() - 1;
  wave.codeAddress = program->address;
}

std::string Machine::run(size_t snippet) {
  const Snippet &s = snippets[snippet];
  if (s.count == 0)
    return "the assembler refuses: " + s.text;
  const Inst *end = wave.codeBegin + s.first + s.count;
  wave.ip = wave.codeBegin + s.first;
  wave.stop = Stop::None;
  wave.fuel = 100000;
  auto &executed = executedOn(target);
  try {
    while (wave.ip < end && wave.ip >= wave.codeBegin + s.first && wave.fuel > 0) {
      const Inst &inst = *wave.ip;
      wave.current = &inst;
      wave.ip += inst.dwords;
      if (inst.op)
        executed.insert(std::string(inst.op->name));
      inst.fn(wave, inst);
    }
  } catch (const WaveFault &f) {
    return f.what.empty() ? "fault" : f.what;
  }
  return {};
}

} // namespace flyemu::test
