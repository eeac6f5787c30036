#include "emulator/observe/run_dispatch.h"

#include "emulator/core/observer.h"
#include "emulator/observe/checks.h"
#include "emulator/observe/counting.h"

#include <optional>

namespace flyemu {

namespace {
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
  void passedGridBarrier(Wave &w) override { a->passedGridBarrier(w), b->passedGridBarrier(w); }
  void endGroup(Group &g) override { a->endGroup(g), b->endGroup(g); }
  void finish(DispatchResult &r) override { a->finish(r), b->finish(r); }

private:
  std::unique_ptr<Observer> a, b;
};

/// The observers that the options of a launch ask for.
class Asked : public Watch {
public:
  Asked(const Dispatch &dispatch, const MemoryMap &memory, const Options &o)
      : options(o), program(*dispatch.kernel->program) {
    if (options.checks) {
      checks.emplace(options.checks, *dispatch.kernel, memory);
      checks->exchange = options.exchange;
    }
  }

  std::unique_ptr<Observer> observer() override {
    std::unique_ptr<Observer> counting, checking;
    if (options.counters || options.trace)
      counting = makeCounting(options, program);
    if (checks)
      checking = makeChecks(*checks);
    if (counting && checking)
      return std::make_unique<Both>(std::move(counting), std::move(checking));
    return counting ? std::move(counting) : std::move(checking);
  }

  std::vector<Finding> findings() {
    return checks ? checks->findings.take() : std::vector<Finding>();
  }

private:
  const Options &options;
  const Program &program;
  std::optional<CheckState> checks; ///< shared by the launch's threads
};
} // namespace

DispatchResult runDispatch(const Dispatch &dispatch, const MemoryMap &memory,
                           const Options &options) {
  if (!options.checks && !options.counters && !options.trace)
    return runLaunch(dispatch, memory, options, nullptr);
  Asked watch(dispatch, memory, options);
  DispatchResult result = runLaunch(dispatch, memory, options, &watch);
  result.findings = watch.findings();
  return result;
}

} // namespace flyemu
