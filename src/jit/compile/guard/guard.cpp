// The threads on which guarded work runs, and the signal handlers that save the process from it.
#include "jit/compile/guard/guard.h"

#include "jit/compile/guard/compiler_use.h"
#include "jit/compile/guard/interrupt.h"
#include "jit/compile/guard/locks_held.h"
#include "jit/compile/guard/memory.h"
#include "jit/compile/guard/recovery.h"
#include "jit/compile/guard/shared_signal.h"
#include "support/exiting.h"

#include <flydsl/error.h>

#include "llvm/Support/ErrorHandling.h"

#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <pthread.h>
#include <span>
#include <unistd.h>
#include <vector>

namespace flydsl::jit {

namespace {

constexpr std::size_t kStackBytes = std::size_t(256)
                                    << 20; // reserved, not touched, until something recurses

/// Signals that end the work they hit; all are below 128.
constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
/// LLD keeps what it allocates in a link with the thread, until the thread ends: 2 KB for a small
/// kernel (lld/Common/Memory.h, `makeThreadLocal`). So a thread ends after this many jobs.
constexpr int kMostJobs = 64;

constexpr int kTimedOutCode = 0x7e17;
constexpr int kFatalCode = 0x7efa;

struct Job {
  std::function<void(Guard &)> work;
  Guard guard;
  GuardOutcome outcome;
  bool done = false;
  std::optional<pthread_t> thread; ///< that runs it; it lives at least until `done`
  std::mutex mutex;
  std::condition_variable finished;
  CompilerUse use; ///< ends with the work, or when it is abandoned

  Job(std::function<void(Guard &)> work, Guard::Clock::time_point deadline)
      : work(std::move(work)), guard(deadline) {}
};

/// The text of a fatal error of the work that runs on this thread; null outside of guarded work.
thread_local std::string *fatalMessage = nullptr;

void onFatalError(void *, const char *reason, bool) {
  Recovery *recovery = Recovery::current();
  if (!fatalMessage || !recovery)
    return; // not ours: LLVM goes on as if there were no handler
  *fatalMessage = reason ? reason : "unknown";
  recovery->leave(kFatalCode);
}

/// Ours is what the guarded work of this very thread did: a fault, or abort(), which sends the
/// signal to its own thread.
bool claimFault(int signal, siginfo_t *info, void *) {
  Recovery *recovery = Recovery::current();
  if (!recovery)
    return false;
  if (!isFault(signal, info) && (info->si_code != SI_TKILL || info->si_pid != getpid()))
    return false;
  recovery->leave(signal);
}

void watchFaults() {
  static const bool once = [] {
    llvm::install_fatal_error_handler(onFatalError);
    letAllocationsThrow();
    return true;
  }();
  (void)once;
  for (int signal : kFaults)
    claimSignal(signal, claimFault);
}

/// Calls `beforeDone` when the work is over and no one knows yet, with false if the thread should not be
/// used again. It throws nothing: memory may be what is missing.
template <class F> void runJob(Job &job, const F &beforeDone) noexcept {
  beforeMlir();
  {
    std::lock_guard lock(job.mutex);
    job.thread = pthread_self();
  }
  std::string fatal;
  fatalMessage = &fatal;
  GuardOutcome outcome;
  Recovery recovery;
  bool survived = recovery.run([&] {
    try {
      InterruptTarget target(kTimedOutCode);
      job.work(job.guard);
    } catch (...) {
      outcome.kind = GuardOutcome::threw;
      outcome.error = std::current_exception();
    }
  });
  fatalMessage = nullptr;
  afterMlir();
  noteCompilerRan();
  if ((!survived || outcome.kind == GuardOutcome::threw) && locksHeld() > 0)
    loseCompiler();
  if (!survived) {
    const int code = recovery.code();
    outcome.kind = code == kTimedOutCode ? GuardOutcome::timedOut
                   : code == kFatalCode  ? GuardOutcome::fatal
                                         : GuardOutcome::crashed;
    try {
      if (outcome.kind == GuardOutcome::fatal)
        outcome.message = std::move(fatal);
      else if (outcome.kind == GuardOutcome::crashed)
        outcome.message = sigdescr_np(code);
    } catch (const std::bad_alloc &) { // the kind says what is needed
    }
  }
  beforeDone(survived);
  {
    std::lock_guard lock(job.mutex);
    job.outcome = std::move(outcome);
    job.done = true;
    job.use.end();
    job.finished.notify_all();
  }
}

/// Threads that wait for jobs. A job never waits in a queue: there are as many threads as jobs, and
/// as many are kept for the next ones as the machine has cores.
class Workers {
public:
  Workers() : keep_(std::max(2L, sysconf(_SC_NPROCESSORS_ONLN))) {}

