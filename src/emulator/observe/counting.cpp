#include "emulator/observe/counting.h"

#include "emulator/core/program.h"
#include "emulator/isa/op.h"
#include "emulator/matrix/execute.h"
#include "emulator/observe/lds_banks.h"
#include "emulator/observe/lines/group_lines.h"
#include "emulator/observe/timing.h"
#include "emulator/observe/touch_sampler.h"

#include <algorithm>
#include <cstdio>

namespace flyemu {

namespace {
class Counting final : public Observer {
public:
  Counting(const Options &o, const Program &p, const MemoryMap &memory, LaunchLines *lines)
      : options_(o), program_(p), clock_(p, o.memoryLatency), ofLaunch_(lines), sampler_(memory) {}

  void beginGroup(Group &g) override {
    c_.SQ_WAVES += g.waves.size();
    for (const Wave &w : g.waves)
      c_.SQ_ITEMS += static_cast<uint64_t>(std::popcount(w.exec()));
    clock_.beginGroup(g, g.number < options_.timelineGroups ? &timeline_ : nullptr);
    sampler_.beginGroup(*program_.target, g.number);
    ofGroup_.clear();
    group_ = g.number;
    atomics_.nextGroup();
  }

  void before(Wave &w, const Inst &inst) override {
    ++c_.SQ_INSTS;
    if (inst.op)
      count(inst);
    clock_.issue(w, inst);
    if (options_.trace)
      trace(w, inst);
  }

  void access(Wave &w, const Inst &i, unsigned lane, Space space, uint64_t address, unsigned bytes,
              bool write, bool atomic) override {
    if (i.enc == Enc::Smem)
      return; // not of the caches of vector memory, nor of its traffic
    if (space == Space::Global) {
      (write ? c_.globalBytesWritten : c_.globalBytesRead) += bytes;
      accessBytes_ += bytes;
      writes_ |= write;
      for (uint64_t line = address / kLine; line <= (address + bytes - 1) / kLine; ++line)
        if (lines_.empty() || lines_.back() != line)
          lines_.push_back(line);
    } else if (space == Space::Lds) {
      c_.ldsBytes += bytes;
      if (i.enc != Enc::Tensor) // no lanes, between which banks could conflict
        banks_.touch(lane, address, bytes, write, atomic);
    } else {
      accessBytes_ += bytes;
      for (uint64_t dword = address / 4; dword <= (address + bytes - 1) / 4; ++dword)
        scratch_.push_back(scratchLine(w, dword, lane));
    }
  }

  void accessLanes(Wave &w, const Inst &i, uint64_t lanes, Space space, const uint64_t *at,
                   uint64_t origin, unsigned bytes, bool write, bool atomic) override {
    for (; lanes; lanes &= lanes - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
      Counting::access(w, i, lane, space, at[lane] - origin, bytes, write, atomic);
    }
  }

