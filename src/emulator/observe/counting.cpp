#include "emulator/observe/counting.h"

#include "emulator/core/program.h"
#include "emulator/isa/op.h"
#include "emulator/matrix/execute.h"
#include "emulator/observe/lds_banks.h"
#include "emulator/observe/timing.h"

#include <algorithm>
#include <cstdio>

namespace flyemu {

namespace {
class Counting : public Observer {
public:
  Counting(const Options &o, const Program &p) : options(o), program(p), clock(p) {}

  void beginGroup(Group &g) override {
    c.SQ_WAVES += g.waves.size();
    for (const Wave &w : g.waves)
      c.SQ_ITEMS += static_cast<uint64_t>(std::popcount(w.exec()));
    clock.beginGroup(g);
  }

  void before(Wave &w, const Inst &inst) override {
    ++c.SQ_INSTS;
    if (inst.op)
      count(inst);
    clock.issue(w, inst);
    if (options.trace)
      trace(w, inst);
  }

  void access(Wave &, const Inst &, unsigned lane, Space space, uint64_t address, unsigned bytes,
              bool write, bool) override {
    if (space == Space::Global) {
      (write ? c.globalBytesWritten : c.globalBytesRead) += bytes;
      accessBytes += bytes;
      for (uint64_t line = address / kLine; line <= (address + bytes - 1) / kLine; ++line)
        if (lines.empty() || lines.back() != line)
          lines.push_back(line);
    } else if (space == Space::Lds) {
      c.ldsBytes += bytes;
      banks.touch(lane, address, bytes);
    }
  }

  void accessesDone(Wave &w, const Inst &) override {
    uint64_t touchedLines = 0, ldsCycles = 0;
    if (!lines.empty()) {
      if (!std::is_sorted(lines.begin(), lines.end()))
        std::sort(lines.begin(), lines.end());
      lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
      for (uint64_t line : lines)
        footprint.insert(line);
      touchedLines = lines.size();
      c.TCP_TOTAL_CACHE_ACCESSES += touchedLines;
      c.TCP_MINIMUM_CACHE_ACCESSES += (accessBytes + kLine - 1) / kLine;
      lines.clear();
      accessBytes = 0;
    }
    if (!banks.empty()) {
      const BankCycles cycles = banks.take(w.target->ldsBanks);
      ldsCycles = cycles.active;
      c.SQ_LDS_IDX_ACTIVE += cycles.active;
      c.SQ_LDS_BANK_CONFLICT += cycles.conflicts;
    }
    clock.touched(w, touchedLines, ldsCycles);
  }

  void barrier(Group &) override { clock.barrier(); }
  void endGroup(Group &) override { clock.endGroup(); }

  void finish(DispatchResult &r) override {
    r.counters += c;
    r.timing += clock.timing();
    r.touched.insert(footprint);
    r.counters.globalBytesTouched = r.touched.size() * kLine;
  }

private:
  void countMatrix(const Inst &inst) {
    ++c.SQ_INSTS_MFMA;
    c.matrixFlops += inst.op->info & 0xffffff;
    if (!inst.plan)
      return;
    const matrix::MatrixOp &op = static_cast<const matrix::MatrixPlan *>(inst.plan)->op();
    switch (op.a) {
    case matrix::Elem::F64:
      ++c.SQ_INSTS_VALU_MFMA_F64;
      break;
    case matrix::Elem::F32:
      ++c.SQ_INSTS_VALU_MFMA_F32;
      break;
    case matrix::Elem::XF32:
      ++c.SQ_INSTS_VALU_MFMA_XF32;
      break;
    case matrix::Elem::F16:
      ++c.SQ_INSTS_VALU_MFMA_F16;
      break;
    case matrix::Elem::BF16:
      ++c.SQ_INSTS_VALU_MFMA_BF16;
      break;
    default:
      if (matrix::isInteger(op.a))
        ++c.SQ_INSTS_VALU_MFMA_I8;
      else if (bitsOf(op.a) == 8 || bitsOf(op.b) == 8)
        ++c.SQ_INSTS_VALU_MFMA_F8;
      else
        ++c.SQ_INSTS_VALU_MFMA_F6F4;
      break;
    }
  }

  void count(const Inst &inst) {
    switch (inst.op->cls) {
    case Class::Mfma:
      countMatrix(inst);
      [[fallthrough]];
    case Class::Valu:
      ++c.SQ_INSTS_VALU;
      break;
    case Class::Salu:
      ++c.SQ_INSTS_SALU;
      break;
    case Class::Smem:
      ++c.SQ_INSTS_SMEM;
      break;
    case Class::VmemRead:
      ++c.SQ_INSTS_VMEM;
      ++c.SQ_INSTS_VMEM_RD;
      break;
    case Class::VmemWrite:
      ++c.SQ_INSTS_VMEM;
      ++c.SQ_INSTS_VMEM_WR;
      break;
    case Class::Lds:
      ++c.SQ_INSTS_LDS;
      break;
    case Class::Branch:
      ++c.SQ_INSTS_BRANCH;
      break;
    case Class::Message:
      ++c.SQ_INSTS_SENDMSG;
      break;
    case Class::Other:
      break;
    }
    if (inst.enc == Enc::Flat)
      ++c.SQ_INSTS_FLAT;
  }

  void trace(Wave &w, const Inst &inst) {
    char head[96];
    std::snprintf(head, sizeof head, "wg(%u,%u,%u) wave %u +0x%llx exec %016llx  ", w.group->id[0],
                  w.group->id[1], w.group->id[2], w.index,
                  static_cast<unsigned long long>(w.pcOf(&inst) - program.address),
                  static_cast<unsigned long long>(w.exec()));
    options.trace(head + program.text(static_cast<size_t>(&inst - w.codeBegin)));
  }

  const Options &options;
  const Program &program;
  GroupClock clock;
  Counters c;
  LineSet footprint;
  std::vector<uint64_t> lines;
  LdsBanks banks;
  uint64_t accessBytes = 0;
};
} // namespace

std::unique_ptr<Observer> makeCounting(const Options &options, const Program &program) {
  return std::make_unique<Counting>(options, program);
}

} // namespace flyemu
