// The clock of the cycle estimate: how long instructions issue, how long a wave waits for memory,
// and for the other waves of its workgroup that use the same SIMD, LDS or path to memory. A model
// of a few figures, no simulation: it knows no other workgroups, of pipeline hazards those of matrix
// instructions alone, and of caches what the workgroup itself touched before.
#pragma once

#include "emulator/core/counters.h"
#include "emulator/core/group.h"
#include "emulator/core/program.h"
#include "emulator/core/timeline_event.h"
#include "emulator/isa/op.h"
#include "emulator/observe/memory_times.h"
#include "emulator/observe/waits/wait_counts.h"
#include "emulator/observe/waits/wait_rule.h"

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace flyemu {

/// How matrix instructions leave their wave to its other instructions.
enum class MatrixIssue : uint8_t {
  /// They wait for their unit in a queue, and the wave goes on (CDNA). Vector instructions wait until the
  /// operands are read (matrix::CoExecution), and who reads or writes the sums until they are there.
  Queued,
  /// They are among the vector instructions, which are served in order, and some may be under way. The wave goes
  /// on with instructions of other kinds (RDNA).
  InOrder,
};

/// The model's figures that belong to a family of targets.
struct TimingFigures {
  unsigned vector;        ///< issue cycles of a full-rate vector instruction (wave / SIMD width)
  unsigned quarter;       ///< of transcendental functions and others of a quarter of the rate
  unsigned product;       ///< of 32-bit integer products
  unsigned conversion;    ///< between f32 and 32-bit integers, f16 or fp8
  unsigned wide;          ///< of double-precision adds, products and multiply-adds
  unsigned wideQuarter;   ///< of double-precision reciprocals and roots
  unsigned scalar;        ///< of everything else, and of a matrix instruction
  unsigned memoryLatency; ///< from a global access to its data, where no cache has it
  unsigned l2Latency;     ///< the same, from L2
  unsigned cacheLatency;  ///< the same, from the vector cache of the compute unit
  unsigned scalarLatency; ///< from a scalar load to its data
  unsigned ldsLatency;    ///< from an LDS access to its data, before its own cycles
  unsigned
      resultLatency; ///< from the last issue cycle of a vector instruction to one that reads it
  unsigned
      resultToMemory;  ///< the same, to an access to memory or LDS, or a matrix instruction of RDNA
  unsigned barrier;    ///< from the last wave's arrival at a barrier to the next instruction
  unsigned lineCycles; ///< that one cache line keeps the vector memory path busy
  MatrixIssue matrixIssue;
  bool oneVectorUnit; ///< vector and matrix instructions of all waves of a SIMD wait for each other
};
/// The figures of a target, whose loads from memory take so many cycles.
TimingFigures timingFigures(const Machine &target, unsigned lanes, unsigned latency);
/// The cycles for which a vector instruction that is no matrix instruction issues.
unsigned vectorCycles(const OpDef &op, const TimingFigures &f);

/// What gives a load data that the workgroup has loaded before.
enum class ServedBy : uint8_t { L2, VectorCache };

/// How an instruction moves its wave's clock.
enum class Pace : uint8_t { Unknown, Vector, Matrix, Scalar, Load, Store, Lds, ScalarLoad, Wait };

/// Something that serves one instruction at a time. Waves come to memory and LDS in the order of their clocks, as far as
/// the runner keeps it, and to the units of a SIMD in the order in which the emulator runs them, so that a later one
/// may get a gap that others have left before.
class ServingUnit {
public:
  /// Takes the unit for so many cycles, from `from` or as soon after it as it is free for as long.
  /// Returns when that is.
  uint64_t reserve(uint64_t from, uint64_t cycles);
  /// Nobody will ask for a time before `time` any more.
  void forgetBefore(uint64_t time);

private:
  using Busy = std::map<uint64_t, uint64_t>;
  Busy busy_; ///< the ends by the beginnings; no two touch each other
  std::optional<Busy::iterator>
      last_; ///< what was reserved last, near which the next is looked for
};

/// The clocks of the waves of one workgroup at a time; sums into a Timing.
class GroupClock {
public:
  /// Loads from memory take so many cycles; 0: as many as on the target's default product.
  GroupClock(const Program &program, unsigned latency);

  /// What the waves do is added to `timeline` unless it is null.
  void beginGroup(Group &group, std::vector<TimelineEvent> *timeline = nullptr);
  /// An instruction issues.
  void issue(const Wave &wave, const Inst &inst);
  /// When the data of an access to global memory that issues now is there, if no cache has it.
  uint64_t fetched(const Wave &wave) const { return now(wave) + figures_.memoryLatency; }
  /// The lanes of the instruction just issued touched that many cache lines, and took that many
  /// cycles of LDS. What it loads is in that cache when it is ready.
  void touched(const Wave &wave, uint64_t lines, uint64_t ldsCycles, uint64_t ready, ServedBy by);
  /// The instruction just issued has read this line alone. A wave that reads one line by one instruction
  /// again and again, and does nothing else, waits for another workgroup. How often it looks is decided by
  /// when the emulator runs that one, so its clock goes back to the first look.
  void looked(const Wave &wave, uint64_t line);
  void barrier();
  /// Returns the workgroup's time alone.
  uint64_t endGroup();
  /// The clock of a wave.
  uint64_t now(const Wave &wave) const { return clocks_[wave.index].now; }

  const Timing &timing() const { return timing_; }

private:
  struct Cost {
    Pace pace = Pace::Unknown;
    bool waitsForProduct = false; ///< Trait::WaitsForProduct
    bool readsResults = false;    ///< it may wait for results of vector instructions
    bool isInL2 = false;          ///< of a store: it has ended when L2 has its data
    bool isHalf8 = false;         ///< what Timing::matrixHalf8 counts
    bool meetsSums =
        false;             ///< it reads or writes sums of matrix instructions (MatrixIssue::Queued)
    uint16_t cycles = 0;   ///< for which it has its unit
    uint16_t operands = 0; ///< of matrix instructions: matrix::CoExecution
    uint16_t vector = 0;   ///< the same
    uint16_t packed = 0;   ///< the same
    uint16_t sums = 0;     ///< the same, but for the unit's cycles
    uint32_t registers = 0; ///< its place in `registers_`; of a wait, in `waits_`
  };
  /// The vector registers of an instruction that may wait for a result or give one.
  struct Registers {
    std::vector<RegisterRange> reads, writes;
    std::optional<RegisterRange>
        sums; ///< that a matrix instruction adds to; they are not in `reads`
  };
  /// What an instruction gives that may not be there yet.
  struct Result {
    uint64_t there = 0;     ///< for vector and matrix instructions
    uint64_t toMemory = 0;  ///< for accesses to memory or LDS, and matrix instructions of RDNA
    uint32_t registers = 0; ///< its place in `registers_`
  };
  /// With so many matrix instructions under way a wave issues nothing (MatrixIssue::InOrder; the trace of gfx1201
  /// in tests/emulator/traces).
  static constexpr unsigned kMatrixUnderWay = 8;
  /// The times at which the outstanding operations of a counter end, oldest first.
  using Outstanding = std::deque<uint64_t>;
  struct Clock {
    uint64_t now = 0;
    Outstanding vector, lds, store; ///< store: of targets with a counter of its own for stores
    Outstanding async;           ///< copies between memory and LDS that have a counter of their own
    Outstanding tensor;          ///< those of the tensor data mover
    Outstanding *last = nullptr; ///< what the instruction just issued was added to
    size_t lastEvent = 0;        ///< its place in the timeline, while `last` is not null
    uint32_t inst = 0;           ///< the last instruction
    Pace pace = Pace::Unknown;   ///< its own
    std::array<Result, 4> results; ///< the last ones, in a ring
    unsigned nextResult = 0;
    /// Its matrix instructions.
    struct {
      uint64_t begins = 0, leaves = 0; ///< when the last one gets the unit and leaves it
      uint64_t operands = 0;           ///< when its operands are read (MatrixIssue::Queued)
      uint64_t vector = 0, packed = 0; ///< when vector instructions may issue after it
      uint64_t sums = 0;               ///< when all sums are there (MatrixIssue::Queued)
      std::array<Result, 4> results;   ///< the last ones, in a ring (MatrixIssue::Queued)
      std::array<uint64_t, kMatrixUnderWay> ends = {}; ///< the same (MatrixIssue::InOrder)
      unsigned next = 0;                               ///< of either
    } matrix;
    /// A read of one line since which the wave has done nothing but to compute addresses and branch.
    struct {
      bool isThere = false, again = false; ///< again: the instruction just issued is another look
      uint32_t inst = 0;
      uint64_t line = 0, now = 0;
    } look;
  };

  /// The units of a SIMD. Waves are dealt to SIMDs in turns.
  struct Simd {
    ServingUnit vector, matrix;
  };
  static constexpr unsigned kSimds = 4; ///< of a compute unit; RDNA: of a work-group processor

  const Cost &costOf(const Wave &wave, const Inst &inst);
  /// Fills the cost of an instruction that may wait for results or give one.
  void chooseRegisters(Cost &cost, const Inst &inst);
  /// Whether a SIMD has several waves of the workgroup.
  bool isShared() const { return clocks_.size() > kSimds; }
  void issueVector(Clock &clock, Simd &simd, const Cost &cost);
  void issueMatrix(Clock &clock, Simd &simd, const Cost &cost, uint64_t operands);
  /// Lets the wave wait for a unit.
  void waitUntil(Clock &clock, uint64_t time);
  /// The wave gets a result, whose instruction had its last issue cycles from then on.
  void give(Clock &clock, uint64_t lastCycles, const Cost &cost);
  /// A matrix instruction that just issued gets its unit then (MatrixIssue::Queued).
  void queueMatrix(Clock &clock, uint64_t begins, const Cost &cost);
  void wait(Clock &clock, const WaitCounts &left);
  /// When the results of vector instructions are there that an instruction reads.
  uint64_t resultsAre(const Clock &clock, const Cost &cost) const;
  /// Lets the wave wait for sums of matrix instructions that an instruction reads or writes.
  void waitForSums(Clock &clock, const Cost &cost) const;
  bool overlaps(const Result &result, const std::vector<RegisterRange> &ranges) const;
  /// All waves go on when the last one is there, and so many cycles later.
  void meet(unsigned later);

  void note(const Clock &clock, Activity activity, uint64_t start, uint64_t end);

  const Program &program_;
  const unsigned latency_; ///< of memory
  std::vector<TimelineEvent> *timeline_ = nullptr;
  uint64_t group_ = 0; ///< its number
  std::vector<Cost> costs_;
  std::deque<Registers> registers_{1}; ///< the first one is of instructions without any
  std::vector<WaitCounts> waits_;
  std::vector<bool> sums_; ///< the registers that matrix instructions write, where these are queued
  TimingFigures figures_ = {};
  std::array<Simd, kSimds> simds_;
  ServingUnit lds_, memoryPath_;
  std::vector<Clock> clocks_;
  Timing timing_;
};

} // namespace flyemu
