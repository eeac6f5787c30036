// Hosts that handle signals themselves while the compiler runs and crashes.
#include "jit/compile/compiler.h"
#include "jit/compile/guard/guard.h"
#include "jit/compile/module/context_pool.h"
#include "module_text.h"
#include "support/sanitizers.h"
#include "time_limit.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdint>
#include <functional>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace flydsl;
using namespace flydsl::jit;

namespace {

void compileOnce() {
  ContextLease context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(test::scaleKernel(), context.get());
  CompileOptions options;
  options.target = Target::parse("gfx942");
  if (compileModule(*module, options)->kernel().name != "scale")
    abort();
}

GuardOutcome crash() {
  return runGuarded([](Guard &) { *static_cast<volatile int *>(nullptr) = 1; }, 60);
}

/// Puts the actions of a signal back.
class SavedAction {
public:
  explicit SavedAction(int signal) : signal_(signal) { sigaction(signal, nullptr, &action_); }
  ~SavedAction() { sigaction(signal_, &action_, nullptr); }

private:
  int signal_;
  struct sigaction action_;
};

void install(int signal, void (*handler)(int, siginfo_t *, void *), int flags = 0) {
  struct sigaction action{};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  REQUIRE(sigaction(signal, &action, nullptr) == 0);
}

// A host with guard pages: a fault on one makes it readable, and the instruction goes on.
struct GuardPages {
  static constexpr std::size_t count = 4000;
  static inline std::uintptr_t begin = 0;
  static inline std::size_t pageBytes = 0;
  static inline std::atomic<unsigned> seen[count];
  static inline std::atomic<unsigned> wrong = 0;

