// The clock of the cycle estimate: how long instructions issue, and how long a wave waits for
// memory when it has its unit for itself. A model of a few figures, no simulation: it knows no
// caches, no contention and no pipeline hazards.
#pragma once

#include "emulator/core/counters.h"
#include "emulator/core/group.h"
#include "emulator/core/program.h"
#include "emulator/core/timeline_event.h"

#include <deque>
#include <vector>

namespace flyemu {

/// The model's figures that belong to a family of targets.
struct TimingFigures {
  unsigned vector;        ///< issue cycles of a full-rate vector instruction (wave / SIMD width)
  unsigned quarter;       ///< of transcendental functions and others of a quarter of the rate
  unsigned product;       ///< of 32-bit integer products
  unsigned conversion;    ///< between f32 and 32-bit integers, f16 or fp8
  unsigned wide;          ///< of double-precision adds, products and multiply-adds
  unsigned wideQuarter;   ///< of double-precision reciprocals and roots
  unsigned scalar;        ///< of everything else
  unsigned memoryLatency; ///< from a global access to its data
  unsigned scalarLatency; ///< from a scalar load to its data
  unsigned ldsLatency;    ///< from an LDS access to its data, before its own cycles
  unsigned lineCycles;    ///< that one cache line keeps the vector memory path busy
};
TimingFigures timingFigures(const Machine &target, unsigned lanes);

/// How an instruction moves its wave's clock.
enum class Pace : uint8_t { Unknown, Vector, Matrix, Scalar, Load, Store, Lds, ScalarLoad, Wait };

/// The clocks of the waves of one workgroup at a time; sums into a Timing.
class GroupClock {
public:
  GroupClock(const Program &program) : program_(program), costs_(program.insts.size()) {}

  /// What the waves do is added to `timeline` unless it is null.
  void beginGroup(Group &group, std::vector<TimelineEvent> *timeline = nullptr);
  /// An instruction issues.
  void issue(const Wave &wave, const Inst &inst);
  /// The lanes of the instruction just issued touched that many cache lines, and took that many
  /// cycles of LDS.
  void touched(const Wave &wave, uint64_t lines, uint64_t ldsCycles);
  void barrier();
  void endGroup();

  const Timing &timing() const { return timing_; }

private:
  struct Cost {
    Pace pace = Pace::Unknown;
    uint16_t cycles = 0;
  };
  /// The times at which the outstanding operations of a counter end, oldest first.
  using Outstanding = std::deque<uint64_t>;
  struct Clock {
    uint64_t now = 0;
    Outstanding vector, lds, store; ///< store: where targets count stores apart
    Outstanding *last = nullptr;    ///< what the instruction just issued was added to
    size_t lastEvent = 0;           ///< its place in the timeline, while `last` is not null
    uint32_t inst = 0;              ///< the last instruction
  };

  const Cost &costOf(const Wave &wave, const Inst &inst);
  void wait(Clock &clock, const Inst &inst);

  void note(const Clock &clock, Activity activity, uint64_t start, uint64_t end);

  const Program &program_;
  std::vector<TimelineEvent> *timeline_ = nullptr;
  uint64_t group_ = 0; ///< its number
  std::vector<Cost> costs_;
  TimingFigures figures_ = {};
  std::vector<Clock> clocks_;
  Timing timing_;
};

} // namespace flyemu
