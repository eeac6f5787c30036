#include "jit/guard.h"

#include "jit/interrupt.h"

#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"

#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace flydsl::jit {

namespace {

constexpr std::size_t stackBytes = std::size_t(256)
                                   << 20; // reserved, not touched, until something recurses
constexpr int timedOutCode = 0x7e17;
constexpr int fatalCode = 0x7efa;

struct Job {
  std::function<void(Guard &)> work;
  Guard guard;
  GuardOutcome outcome;
  bool done = false;
  std::optional<pthread_t> thread; ///< that runs it; it lives at least until `done`
  std::mutex mutex;
  std::condition_variable finished;

  Job(std::function<void(Guard &)> work, Guard::Clock::time_point deadline)
      : work(std::move(work)), guard(deadline) {}
};

/// The text of a fatal error of the work that runs on this thread; null outside of guarded work.
thread_local std::string *fatalMessage = nullptr;

void onFatalError(void *, const char *reason, bool) {
  llvm::CrashRecoveryContext *recovery = llvm::CrashRecoveryContext::GetCurrent();
  if (!fatalMessage || !recovery)
    return; // not ours: LLVM goes on as if there were no handler
  *fatalMessage = reason ? reason : "unknown";
  recovery->HandleExit(fatalCode);
}

/// LLVM's crash handlers, installed while at least one job runs. They run on the alternate stack,
/// so that a stack overflow is caught as well.
class Handlers {
public:
  void enter() {
    std::lock_guard lock(mutex_);
    if (count_++ > 0)
      return;
    if (!fatalInstalled_) {
      llvm::install_fatal_error_handler(onFatalError);
      fatalInstalled_ = true;
    }
    llvm::CrashRecoveryContext::Enable();
    for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP}) {
      struct sigaction action;
      if (sigaction(signal, nullptr, &action) == 0 && !(action.sa_flags & SA_ONSTACK)) {
        action.sa_flags |= SA_ONSTACK;
        sigaction(signal, &action, nullptr);
      }
    }
  }
  void leave() {
    std::lock_guard lock(mutex_);
    if (--count_ == 0)
      llvm::CrashRecoveryContext::Disable();
  }

private:
  std::mutex mutex_;
  unsigned count_ = 0;
  bool fatalInstalled_ = false;
};

Handlers &handlers() {
  static auto *instance = new Handlers; // never destroyed: abandoned work may outlive main()
  return *instance;
}

/// False if the thread should not be used again.
bool runJob(Job &job) {
  handlers().enter();
  {
    std::lock_guard lock(job.mutex);
    job.thread = pthread_self();
  }
  std::string fatal;
  fatalMessage = &fatal;
  GuardOutcome outcome;
  llvm::CrashRecoveryContext recovery;
  bool survived = recovery.RunSafely([&] {
    try {
      InterruptTarget target(timedOutCode);
      job.work(job.guard);
    } catch (...) {
      outcome.kind = GuardOutcome::threw;
      outcome.error = std::current_exception();
    }
  });
  fatalMessage = nullptr;
  handlers().leave();
  if (!survived) {
    if (recovery.RetCode == timedOutCode) {
      outcome.kind = GuardOutcome::timedOut;
    } else if (recovery.RetCode == fatalCode) {
      outcome.kind = GuardOutcome::fatal;
      outcome.message = fatal;
    } else {
      outcome.kind = GuardOutcome::crashed;
      int signal = recovery.RetCode > 128 ? recovery.RetCode - 128 : 0;
      const char *name = signal ? sigdescr_np(signal) : nullptr;
      outcome.message = name ? name : "exit with code " + std::to_string(recovery.RetCode);
    }
  }
  {
    std::lock_guard lock(job.mutex);
    job.outcome = std::move(outcome);
    job.done = true;
    job.finished.notify_all();
  }
  return survived;
}

/// Threads that wait for jobs. A job never waits in a queue: there are as many threads as jobs, and
/// as many are kept for the next ones as the machine has cores.
class Workers {
public:
  Workers() : owner_(getpid()), keep_(std::max(2L, sysconf(_SC_NPROCESSORS_ONLN))) {}

  void submit(std::shared_ptr<Job> job) {
    bool start;
    {
      std::lock_guard lock(mutex_);
      queue_.push_back(std::move(job));
      start = idle_ < queue_.size();
      wake_.notify_one();
    }
    if (start)
      startThread();
  }
  pid_t owner() const { return owner_; }

private:
  void startThread() {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stackBytes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    int error = pthread_create(
        &thread, &attributes,
        [](void *self) -> void * {
          static_cast<Workers *>(self)->loop();
          return nullptr;
        },
        this);
    pthread_attr_destroy(&attributes);
    if (error)
      throw std::system_error(error, std::generic_category(), "starting a compile thread");
  }

  void loop() {
    std::vector<char> alternate(64 << 10);
    stack_t stack{};
    stack.ss_sp = alternate.data();
    stack.ss_size = alternate.size();
    sigaltstack(&stack, nullptr);
    allowInterrupts();
    bool usable = true;
    while (usable) {
      std::shared_ptr<Job> job;
      {
        std::unique_lock lock(mutex_);
        if (queue_.empty() && idle_ >= keep_)
          break;
        ++idle_;
        wake_.wait(lock, [&] { return !queue_.empty(); });
        --idle_;
        job = std::move(queue_.front());
        queue_.pop_front();
      }
      usable = runJob(*job);
    }
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, nullptr);
  }

  const pid_t owner_;
  const std::size_t keep_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Job>> queue_;
  std::size_t idle_ = 0;
};

/// A forked child has none of its parent's threads and starts with new ones.
Workers &workers() {
  static std::mutex mutex;
  static Workers *instance = nullptr;
  std::lock_guard lock(mutex);
  if (!instance || instance->owner() != getpid())
    instance = new Workers;
  return *instance;
}

} // namespace

void Guard::checkDeadline() const {
  if (Clock::now() < deadline_)
    return;
  if (llvm::CrashRecoveryContext *recovery = llvm::CrashRecoveryContext::GetCurrent())
    recovery->HandleExit(timedOutCode);
}

/// Interrupts the job until it is done, for a while; the lock is the job's. The work is left
/// without unwinding, so it is not done where the work says that it holds something.
static bool stop(Job &job, std::unique_lock<std::mutex> &lock) {
  constexpr std::chrono::milliseconds pause{5}, patience{2000};
  Interrupter interrupter;
  const auto end = Guard::Clock::now() + patience;
  while (!job.done && Guard::Clock::now() < end) {
    if (job.thread && job.guard.interruptible())
      interrupter.ask(*job.thread);
    job.finished.wait_for(lock, pause, [&] { return job.done; });
  }
  return job.done;
}

GuardOutcome runGuarded(std::function<void(Guard &)> work, unsigned timeoutSeconds) {
  auto deadline = timeoutSeconds ? Guard::Clock::now() + std::chrono::seconds(timeoutSeconds)
                                 : Guard::Clock::time_point::max();
  auto job = std::make_shared<Job>(std::move(work), deadline);
  workers().submit(job);
  std::unique_lock lock(job->mutex);
  auto isDone = [&] { return job->done; };
  if (!timeoutSeconds) {
    job->finished.wait(lock, isDone);
    return job->outcome;
  }
  while (!job->finished.wait_until(lock, deadline, isDone) && !stop(*job, lock)) {
    if (job->guard.abandonable())
      return {GuardOutcome::timedOut, "its thread could not be stopped and goes on", nullptr};
    deadline = Guard::Clock::now() + std::chrono::milliseconds(100);
  }
  return job->outcome;
}

} // namespace flydsl::jit
