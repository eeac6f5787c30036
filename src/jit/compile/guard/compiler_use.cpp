// The count of who is inside the compiler, and how exit() waits for it.
#include "jit/compile/guard/compiler_use.h"

#include "support/exiting.h"
#include "support/process_use.h"

#include <flydsl/error.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <optional>
#include <unistd.h>

namespace flydsl::jit {

namespace {

/// One object, never destroyed.
struct State {
  std::mutex mutex;
  std::condition_variable changed;
  unsigned uses = 0, contexts = 0;
  void (*stop)() = nullptr;
  /// When the exit that goes on stops waiting: it may come here many times.
  std::optional<std::chrono::steady_clock::time_point> patienceEnds;
};

State &only() {
  static State &made = *new State;
  return made;
}
thread_local unsigned contextsHere = 0;
constinit std::atomic<bool> lost{false};

/// MLIR keeps caches that belong to a thread. They die with the thread's own objects, and
/// exit() destroys those of its thread first.
thread_local bool cachesGone = false;

constinit std::atomic<bool> compilerUsed{false};

State &state() {
  // Where the first use comes while another thread is in exit(), that thread comes here next.
  if (!compilerUsed.load() && !compilerUsed.exchange(true) && std::atexit(onExit) != 0)
    support::noteExit();
  return only();
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
  if (support::lostByFork())
    return;
  State &now = state();
  std::lock_guard lock(now.mutex);
  ++now.uses;
  endHasBegun = true;
}

EndIsOver::~EndIsOver() {
  cachesGone = true;
  if (!endHasBegun || support::lostByFork())
    return;
  State &now = state();
  std::lock_guard lock(now.mutex);
  --now.uses;
  now.changed.notify_all();
}

void refuseIfOver() {
  support::enterLibrary();
  if (support::exiting() || cachesGone)
    throw CompileError("the process exits, or this thread has ended: kernels are compiled before "
                       "exit() is called or main() returns");
  if (lost.load())
    throw CompileError("the compiler can't be used in this process any more: it crashed, or memory "
                       "ran out, while it held a lock. Kernels that are compiled can be launched; "
                       "a new process can compile");
}

} // namespace

/// LLVM's and MLIR's statics that were made before die after this, as exit() goes backwards.
void onExit() {
  support::noteExit();
  if (support::lostByFork())
    return;
  State &state = only();
  std::unique_lock lock(state.mutex);
  if (!state.patienceEnds)
    state.patienceEnds = std::chrono::steady_clock::now() + kExitPatience;
  const auto end = *state.patienceEnds;
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

namespace {

/// Statics of a shared LLVM that a compile makes are the first that exit() destroys, and the compile
/// may go on in another thread. Objects of the thread that exits die before all statics, and this is
/// one of the main thread, which is the one that exits as a rule. pthread_exit() on it, after
/// which the process goes on, does not destroy it.
struct MainThreadExits {
  ~MainThreadExits() {
    if (compilerUsed.load()) // otherwise a first compile may come in a later destructor
      onExit();
  }
};

/// The library is loaded after LLVM, so this runs before LLVM's own statics die, whatever else
/// does.
struct AtLoad {
  AtLoad() {
    std::atexit(onExit);
    if (getpid() == gettid()) {
      static thread_local MainThreadExits here;
      (void)here;
    }
  }
} atLoad;

} // namespace

void requireCompiler() {
  refuseIfOver();
  (void)state();
}

void loseCompiler() { lost.store(true); }

CompilerUse::CompilerUse() {
  support::enterLibrary();
  State &now = state();
  std::lock_guard lock(now.mutex);
  refuseIfOver();
  ++now.uses;
}

void CompilerUse::end() {
  if (!counts_ || support::lostByFork())
    return;
  counts_ = false;
  State &now = state();
  std::lock_guard lock(now.mutex);
  --now.uses;
  now.changed.notify_all();
}

ContextUse::ContextUse() {
  support::enterLibrary();
  State &now = state();
  std::lock_guard lock(now.mutex);
  refuseIfOver();
  beforeMlir();
  ++now.contexts;
  ++contextsHere;
}

ContextUse::~ContextUse() {
  afterMlir();
  if (support::lostByFork())
    return;
  State &now = state();
  std::lock_guard lock(now.mutex);
  --now.contexts;
  --contextsHere;
  now.changed.notify_all();
}

/// Whether there is memory for the note that an object of a thread must be destroyed. Where there
/// is none, the C library ends the process.
static bool canNoteDestructor() {
  void *volatile note = ::operator new(64, std::nothrow);
  const bool can = note != nullptr;
  ::operator delete(note);
  return can;
}

// Each is made when its line is reached; what is made first dies last. Without memory exit() does
// not wait for the end of this thread, until the next use.
void beforeMlir() {
  if (!canNoteDestructor())
    return;
  static thread_local EndIsOver here;
  (void)here;
}
void afterMlir() {
  if (!canNoteDestructor())
    return;
  static thread_local EndBegins here;
  (void)here;
}

void noteCompilerRan() {
  // Statics of the LLVM inside of this library wait by themselves (statics_end.cpp). This is for
  // those of a shared one: what is made later dies earlier, so each time counts. All are made in
  // the first runs, as a rule; the process's list of what to do at exit must not grow for ever.
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
