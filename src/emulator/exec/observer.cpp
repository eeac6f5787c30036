#include "emulator/exec/observer.h"

#include "emulator/exec/checks.h"
#include "emulator/exec/counting.h"

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
} // namespace

std::unique_ptr<Observer> makeObserver(const Options &options, const Program &program,
                                       CheckState *state) {
  std::unique_ptr<Observer> counting, checks;
  if (options.counters || options.trace)
    counting = makeCounting(options, program);
  if (state)
    checks = makeChecks(*state);
  if (counting && checks)
    return std::make_unique<Both>(std::move(counting), std::move(checks));
  return counting ? std::move(counting) : std::move(checks);
}

} // namespace flyemu