  void accessesDone(Wave &w, const Inst &inst) override {
    uint64_t touchedLines = 0, ldsCycles = 0;
    uint64_t ready = 0; // when all lines that are loaded are in the compute unit's reach
    if (!scratch_.empty()) {
      sortedOnce(scratch_);
      touchedLines = scratch_.size();
      // The wave has stored there what it loads, and so a cache has it.
      for (uint64_t line : scratch_)
        ofGroup_.arrival(line) = 0;
      scratch_.clear();
    }
    if (!lines_.empty()) {
      sortedOnce(lines_);
      const bool isAtomic = writes_ && program_.isAtomic(inst);
      const bool isRead = !writes_ || isAtomic; // an atomic reads what it writes
      const bool streams = !writes_ && inst.flags & kStreams;
      const uint64_t fetched = clock_.fetched(w);
      for (uint64_t line : lines_) {
        if (writes_)
          written_.insert(line);
        if (isRead)
          (streams ? streamed_ : read_).insert(line);
        if (streams) { // it is not there for the next load
          ready = std::max(ready, std::min(ofGroup_.arrivalIfKept(line), fetched));
          continue;
        }
        uint64_t &arrives = ofGroup_.arrival(line);
        if (arrives > fetched) // the workgroup's first load of it
          arrives =
              fetched -
              (isRead && ofLaunch_ && ofLaunch_->wasLoaded(line, group_, place_) ? sooner_ : 0);
        ready = std::max(ready, arrives);
      }
      sampler_.touched(lines_, clock_.now(w), writes_, streams);
      writes_ = false;
      touchedLines += lines_.size();
      if (touchedLines == 1)
        clock_.looked(w, lines_.front());
      if (isAtomic) {
        c_.globalAtomicBytes += lines_.size() * kLine;
        for (uint64_t line : lines_)
          atomics_.add(line);
      }
      lines_.clear();
    }
    c_.TCP_TOTAL_CACHE_ACCESSES += touchedLines;
    c_.TCP_MINIMUM_CACHE_ACCESSES += (accessBytes_ + kLine - 1) / kLine;
    accessBytes_ = 0;
    if (!banks_.empty()) {
      const BankCycles cycles = banks_.take(*w.target);
      ldsCycles = cycles.active;
      c_.SQ_LDS_IDX_ACTIVE += cycles.active;
      c_.SQ_LDS_BANK_CONFLICT += cycles.conflicts;
    }
    clock_.touched(w, touchedLines, ldsCycles, ready,
                   ofGroup_.size() * kLine <= vectorCache_ ? ServedBy::VectorCache : ServedBy::L2);
  }

  void barrier(Group &) override { clock_.barrier(); }
  void endGroup(Group &) override { sampler_.endGroup(clock_.endGroup()); }

  void finish(DispatchResult &r) override {
    r.counters += c_;
    r.timing += clock_.timing();
    r.timeline.insert(r.timeline.end(), timeline_.begin(), timeline_.end());
    r.linesKept.insert(read_);
    r.linesRead.insert(read_);
    r.linesRead.insert(streamed_);
    r.linesWritten.insert(written_);
    r.atomics.add(atomics_);
    r.sample.add(sampler_.take());
    LineSet touched = r.linesRead;
    touched.insert(r.linesWritten);
    r.counters.globalBytesTouched = touched.size() * kLine;
    r.counters.globalReadFootprint = r.linesRead.size() * kLine;
    r.counters.globalWriteFootprint = r.linesWritten.size() * kLine;
    r.counters.globalAtomicGroups = r.atomics.most();
    r.counters.globalStreamFootprint = r.counters.globalReadFootprint - r.linesKept.size() * kLine;
  }

private:
  static void sortedOnce(std::vector<uint64_t> &lines) {
    if (!std::is_sorted(lines.begin(), lines.end()))
      std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  }

  /// The number of the line that has a dword of a lane's scratch. The dwords of a wave's lanes alternate in memory
  /// (LLVM's AMDGPU usage, private address space). The numbers are beyond those of addresses that a program has, since the
  /// emulator keeps scratch in another order.
  static uint64_t scratchLine(const Wave &w, uint64_t dword, unsigned lane) {
    const uint64_t linesOfWave = uint64_t(w.scratchSize) * w.lanes / kLine + 1;
    return uint64_t(1) << 49 | (w.index * linesOfWave + (dword * w.lanes + lane) * 4 / kLine);
  }

