// The count of who is inside the compiler, and how fork() and exit() wait for it.
#include "jit/compile/guard/compiler_use.h"

#include "support/exiting.h"
#include "support/fork.h"

#include <flydsl/error.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

namespace flydsl::jit {

namespace {

/// One object, never destroyed. In a forked child it begins anew.
struct State {
  std::mutex mutex;
  std::condition_variable changed;
  unsigned uses = 0, contexts = 0;
  bool forking = false;
  bool forkedInside = false; ///< the process is a child of one that was inside the compiler
  void (*stop)() = nullptr;
};

std::atomic<State *> current{nullptr};
thread_local unsigned contextsHere = 0;

/// MLIR keeps caches that belong to a thread. They die with the thread's own objects, of which
/// exit() destroys those of its thread first.
thread_local bool cachesGone = false;

void beforeFork() {
  State &state = *current.load();
  std::unique_lock lock(state.mutex);
  state.forking = true;
  auto compilersEnded = [&] { return state.uses == 0; };
  auto tracesEnded = [&] { return state.contexts == contextsHere; };
  if (!state.changed.wait_for(lock, kForkPatienceWithTraces,
                              [&] { return compilersEnded() && tracesEnded(); }))
    state.changed.wait_for(lock, kForkPatience, compilersEnded);
  lock.release(); // held over the fork
}

void inParent() {
  State &state = *current.load();
  state.forking = false;
  state.mutex.unlock();
  state.changed.notify_all();
}

void inChild() {
  State &old = *current.load();
  auto *fresh = new State; // threads that are gone may have waited for the old one
  fresh->forkedInside = old.forkedInside || old.uses != 0;
  fresh->contexts = contextsHere;
  fresh->stop = old.stop;
  current.store(fresh);
  old.mutex.unlock();
}

void onExit();

[[gnu::constructor]] void makeState() {
  current.store(new State);
  support::atFork(support::ForkOrder::compiler, {beforeFork, inParent, inChild});
}

State &state() {
  static constinit std::atomic<bool> used{false};
  // Where the first use comes while another thread is in exit(), that thread comes here next.
  if (!used.load() && !used.exchange(true) && std::atexit(onExit) != 0)
    support::noteExit();
  return *current.load();
}

/// The end of a thread, from before MLIR's caches die, which takes MLIR's locks, until after.
struct EndBegins {
  ~EndBegins();
};
struct EndIsOver {
  ~EndIsOver();
};
thread_local bool endHasBegun = false;

EndBegins::~EndBegins() {
  State &now = state();
  std::unique_lock lock(now.mutex);
  now.changed.wait(lock, [&] { return !now.forking; });
  ++now.uses;
  endHasBegun = true;
}

EndIsOver::~EndIsOver() {
  cachesGone = true;
  if (!endHasBegun)
    return;
  State &now = state();
  std::lock_guard lock(now.mutex);
  if (now.uses)
    --now.uses;
  now.changed.notify_all();
}

void refuseIfOver(const State &state) {
  if (support::exiting() || cachesGone)
    throw CompileError("the process exits, or this thread has ended: kernels are compiled before "
                       "exit() is called or main() returns");
  if (state.forkedInside)
    throw CompileError("this process was forked while another thread of its parent compiled and "
                       "did not end within " +
                       std::to_string(kForkPatience.count()) +
                       " s: kernels can't be compiled in it; fork earlier, or execute a program");
}

/// What begins waits for a fork that is under way. The fork waits for the end of each trace, which
/// this thread may be in: then it goes on.
void waitForFork(State &state, std::unique_lock<std::mutex> &lock) {
  state.changed.wait(lock, [&] { return !state.forking || contextsHere > 0; });
}

/// LLVM's and MLIR's statics that were made before die after this, as exit() goes backwards.
void onExit() {
  support::noteExit();
  State &state = *current.load();
  const auto end = std::chrono::steady_clock::now() + kExitPatience;
  std::unique_lock lock(state.mutex);
  auto ended = [&] { return state.uses == 0 && state.contexts == contextsHere; };
  while (!ended() && std::chrono::steady_clock::now() < end) {
    if (void (*stop)() = state.stop) {
      lock.unlock();
      stop();
      lock.lock();
    }
    state.changed.wait_for(lock, std::chrono::milliseconds(5), ended);
  }
}

/// The library is loaded after LLVM, so this runs before LLVM's own statics die, whatever else
/// does.
struct AtLoad {
  AtLoad() { std::atexit(onExit); }
} atLoad;

} // namespace

void requireCompiler() { refuseIfOver(state()); }

CompilerUse::CompilerUse() {
  State &now = state();
  std::unique_lock lock(now.mutex);
  waitForFork(now, lock);
  refuseIfOver(now);
  ++now.uses;
}

void CompilerUse::end() {
  if (!counts_)
    return;
  counts_ = false;
  State &now = state();
  std::lock_guard lock(now.mutex);
  if (now.uses) // what was under way at a fork is not counted in the child
    --now.uses;
  now.changed.notify_all();
}

ContextUse::ContextUse() {
  State &now = state();
  std::unique_lock lock(now.mutex);
  waitForFork(now, lock);
  refuseIfOver(now);
  beforeMlir();
  ++now.contexts;
  ++contextsHere;
}

ContextUse::~ContextUse() {
  afterMlir();
  State &now = state();
  std::lock_guard lock(now.mutex);
  --now.contexts;
  --contextsHere;
  now.changed.notify_all();
}

// Each is made when its line is reached; what is made first dies last.
void beforeMlir() {
  static thread_local EndIsOver here;
  (void)here;
}
void afterMlir() {
  static thread_local EndBegins here;
  (void)here;
}

void noteCompilerRan() {
  // A static that is made later dies earlier, so each time counts. All are made in the first runs,
  // as a rule; the process's list of what to do at exit must not grow for ever.
  static std::atomic<unsigned> runs{0};
  const unsigned run = runs++;
  if (run < 512 || run % 64 == 0)
    std::atexit(onExit);
}

void stopWorkAtExit(void (*stop)()) {
  State &now = state();
  std::lock_guard lock(now.mutex);
  now.stop = stop;
}

} // namespace flydsl::jit
