#include "emulator/exec/checks.h"

#include "emulator/exec/memory_ops.h"
#include "emulator/exec/op.h"
#include "emulator/exec/program.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <unordered_map>

namespace flyemu {

namespace {
constexpr size_t kMostFindings = 64;

/// Who touched a place: enough to name the instruction.
struct Touch {
  const Inst *inst = nullptr;
  uint32_t wave = 0, lane = 0, epoch = 0;
  uint64_t group = 0;
  bool atomic = false;
};

/// The last write and the last reads, by two different waves, of one byte of LDS or one dword of
/// global memory.
struct History {
  Touch write, read, otherRead;
};

class Checks : public Observer {
public:
  Checks(unsigned c, const Program &p, std::string k)
      : checks(c), program(p), kernel(std::move(k)) {}

  void beginGroup(Group &g) override {
    ++groupNumber;
    epoch = 1;
    lds.assign(g.waves.empty() ? 0 : g.waves[0].ldsSize, History());
    startMask.clear();
    undefined.assign(g.waves.size(), {});
    for (Wave &w : g.waves) {
      startMask.push_back(w.exec());
      auto &u = undefined[w.index];
      u.assign(kFileRows, ~uint64_t(0));
      u[0] = u[1] = u[2] = 0; // work-item ids
    }
    usedGlobalAtomic = false;
  }

  void before(Wave &w, const Inst &i) override {
    if (checks & kCheckSync)
      checkSync(w, i);
    if (checks & kCheckInit)
      checkInit(w, i);
  }

  void access(Wave &w, const Inst &i, unsigned lane, Space space, uint64_t address, unsigned bytes,
              bool write, bool atomic) override {
    atomic |= i.op->name.find("_atomic_") != std::string_view::npos;
    if (checks & kCheckMemory)
      checkBounds(w, i, lane, space, address, bytes);
    if (space == Space::Lds && address + bytes <= lds.size()) {
      if (checks & kCheckInit && !write && !atomic)
        checkLdsInit(w, i, lane, address, bytes);
      for (uint64_t at = address; at < address + bytes; ++at)
        note(lds[at], w, i, lane, write, atomic, at, Space::Lds);
    } else if (space == Space::Global && checks & kCheckRace) {
      usedGlobalAtomic |= atomic;
      for (uint64_t at = address / 4; at <= (address + bytes - 1) / 4; ++at)
        note(global[at], w, i, lane, write, atomic, at * 4, Space::Global);
    }
  }
  void accessesDone(Wave &, const Inst &) override {}

  void barrier(Group &g) override {
    ++epoch;
    if (!(checks & kCheckSync))
      return;
    const Wave *first = nullptr;
    for (const Wave &w : g.waves) {
      if (w.stop == Stop::End) {
        report(kCheckSync,
               "wave " + std::to_string(w.index) + " has ended while others wait at a barrier", w,
               *w.current, -1);
      } else if (!first) {
        first = &w;
      } else if (w.current != first->current) {
        report(kCheckSync,
               "waves " + std::to_string(first->index) + " and " + std::to_string(w.index) +
                   " meet at different barriers; the other is " + place(*first->current),
               w, *w.current, -1);
      }
    }
  }

  void finish(DispatchResult &r) override {
    r.findings.insert(r.findings.end(), findings.begin(), findings.end());
  }

private:
  std::string place(const Inst &i) const {
    auto index = static_cast<size_t>(&i - program.insts.data());
    char text[64];
    std::snprintf(text, sizeof text, "+0x%zx ", index * 4);
    return text + program.text(index);
  }

  void report(Check check, const std::string &what, const Wave &w, const Inst &i, int lane) {
    // One report for each pair of instruction and kind: loops and lanes repeat it.
    if (findings.size() >= kMostFindings || !reported.insert({check, &i}).second)
      return;
    const auto &id = w.group->id;
    std::string text = "kernel '" + kernel + "': " + what + "; workgroup (" +
                       std::to_string(id[0]) + ", " + std::to_string(id[1]) + ", " +
                       std::to_string(id[2]) + "), wave " + std::to_string(w.index);
    if (lane >= 0)
      text += ", lane " + std::to_string(lane);
    findings.push_back({check, text + ", at " + place(i)});
  }