  void countMatrix(const Inst &inst) {
    ++c_.SQ_INSTS_MFMA;
    c_.matrixFlops += inst.op->flops;
    if (!inst.plan)
      return;
    const matrix::MatrixOp &op = static_cast<const matrix::MatrixPlan *>(inst.plan)->op();
    switch (op.a) {
    case matrix::Elem::F64:
      ++c_.SQ_INSTS_VALU_MFMA_F64;
      break;
    case matrix::Elem::F32:
      ++c_.SQ_INSTS_VALU_MFMA_F32;
      break;
    case matrix::Elem::XF32:
      ++c_.SQ_INSTS_VALU_MFMA_XF32;
      break;
    case matrix::Elem::F16:
      ++c_.SQ_INSTS_VALU_MFMA_F16;
      break;
    case matrix::Elem::BF16:
      ++c_.SQ_INSTS_VALU_MFMA_BF16;
      break;
    default:
      if (matrix::isInteger(op.a))
        ++c_.SQ_INSTS_VALU_MFMA_I8;
      else if (bitsOf(op.a) == 8 || bitsOf(op.b) == 8)
        ++c_.SQ_INSTS_VALU_MFMA_F8;
      else
        ++c_.SQ_INSTS_VALU_MFMA_F6F4;
      break;
    }
  }

  void count(const Inst &inst) {
    switch (inst.op->cls) {
    case Class::Mfma:
      countMatrix(inst);
      [[fallthrough]];
    case Class::Valu:
      ++c_.SQ_INSTS_VALU;
      break;
    case Class::Salu:
      ++c_.SQ_INSTS_SALU;
      break;
    case Class::Smem:
      ++c_.SQ_INSTS_SMEM;
      break;
    case Class::VmemRead:
      ++c_.SQ_INSTS_VMEM;
      ++c_.SQ_INSTS_VMEM_RD;
      break;
    case Class::VmemWrite:
      ++c_.SQ_INSTS_VMEM;
      ++c_.SQ_INSTS_VMEM_WR;
      break;
    case Class::Lds:
      ++c_.SQ_INSTS_LDS;
      break;
    case Class::Branch:
      ++c_.SQ_INSTS_BRANCH;
      break;
    case Class::Message:
      ++c_.SQ_INSTS_SENDMSG;
      break;
    case Class::Other:
      break;
    }
    if (inst.enc == Enc::Flat)
      ++c_.SQ_INSTS_FLAT;
  }

  void trace(Wave &w, const Inst &inst) {
    char head[96];
    std::snprintf(head, sizeof head, "wg(%u,%u,%u) wave %u +0x%llx exec %016llx  ", w.group->id[0],
                  w.group->id[1], w.group->id[2], w.index,
                  static_cast<unsigned long long>(w.pcOf(&inst) - program_.address),
                  static_cast<unsigned long long>(w.exec()));
    options_.trace(head + program_.text(static_cast<size_t>(&inst - w.codeBegin)));
  }

  const Options &options_;
  const Program &program_;
  GroupClock clock_;
  std::vector<TimelineEvent> timeline_;
  Counters c_;
  LineSet read_, written_;
  LineGroups atomics_;
  LineSet streamed_;            ///< read by loads that keep no lines
  GroupLines ofGroup_;          ///< what the workgroup in hand has touched, by its own clock
  LaunchLines *const ofLaunch_; ///< what the launch has loaded; null if that is not asked for
  LaunchLines::Place place_;
  uint64_t group_ = 0; ///< the number of the workgroup in hand
  /// How much sooner than memory the cache in front of it has a line; of no meaning without ofLaunch_.
  const uint64_t sooner_ = options_.memoryLatency - options_.lastLevelLatency;
  const uint64_t vectorCache_ = vectorCacheBytes(*program_.target); ///< bytes
  std::vector<uint64_t> lines_;   ///< of global memory that the access in hand touches
  std::vector<uint64_t> scratch_; ///< the same of scratch
  LdsBanks banks_;
  uint64_t accessBytes_ = 0;
  bool writes_ = false; ///< the access in hand
  TouchSampler sampler_;
};
} // namespace

std::unique_ptr<Observer> makeCounting(const Options &options, const Program &program,
                                       const MemoryMap &memory, LaunchLines *lines) {
  return std::make_unique<Counting>(options, program, memory, lines);
}

} // namespace flyemu