  GuardPages() {
    pageBytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void *pages = mmap(nullptr, count * pageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    begin = reinterpret_cast<std::uintptr_t>(pages);
    for (auto &n : seen)
      n = 0;
    wrong = 0;
  }
  ~GuardPages() { munmap(reinterpret_cast<void *>(begin), count * pageBytes); }

  static void onFault(int, siginfo_t *info, void *) {
    const std::size_t page = (reinterpret_cast<std::uintptr_t>(info->si_addr) - begin) / pageBytes;
    if (info->si_code != SEGV_ACCERR || page >= count) {
      if (++wrong > 1000)
        _exit(99);
      return;
    }
    ++seen[page];
    mprotect(reinterpret_cast<void *>(begin + page * pageBytes), pageBytes, PROT_READ);
  }
  static void touch(std::size_t page) {
    (void)*reinterpret_cast<volatile char *>(begin + page * pageBytes);
  }
};

/// How a forked child ends that runs `work`: the signal, or 0 - code for an exit. The parent's
/// handlers are the child's too; the compiler is not used there.
int endOf(const std::function<void()> &work) {
  pid_t child = fork();
  if (child == 0) {
    flydsl::testing::endAfter(60);
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

std::atomic<int> calls = 0;
void count(int, siginfo_t *, void *) { ++calls; }

} // namespace

TEST_CASE("Guard pages of a host work while others compile and crash") {
  SavedAction saved(SIGSEGV);
  GuardPages pages;
  install(SIGSEGV, GuardPages::onFault);
  std::atomic<bool> stop = false;
  std::thread compiler([&] {
    for (int i = 0; i < 6; ++i) {
      compileOnce();
      if (crash().kind != GuardOutcome::crashed)
        abort();
    }
    stop = true;
  });
  std::atomic<std::size_t> next = 0;
  auto touchAll = [&] {
    for (std::size_t page; (page = next++) < GuardPages::count;) {
      GuardPages::touch(page);
      if (!stop && page % 8 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  };
  std::thread first(touchAll), second(touchAll);
  first.join();
  second.join();
  compiler.join();
  CHECK(GuardPages::wrong == 0);
  std::size_t once = 0;
  for (auto &n : GuardPages::seen)
    once += n == 1;
  CHECK(once == GuardPages::count);
}

TEST_CASE("A handler that the host installs during a compile stays, and the next crash is caught") {
  SavedAction saved(SIGSEGV);
  for (int i = 0; i < 5; ++i) {
    std::atomic<bool> started = false, go = false;
    std::thread compile([&] {
      runGuarded(
          [&](Guard &) {
            started = true;
            while (!go)
              std::this_thread::yield();
          },
          60);
      compileOnce();
    });
    while (!started)
      std::this_thread::yield();
    calls = 0;
    install(SIGSEGV, count);
    go = true;
    compile.join();
    raise(SIGSEGV);
    CHECK(calls == 1);
    CHECK(crash().kind == GuardOutcome::crashed);
    CHECK(calls == 1);
  }
}

TEST_CASE("A handler that the host saved and puts back brings back what was there then") {
  SavedAction saved(SIGSEGV);
  static std::atomic<int> outerCalls;
  outerCalls = 0;
  calls = 0;
  install(SIGSEGV, [](int, siginfo_t *, void *) { ++outerCalls; });
  compileOnce();
  {
    SavedAction inner(SIGSEGV);
    install(SIGSEGV, count);
    compileOnce();
    raise(SIGSEGV);
    CHECK((calls == 1 && outerCalls == 0));
  }
  compileOnce();
  raise(SIGSEGV);
  CHECK((calls == 1 && outerCalls == 1));
}

TEST_CASE("Signals do without the library's noticing what they do without the library") {
  SavedAction saved(SIGSEGV), savedAbort(SIGABRT), savedBus(SIGBUS);
  crash(); // the handlers are in place
  const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
  // The default ends the process by that very signal, whoever sends it.
  for (int signal : signals) {
    INFO(signal);
    std::signal(signal, SIG_DFL);
    crash();
    CHECK(endOf([signal] { raise(signal); }) == signal);
    CHECK(endOf([signal] {
            kill(getpid(), signal);
            pause();
          }) == signal);
  }
  CHECK(endOf([] { *static_cast<volatile int *>(nullptr) = 1; }) == SIGSEGV);
  CHECK(endOf([] { std::abort(); }) == SIGABRT);
  // What is ignored and sent is ignored; a fault is not.
  std::signal(SIGSEGV, SIG_IGN);
  crash();
  CHECK(endOf([] { kill(getpid(), SIGSEGV); }) == 0);
  CHECK(endOf([] { *static_cast<volatile int *>(nullptr) = 1; }) == SIGSEGV);
  // A handler for one signal gets one.
  install(SIGSEGV, count, static_cast<int>(SA_RESETHAND));
  crash();
  CHECK(endOf([] {
          calls = 0;
          raise(SIGSEGV);
          if (calls != 1)
            _exit(1);
          raise(SIGSEGV);
        }) == SIGSEGV);
  // What is sent to the process while the compiler works is the host's, whichever thread gets it.
  install(SIGSEGV, count);
  calls = 0;
  runGuarded(
      [](Guard &) {
        kill(getpid(), SIGSEGV);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      },
      60);
  CHECK(calls == 1);
}

TEST_CASE("Signals of a host that uses SIGURG arrive while a compile is stopped") {
  if (support::kUnderThreadSanitizer) // it holds the signal back that would stop this compile
    return;
  SavedAction saved(SIGURG);
  calls = 0;
  install(SIGURG, count, SA_RESTART);
  constexpr int sent = 300;
  std::thread host([] {
    for (int i = 0; i < sent; ++i) {
      pthread_kill(pthread_self(), SIGURG);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  GuardOutcome outcome = runGuarded(
      [](Guard &) {
        for (volatile unsigned i = 0;;)
          i = i + 1;
      },
      1);
  host.join();
  CHECK(outcome.kind == GuardOutcome::timedOut);
  CHECK(outcome.message.empty());
  CHECK(calls == sent);
  // One that is meant for the process ends no compile, even where it reaches its thread.
  outcome = runGuarded([](Guard &) { pthread_kill(pthread_self(), SIGURG); }, 60);
  CHECK(outcome.kind == GuardOutcome::finished);
  CHECK(calls == sent + 1);
}