  void submit(std::shared_ptr<Job> job) {
    bool start;
    {
      std::lock_guard lock(mutex_);
      std::erase_if(jobs_, [](const std::weak_ptr<Job> &weak) { return weak.expired(); });
      jobs_.push_back(job);
      queue_.push_back(job);
      start = idle_ < queue_.size();
      wake_.notify_one();
    }
    if (const int error = start ? startThread() : 0; error && withdraw(job))
      throw CompileError(std::string("no thread can be started to compile on: ") +
                         std::strerror(error) +
                         (error == EAGAIN || error == ENOMEM
                              ? "; there is not enough memory, or a limit is reached"
                              : ""));
  }
  /// Asks every job that may be interrupted to end now.
  void interruptAll() {
    std::vector<std::shared_ptr<Job>> jobs;
    {
      std::lock_guard lock(mutex_);
      for (const std::weak_ptr<Job> &weak : jobs_)
        if (std::shared_ptr<Job> job = weak.lock())
          jobs.push_back(std::move(job));
    }
    for (const std::shared_ptr<Job> &job : jobs) {
      std::lock_guard lock(job->mutex);
      if (!job->done && job->thread && job->guard.interruptible())
        interrupt(*job->thread);
    }
  }

private:
  /// Takes a job back; false where a thread has begun with it.
  bool withdraw(const std::shared_ptr<Job> &job) {
    std::lock_guard lock(mutex_);
    return std::erase(queue_, job) != 0;
  }

  /// What a thread is given: all that it needs before it can report an error.
  struct Start {
    Workers &workers;
    std::array<char, 64 << 10> alternateStack; ///< for signal handlers
  };

  /// 0, or the error.
  int startThread() {
    std::unique_ptr<Start> start(new (std::nothrow) Start{*this, {}});
    if (!start)
      return ENOMEM;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    int error = pthread_create(
        &thread, &attributes,
        [](void *given) -> void * {
          const std::unique_ptr<Start> start(static_cast<Start *>(given));
          start->workers.loop(start->alternateStack);
          return nullptr;
        },
        start.get());
    pthread_attr_destroy(&attributes);
    if (error == 0)
      (void)start.release();
    return error;
  }

  void loop(std::span<char> alternate) {
    stack_t stack{};
    stack.ss_sp = alternate.data();
    stack.ss_size = alternate.size();
    sigaltstack(&stack, nullptr);
    blockSignalsOfTheHost();
    {
      std::lock_guard lock(mutex_);
      ++idle_;
    }
    bool goesOn = true;
    for (int jobs = 1; goesOn; ++jobs) {
      std::shared_ptr<Job> job;
      {
        std::unique_lock lock(mutex_);
        if (queue_.empty() && idle_ > keep_) {
          --idle_;
          break;
        }
        wake_.wait(lock, [&] { return !queue_.empty(); });
        --idle_;
        job = std::move(queue_.front());
        queue_.pop_front();
      }
      // Whoever waits for the job may submit the next one at once, and finds this thread idle.
      runJob(*job, [&](bool survived) {
        goesOn = survived && jobs < kMostJobs;
        if (goesOn) {
          std::lock_guard lock(mutex_);
          ++idle_;
        }
      });
    }
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, nullptr);
  }