  void checkBounds(Wave &w, const Inst &i, unsigned lane, Space space, uint64_t address,
                   unsigned bytes) {
    if (space == Space::Lds && address + bytes > w.ldsSize)
      report(kCheckMemory,
             "LDS access of " + std::to_string(bytes) + " bytes at " + std::to_string(address) +
                 " of " + std::to_string(w.ldsSize),
             w, i, static_cast<int>(lane));
    // Wide accesses need a dword's alignment, narrower ones their own.
    if (address % std::min(bytes, 4u))
      report(kCheckMemory, "misaligned access of " + std::to_string(bytes) + " bytes", w, i,
             static_cast<int>(lane));
  }

  void checkLdsInit(Wave &w, const Inst &i, unsigned lane, uint64_t address, unsigned bytes) {
    for (uint64_t at = address; at < address + bytes; ++at)
      if (!lds[at].write.inst) {
        report(kCheckInit, "read of LDS byte " + std::to_string(at) + ", which nobody has written",
               w, i, static_cast<int>(lane));
        return;
      }
  }

  /// Two accesses conflict if one writes, not both are atomic, and nothing orders them: other waves
  /// between two barriers in LDS, other workgroups in global memory. A workgroup that has used
  /// global atomics may have synchronised with others, so its reads are taken as ordered.
  void note(History &h, Wave &w, const Inst &i, unsigned lane, bool write, bool atomic, uint64_t at,
            Space space) {
    Touch now{&i, w.index, lane, epoch, groupNumber, atomic};
    auto conflicts = [&](const Touch &t) {
      if (!t.inst || (t.atomic && atomic))
        return false;
      if (space == Space::Lds)
        return t.epoch == epoch && t.wave != w.index;
      return t.group != groupNumber && !(usedGlobalAtomic && !write);
    };
    if (checks & kCheckRace) {
      for (const Touch *t : {&h.write, write ? &h.read : nullptr, write ? &h.otherRead : nullptr})
        if (t && conflicts(*t)) {
          char where[96];
          std::snprintf(where, sizeof where, "%s and %s of %s 0x%llx are not ordered: ",
                        t == &h.write ? "write" : "read", write ? "write" : "read",
                        space == Space::Lds ? "LDS byte" : "address",
                        static_cast<unsigned long long>(at));
          report(kCheckRace,
                 where + std::string("the other is wave ") + std::to_string(t->wave) + ", lane " +
                     std::to_string(t->lane) + ", at " + place(*t->inst),
                 w, i, static_cast<int>(lane));
          break;
        }
    }
    if (write)
      h.write = now;
    else if (h.read.inst && h.read.wave != w.index)
      h.otherRead = h.read, h.read = now;
    else
      h.read = now;
  }

  void checkSync(Wave &w, const Inst &i) {
    const bool isBarrier = i.op && (i.op->name == "s_barrier" || i.op->name == "s_barrier_wait");
    if (isBarrier && w.exec() != startMask[w.index])
      report(kCheckSync, "barrier in divergent code: lanes that started the wave are off", w, i,
             std::countr_zero(startMask[w.index] & ~w.exec()));
  }

