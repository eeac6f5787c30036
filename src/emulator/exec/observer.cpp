#include "emulator/exec/observer.h"

#include "emulator/exec/checks.h"
#include "emulator/exec/op.h"
#include "emulator/exec/program.h"

#include <algorithm>
#include <cstdio>

namespace flyemu {

namespace {
constexpr uint64_t kLine = 128;

/// Counts and traces.
class Counting : public Observer {
public:
  Counting(const Options &o, const Program &p) : options(o), program(p) {}

  void beginGroup(Group &g) override { c.SQ_WAVES += g.waves.size(); }

  void before(Wave &w, const Inst &inst) override {
    ++c.SQ_INSTS;
    if (inst.op)
      count(inst);
    if (options.trace)
      trace(w, inst);
  }

  void access(Wave &, const Inst &, unsigned, Space space, uint64_t address, unsigned bytes,
              bool write, bool) override {
    if (space == Space::Global) {
      (write ? c.globalBytesWritten : c.globalBytesRead) += bytes;
      accessBytes += bytes;
      for (uint64_t line = address / kLine; line <= (address + bytes - 1) / kLine; ++line)
        lines.push_back(line);
    } else if (space == Space::Lds) {
      c.ldsBytes += bytes;
      for (uint64_t d = address / 4; d <= (address + bytes - 1) / 4; ++d)
        ldsDwords.push_back(static_cast<uint32_t>(d));
    }
  }

  void accessesDone(Wave &w, const Inst &) override {
    if (!lines.empty()) {
      std::sort(lines.begin(), lines.end());
      c.TCP_TOTAL_CACHE_ACCESSES +=
          static_cast<uint64_t>(std::unique(lines.begin(), lines.end()) - lines.begin());
      c.TCP_MINIMUM_CACHE_ACCESSES += (accessBytes + kLine - 1) / kLine;
      lines.clear();
      accessBytes = 0;
    }
    if (!ldsDwords.empty())
      countBanks(w.target->ldsBanks);
  }

  void finish(DispatchResult &r) override { r.counters += c; }

private:
  void count(const Inst &inst) {
    switch (inst.op->cls) {
    case Class::Mfma:
      ++c.SQ_INSTS_MFMA;
      c.matrixFlops += inst.op->info & 0xffffff;
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
      ++c.SQ_INSTS_VMEM_RD;
      break;
    case Class::VmemWrite:
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

  /// Distinct dwords of one bank take a cycle each; the least is what the dwords spread over all
  /// banks would take.
  void countBanks(unsigned banks) {
    std::sort(ldsDwords.begin(), ldsDwords.end());
    ldsDwords.erase(std::unique(ldsDwords.begin(), ldsDwords.end()), ldsDwords.end());
    uint64_t perBank[64] = {}, most = 0;
    for (uint32_t d : ldsDwords)
      most = std::max(most, ++perBank[d % banks]);
    uint64_t least = (ldsDwords.size() + banks - 1) / banks;
    c.SQ_LDS_IDX_ACTIVE += most;
    c.SQ_LDS_BANK_CONFLICT += most - least;
    ldsDwords.clear();
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
  Counters c;
  std::vector<uint64_t> lines;
  std::vector<uint32_t> ldsDwords;
  uint64_t accessBytes = 0;
};

/// Two observers, one after the other.
class Both : public Observer {
public:
  Both(std::unique_ptr<Observer> x, std::unique_ptr<Observer> y)
      : a(std::move(x)), b(std::move(y)) {}
  void beginGroup(Group &g) override { a->beginGroup(g), b->beginGroup(g); }
  void before(Wave &w, const Inst &i) override { a->before(w, i), b->before(w, i); }
  void access(Wave &w, const Inst &i, unsigned lane, Space s, uint64_t at, unsigned bytes,
              bool write, bool atomic) override {
    a->access(w, i, lane, s, at, bytes, write, atomic);
    b->access(w, i, lane, s, at, bytes, write, atomic);
  }
  void accessesDone(Wave &w, const Inst &i) override {
    a->accessesDone(w, i), b->accessesDone(w, i);
  }
  void barrier(Group &g) override { a->barrier(g), b->barrier(g); }
  void endGroup(Group &g) override { a->endGroup(g), b->endGroup(g); }
  void finish(DispatchResult &r) override { a->finish(r), b->finish(r); }

private:
  std::unique_ptr<Observer> a, b;
};
} // namespace

std::unique_ptr<Observer> makeObserver(const Options &options, const Program &program,
                                       const std::string &kernel) {
  std::unique_ptr<Observer> counting, checks;
  if (options.counters || options.trace)
    counting = std::make_unique<Counting>(options, program);
  if (options.checks)
    checks = makeChecks(options.checks, program, kernel);
  if (counting && checks)
    return std::make_unique<Both>(std::move(counting), std::move(checks));
  return counting ? std::move(counting) : std::move(checks);
}

} // namespace flyemu