  /// The host's handlers run on the host's threads. Profilers sample these too.
  static void blockSignalsOfTheHost() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (int signal : kFaults)
      sigdelset(&blocked, signal);
    for (int signal : {interruptSignal(), SIGPROF, SIGVTALRM})
      sigdelset(&blocked, signal);
    pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
  }

  const std::size_t keep_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Job>> queue_;
  std::vector<std::weak_ptr<Job>> jobs_; ///< that run or wait, and some that are over
  std::size_t idle_ = 0;
};

/// Never destroyed: at exit work may go on.
Workers &workers() {
  static Workers &made = *[] {
    auto *all = new Workers;
    stopWorkAtExit([] { workers().interruptAll(); });
    return all;
  }();
  return made;
}

} // namespace

void Guard::checkDeadline() const {
  if (Clock::now() < deadline_)
    return;
  if (Recovery *recovery = Recovery::current())
    recovery->leave(kTimedOutCode);
}

/// Interrupts the job until it is done, for a while; the lock is the job's. The work is left
/// without unwinding, so it is not done where the work says that it holds something.
static bool stop(Job &job, std::unique_lock<std::mutex> &lock) {
  constexpr std::chrono::milliseconds pause{5}, patience{2000};
  const auto end = Guard::Clock::now() + patience;
  while (!job.done && Guard::Clock::now() < end) {
    if (job.thread && job.guard.interruptible())
      interrupt(*job.thread);
    job.finished.wait_for(lock, pause, [&] { return job.done; });
  }
  return job.done;
}

bool GuardOutcome::ranOutOfMemory() const {
  if (kind != threw)
    return false;
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc &) {
    return true;
  } catch (...) {
    return false;
  }
}

std::string describe(const GuardOutcome &outcome, const std::string &doing,
                     unsigned timeoutSeconds) {
  switch (outcome.kind) {
  case GuardOutcome::finished:
    return doing + " failed";
  case GuardOutcome::threw:
    try {
      std::rethrow_exception(outcome.error);
    } catch (const std::bad_alloc &) {
      return doing + " failed: there is not enough memory";
    } catch (const std::exception &error) {
      return doing + " failed: " + error.what();
    }
  case GuardOutcome::fatal:
    return "LLVM gave up while " + doing + ": " + outcome.message;
  case GuardOutcome::crashed:
    return "the compiler crashed while " + doing + ": " + outcome.message;
  case GuardOutcome::timedOut:
    return doing + " took longer than " + std::to_string(timeoutSeconds) + " s and was given up" +
           (outcome.message.empty() ? "" : "; " + outcome.message);
  case GuardOutcome::exiting:
    return doing + " was given up: the process exits";
  }
  return {};
}

static GuardOutcome outcomeOf(const Job &job) {
  GuardOutcome outcome = job.outcome;
  if (outcome.kind == GuardOutcome::timedOut && support::exiting())
    outcome.kind = GuardOutcome::exiting;
  return outcome;
}

GuardOutcome runGuarded(std::function<void(Guard &)> work, unsigned timeoutSeconds) {
  watchFaults();
  auto deadline = timeoutSeconds ? Guard::Clock::now() + std::chrono::seconds(timeoutSeconds)
                                 : Guard::Clock::time_point::max();
  auto job = std::make_shared<Job>(std::move(work), deadline);
  workers().submit(job);
  std::unique_lock lock(job->mutex);
  auto isDone = [&] { return job->done; };
  if (!timeoutSeconds) {
    job->finished.wait(lock, isDone);
    return outcomeOf(*job);
  }
  while (!job->finished.wait_until(lock, deadline, isDone) && !stop(*job, lock)) {
    if (job->guard.abandonable()) {
      job->use.end();
      return {GuardOutcome::timedOut, "its thread could not be stopped and goes on", nullptr};
    }
    deadline = Guard::Clock::now() + std::chrono::milliseconds(100);
  }
  return outcomeOf(*job);
}

} // namespace flydsl::jit
