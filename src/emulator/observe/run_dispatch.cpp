#include "emulator/observe/run_dispatch.h"

#include "emulator/core/observer.h"
#include "emulator/core/program.h"
#include "emulator/observe/checks.h"
#include "emulator/observe/counting.h"

#include <optional>

namespace flyemu {

namespace {
/// Two observers, one after the other.
class Both : public Observer {
public:
  Both(std::unique_ptr<Observer> x, std::unique_ptr<Observer> y)
      : a_(std::move(x)), b_(std::move(y)) {}
  void beginGroup(Group &g) override { a_->beginGroup(g), b_->beginGroup(g); }
  void before(Wave &w, const Inst &i) override { a_->before(w, i), b_->before(w, i); }
  void access(Wave &w, const Inst &i, unsigned lane, Space s, uint64_t at, unsigned bytes,
              bool write, bool atomic) override {
    a_->access(w, i, lane, s, at, bytes, write, atomic);
    b_->access(w, i, lane, s, at, bytes, write, atomic);
  }
  void accessLanes(Wave &w, const Inst &i, uint64_t lanes, Space s, const uint64_t *at,
                   uint64_t origin, unsigned bytes, bool write, bool atomic) override {
    a_->accessLanes(w, i, lanes, s, at, origin, bytes, write, atomic);
    b_->accessLanes(w, i, lanes, s, at, origin, bytes, write, atomic);
  }
  void accessesDone(Wave &w, const Inst &i) override {
    a_->accessesDone(w, i), b_->accessesDone(w, i);
  }
  void paused(Wave &w) override { a_->paused(w), b_->paused(w); }
  void barrier(Group &g) override { a_->barrier(g), b_->barrier(g); }
  void passedGridBarrier(Wave &w) override { a_->passedGridBarrier(w), b_->passedGridBarrier(w); }
  void passedNamedBarrier(Group &g) override {
    a_->passedNamedBarrier(g), b_->passedNamedBarrier(g);
  }
  void endGroup(Group &g) override { a_->endGroup(g), b_->endGroup(g); }
  void finish(DispatchResult &r) override { a_->finish(r), b_->finish(r); }

private:
  std::unique_ptr<Observer> a_, b_;
};

/// The observers that the options of a launch ask for.
class Asked : public Watch {
public:
  Asked(const Dispatch &dispatch, const MemoryMap &memory, const Options &o)
      : options_(o), program_(*dispatch.kernel->program), memory_(memory) {
    if (options_.checks || options_.landLate)
      checks_.emplace(options_, *dispatch.kernel, memory);
    if (options_.lastLevelLatency < options_.memoryLatency && options_.lastLevelLatency &&
        dispatch.residentGroups)
      lines_.emplace(dispatch.residentGroups, options_.lastLevelBytes);
  }

  std::unique_ptr<Observer> observer() override {
    std::unique_ptr<Observer> counting, checking;
    if (options_.counters || options_.trace || options_.timelineGroups || program_.readsClock)
      counting = makeCounting(options_, program_, memory_, lines_ ? &*lines_ : nullptr);
    if (checks_)
      checking = makeChecks(*checks_);
    if (counting && checking)
      return std::make_unique<Both>(std::move(counting), std::move(checking));
    return counting ? std::move(counting) : std::move(checking);
  }

  std::vector<Finding> findings() {
    return checks_ ? checks_->findings.take() : std::vector<Finding>();
  }

private:
  const Options &options_;
  const Program &program_;
  const MemoryMap &memory_;
  std::optional<CheckState> checks_; ///< shared by the launch's threads
  std::optional<LaunchLines> lines_; ///< the same
};
} // namespace

DispatchResult runDispatch(const Dispatch &dispatch, const MemoryMap &memory,
                           const Options &options) {
  // The clock that a kernel reads is the estimate of its cycles.
  if (!options.checks && !options.landLate && !options.counters && !options.trace &&
      !options.timelineGroups && !dispatch.kernel->program->readsClock)
    return runLaunch(dispatch, memory, options, nullptr);
  Asked watch(dispatch, memory, options);
  DispatchResult result = runLaunch(dispatch, memory, options, &watch);
  result.findings = watch.findings();
  return result;
}

} // namespace flyemu
