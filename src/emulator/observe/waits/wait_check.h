// Follows the operations that a wave's wait counters count: loads into registers
// that have not landed, and accesses to LDS that have not ended.
//
// Data that is stored is no matter here: from gfx8 on the hardware reads it before an instruction
// that overwrites its registers (LLVM's vmemWriteNeedsExpWaitcnt).
#pragma once

#include "emulator/core/group.h"
#include "emulator/core/probe.h"
#include "emulator/observe/function_ref.h"
#include "emulator/observe/lane_access.h"
#include "emulator/observe/waits/operations_under_way.h"

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace flyemu {

/// Reported are: a register that is read or overwritten while a load into it is under way; LDS that
/// is accessed while a load to it is under way, or that is loaded to while another wave may still
/// read or write it; LDS that is written while a copy from it to memory may still read it; and a
/// barrier, an atomic operation or a store of device scope while a cache is written back.
///
/// Another wave may still access LDS if no barrier stands between, or one does but the wave did not
/// wait for its access before: LDS accesses of all waves have one order (LLVM's AMDGPUUsage, memory
/// model), but vector memory is not in it.
///
/// An operation ends at the wait that its counter's order says, and the others know of it after
/// the next barrier.
///
/// If values land late, a register or LDS has kPoison from the issue of a load to its end.
class WaitCheck {
public:
  /// It is called with a description of the mistake and the lanes that have it.
  using Report = FunctionRef<void(const std::string &what, uint64_t lanes)>;
  /// Gives the text of an instruction's place.
  using Place = std::function<std::string(const Inst &)>;

  /// Not a number in f32, f64 and, in each half, f16 and bf16; no address.
  static constexpr uint32_t kPoison = 0x7fff7fff;

  WaitCheck(const Program &program, bool late, Place place);

  void beginGroup(Group &group);
  /// Whether it wants to know of accesses to LDS.
  bool followsLds() const { return followsLds_; }
  /// Before the instruction runs.
  void before(Wave &wave, const Inst &inst, const Report &report);
  /// An access inside of the workgroup's LDS, before it happens.
  void access(const Wave &wave, const Inst &inst, const LaneAccess &access, const Report &report);
  /// All waves have come to a barrier.
  void barrier();
  /// The instruction that ran last, if any, has ended.
  void settle() {
    if (running_)
      settleRunning();
  }

private:
  /// Pending writes are counted by the kind of their operation.
  enum Kind : uint8_t {
    kVector, ///< of the vector counter alone, in order
    kLds,    ///< of the LDS counter alone, in order
    kOthers, ///< in no order, or of several counters
    kKinds
  };
  struct WaveState {
    Wave *wave = nullptr;
    OperationsUnderWay operations;
    /// How many of each kind will write a register: a byte for each kind, the low half in the low
    /// dword. (No more are under way than a byte holds.)
    std::vector<uint64_t> pending;
    unsigned writeBacks = 0; ///< of caches, under way
  };
  /// A load to LDS.
  struct Load {
    const Inst *inst;
    uint32_t wave;
    bool ended = false;
    uint32_t time = 0; ///< when it has ended
  };
  /// Lanes from `first` on that access so many bytes each, one after
  /// the other from byte `from` on.
  struct LaneRun {
    unsigned first;
    uint32_t from;
    unsigned bytes;
    /// Those that access bytes of [begin, end), as bits.
    uint64_t lanes(uint32_t begin, uint32_t end) const {
      const unsigned a = (begin - from) / bytes, b = (end - 1 - from) / bytes;
      return ~uint64_t(0) >> (63 - (b - a)) << (first + a);
    }
  };
  /// An access to LDS that was under way when its wave came to a barrier.
  struct Crossed {
    uint32_t number;
    const Inst *inst;
    uint32_t wave;
    bool writes, ended;
    uint32_t time;
    std::vector<LdsBytes> lds;
  };

  /// A copy from LDS to memory, which reads LDS at any time until its wave has waited for it: no
  /// order with other accesses to LDS is known.
  struct CopyOut {
    const CountedOperation *operation; ///< null: it has ended
    const Inst *inst;
    uint32_t wave;
    uint32_t time; ///< when it has ended
    std::vector<LdsBytes> lds;
  };

  static Kind kindOf(const WaitRule &rule);
  const WaitRule &ruleOf(const Inst &inst) {
    WaitRule &rule = rules_[static_cast<size_t>(&inst - program_.insts.data())];
    if (!rule.known)
      rule = waitRule(program_, inst);
    return rule;
  }
  void settleRunning();
  void issue(WaveState &state, const Inst &inst, const WaitRule &rule);
  void checkRegisters(WaveState &state, const WaitRule &rule, const Report &report);
  void reportRegister(const WaveState &state, const RegisterRange &wanted, bool reads, Kind except,
                      const Report &report) const;
  /// Reports an instruction by which others see that the wave has written back, before it has.
  void checkWriteBack(const WaveState &state, const Report &report) const;
  void end(WaveState &state, CountedOperation &operation);
  void land(Wave &wave, const CountedOperation &operation);
  /// Calls rows(place, count) for registers in a row whose lanes a load writes wholly, and
  /// visit(place, mask) for each other register's lane, or dword of LDS, that it writes.
  template <class Rows, class Visit>
  void eachValue(Wave &wave, const CountedOperation &operation, Rows rows, Visit visit) const;
  std::string remedy(const WaveState &state, const CountedOperation &operation) const;
  void checkCrossed(const Wave &wave, const LaneRun &run, uint32_t from, uint32_t to,
                    const Report &report) const;
  /// Reports bytes that are written while a copy may still read them.
  void checkCopiesOut(const Wave &wave, const char *what, const LaneRun &run, uint32_t from,
                      uint32_t to, const Report &report) const;
  static std::string useText(uint32_t byte, const char *what);
  /// Reports what the load of a number makes of an access to its bytes, if it is a mistake.
  void checkLoad(const Wave &wave, uint32_t number, bool loads, uint32_t byte, const char *what,
                 uint64_t lanes, const Report &report) const;
  /// Notes that lanes read or write bytes, or that a load to them is issued.
  void noteUse(const Wave &wave, const Inst &inst, bool write, const LaneRun &run, uint32_t from,
               uint32_t to, const Report &report);
  void noteLoad(const Wave &wave, const LaneRun &run, uint32_t from, uint32_t to,
                const Report &report);
  const CountedOperation *operationOf(uint32_t load) const;

  const Program &program_;
  const bool late_;
  const Place place_;
  std::array<unsigned, kWaitCounters> most_ = {}; ///< that a counter counts to, by WaitCounter
  bool followsLds_ = false;     ///< the program has loads to LDS, or copies from it to memory
  std::vector<WaitRule> rules_; ///< by instruction
  std::vector<WaveState> waves_;
  WaveState *running_ = nullptr;     ///< its last operation has been issued, and may not have run
  CountedOperation *last_ = nullptr; ///< that operation
  std::vector<Load> loads_;          ///< by number - 1
  /// Loads up to this number have ended, and a barrier stands after the end of each.
  uint32_t settled_ = 0;
  static constexpr unsigned kWaveBits = 8;
  // Of each dword of LDS: the last load to it; the last accesses of two waves, each as the barriers
  // passed then, plus one, above the wave's bits, or 0; and the instructions of these.
  std::vector<uint32_t> lds_;
  std::array<std::vector<uint32_t>, 2> users_, usedAt_;
  std::vector<Crossed> crossed_;
  std::vector<CopyOut> copiesOut_; ///< those under way, and those that no barrier stands after
  uint32_t crossings_ = 0;
  uint32_t passed_ = 1; ///< the time: barriers that all have passed, plus one
};

} // namespace flyemu