  /// Follows undefined lanes of vector registers through arithmetic; reports them where they become
  /// an address or are stored.
  void checkInit(Wave &w, const Inst &i) {
    if (!i.op)
      return;
    auto &u = undefined[w.index];
    const uint64_t exec = w.exec();
    auto undefinedOf = [&](const Operand &o, unsigned rows) {
      uint64_t m = 0;
      for (unsigned r = 0; o.isVgpr() && r < rows; ++r)
        m |= u[o.index + r];
      return m & exec;
    };
    auto define = [&](unsigned row, unsigned rows, uint64_t lanes, uint64_t bad) {
      for (unsigned r = row; r < row + rows && r < kFileRows; ++r)
        u[r] = (u[r] & ~lanes) | (bad & lanes);
    };
    auto use = [&](const Operand &o, unsigned rows, const char *as) {
      if (uint64_t m = undefinedOf(o, rows))
        report(kCheckInit, std::string("a register that nobody has written is used as ") + as, w, i,
               std::countr_zero(m));
    };
    switch (i.enc) {
    case Enc::Vop1:
    case Enc::Vop2:
    case Enc::Vop3:
    case Enc::Vop3p:
    case Enc::Vopd: {
      unsigned rows = std::max(1u, dwordsOf(i.op->dst));
      uint64_t bad = 0;
      const uint64_t badLow =
          undefinedOf(i.src[0], 1) | undefinedOf(i.src[1], 1) | undefinedOf(i.src[2], 1);
      if (i.op->dst == Type::Mask || i.op->cls == Class::Mfma || i.permute != Permute::None) {
        bad = 0;
      } else if (i.op->src[2] == Type::Mask && i.op->name == "v_cndmask_b32") {
        uint64_t m = w.mask(i.src[2].index);
        bad = (undefinedOf(i.src[0], 1) & ~m) | (undefinedOf(i.src[1], 1) & m);
      } else {
        for (unsigned k = 0; k < 3; ++k)
          bad |= undefinedOf(i.src[k], std::max(1u, dwordsOf(i.op->src[k])));
      }
      if (i.dst.isVgpr())
        define(i.dst.index, rows,
               i.op->cls == Class::Mfma || i.op->name == "v_writelane_b32" ? ~uint64_t(0) : exec,
               bad);
      // The low half of a wide multiply-add is made of low halves alone; compilers leave the high
      // half of the addend undefined where they want no more of the result.
      if (i.dst.isVgpr() && (i.op->name == "v_mad_u64_u32" || i.op->name == "v_mad_i64_i32"))
        define(i.dst.index, 1, exec, badLow);
      break;
    }
    case Enc::Ds:
    case Enc::Flat:
    case Enc::Global:
    case Enc::Scratch:
    case Enc::Mubuf: {
      const bool buffer = i.enc == Enc::Mubuf;
      bool addressed = !buffer || i.flags & (kOffen | kIdxen);
      if (i.enc == Enc::Scratch)
        addressed = i.flags & kVaddr;
      unsigned addressRows = (i.enc == Enc::Flat || i.enc == Enc::Global) && !(i.flags & kSaddr) ? 2
                             : buffer && (i.flags & kOffen) && (i.flags & kIdxen) ? 2
                                                                                  : 1;
      if (addressed && i.op->name != "ds_nop")
        use(i.src[0], addressRows, "an address");
      const bool store = i.op->name.find("_store_") != std::string_view::npos ||
                         i.op->name.find("_write") != std::string_view::npos;
      unsigned rows = std::max(1u, (i.op->info & kBytesMask) / 4);
      if (store && i.op->info)
        use(i.src[1], rows, "stored data");
      if (!store)
        define(i.dst.index, 4, exec, 0);
      break;
    }
    default:
      break;
    }
  }

  unsigned checks;
  const Program &program;
  std::string kernel;
  std::vector<Finding> findings;
  std::set<std::pair<Check, const Inst *>> reported;
  std::vector<History> lds;
  std::unordered_map<uint64_t, History> global;
  std::vector<uint64_t> startMask;
  std::vector<std::vector<uint64_t>> undefined; ///< [wave][row]: lanes without a value
  uint64_t groupNumber = 0;
  uint32_t epoch = 1;
  bool usedGlobalAtomic = false;
};
} // namespace

std::unique_ptr<Observer> makeChecks(unsigned checks, const Program &program,
                                     const std::string &kernel) {
  return std::make_unique<Checks>(checks, program, kernel);
}

} // namespace flyemu
