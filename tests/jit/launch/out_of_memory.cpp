// Processes in which memory runs out in the middle of their first compile: the n-th allocation
// fails, alone or with all that come after it. Each process gets an error that says so, and goes
// on: its next compile succeeds, or is refused with a reason. None hangs, and none ends by a signal,
// but for the few that glibc ends itself.
//   out_of_memory PROCESSES
//   out_of_memory ALLOCATION one|all    in this process, for a debugger
#include "scale.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace fx = flydsl;

namespace {

constexpr long kNever = -1;

/// Shared with the parent, which reads how many allocations there are.
struct Allocations {
  std::atomic<long> failAt{kNever};
  std::atomic<bool> lasts{false}; ///< all that come after it fail as well
  std::atomic<long> count{0};
};
Allocations *allocations = nullptr;
bool isCounted = false; ///< in the processes that compile

/// Whether this allocation is one that fails.
bool fails() {
  if (!isCounted)
    return false;
  const long at = allocations->count++, failAt = allocations->failAt;
  if (failAt == kNever || at < failAt || (at > failAt && !allocations->lasts))
    return false;
  errno = ENOMEM;
  return true;
}

} // namespace

// The program's own functions take the place of the C library's, in the library too.
// NOLINTBEGIN(readability-identifier-naming): the C library's names
#pragma GCC visibility push(default)
extern "C" {
void *__libc_malloc(std::size_t bytes);
void *__libc_calloc(std::size_t count, std::size_t bytes);
void *__libc_realloc(void *old, std::size_t bytes);
void *__libc_memalign(std::size_t alignment, std::size_t bytes);

void *malloc(std::size_t bytes) { return fails() ? nullptr : __libc_malloc(bytes); }
void *calloc(std::size_t count, std::size_t bytes) {
  return fails() ? nullptr : __libc_calloc(count, bytes);
}
void *realloc(void *old, std::size_t bytes) {
  return fails() ? nullptr : __libc_realloc(old, bytes);
}
void *memalign(std::size_t alignment, std::size_t bytes) {
  return fails() ? nullptr : __libc_memalign(alignment, bytes);
}
void *aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void **made, std::size_t alignment, std::size_t bytes) {
  void *const memory = memalign(alignment, bytes);
  if (!memory)
    return ENOMEM;
  *made = memory;
  return 0;
}
}
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)

namespace {

enum Status : int { kCompiled = 10, kRefused, kRefusedNext, kUnnamed, kEndedByGlibc };

const char *nameOf(int status) {
  switch (status) {
  case kCompiled:
    return "compiled, or used what did not need the allocation";
  case kRefused:
    return "refused, and compiled the next kernel";
  case kRefusedNext:
    return "refused, and refuses all that come, with a reason";
  case kUnnamed:
    return "an error that speaks neither of memory nor of a crash";
  case kEndedByGlibc:
    return "ended by glibc, which had no memory to note a thread's destructor";
  }
  return nullptr;
}

void compile(const char *name) {
  auto none = fx::tensor(static_cast<float *>(nullptr), {axpyBlock});
  makeAxpy(name)(none, none, 0.0f).compile({.block = axpyBlock, .arch = "gfx942"});
}

/// Code that does not look whether it got the memory crashes, which is an error of its own.
bool speaksOfMemory(const char *message) {
  return std::strstr(message, "not enough memory") || std::strstr(message, "memory ran out") ||
         std::strstr(message, "the compiler crashed while") ||
         std::strstr(message, std::strerror(ENOMEM));
}

int runChild() {
  bool refused = false, named = true;
  std::array<char, 2048> message{};
  try {
    compile("first");
  } catch (const std::bad_alloc &) {
    refused = true;
  } catch (const fx::Error &error) {
    refused = true;
    allocations->failAt = kNever;
    named = speaksOfMemory(error.what());
    std::snprintf(message.data(), message.size(), "%s", error.what());
  }
  allocations->failAt = kNever;
  if (!named) {
    std::fprintf(stderr, "%s\n", message.data());
    return kUnnamed;
  }
  try {
    compile("second");
  } catch (const fx::Error &error) {
    if (!speaksOfMemory(error.what())) {
      std::fprintf(stderr, "the second kernel: %s\n", error.what());
      return kUnnamed;
    }
    return kRefusedNext;
  }
  return refused ? kRefused : kCompiled;
}

/// What glibc says before it ends a process that has no memory to note a thread's destructor
/// (cxa_thread_atexit_impl.c). The library asks for as much just before, so that only the allocation
/// right after one that did not fail can bring it about: src/jit/compile/README.md.
constexpr const char *kNoDestructor = "failed to register TLS destructor: out of memory";

/// Everything that is written to a pipe until its last writer ends.
std::string readAll(int from) {
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t got; (got = read(from, part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(got));
  return text;
}

/// The exit status of a process whose allocation `failAt` fails; 128 and the signal that ended it.
int run(long failAt, bool lasts) {
  int errors[2];
  if (pipe(errors) != 0)
    std::abort();
  allocations->failAt = failAt;
  allocations->lasts = lasts;
  const pid_t child = fork();
  if (child == 0) {
    dup2(errors[1], STDERR_FILENO);
    close(errors[0]);
    close(errors[1]);
    alarm(120);
    allocations->count = 0;
    isCounted = true;
    std::_Exit(runChild());
  }
  close(errors[1]);
  const std::string text = readAll(errors[0]);
  close(errors[0]);
  std::fputs(text.c_str(), stderr);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT &&
      text.find(kNoDestructor) != std::string::npos)
    return kEndedByGlibc;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace

int main(int argc, char **argv) {
  const int processes = argc > 1 ? std::atoi(argv[1]) : 40;
  setenv("FLYDSL_RUNTIME_ENABLE_CACHE", "0", 1); // a kernel of the disk would need no compile
  allocations = new (mmap(nullptr, sizeof(Allocations), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Allocations;
  if (argc == 3) {
    isCounted = true;
    allocations->failAt = std::atol(argv[1]);
    allocations->lasts = std::strcmp(argv[2], "all") == 0;
    const int status = runChild();
    std::puts(nameOf(status));
    return status == kUnnamed ? 1 : 0;
  }
  if (run(kNever, false) != kCompiled) {
    std::puts("the kernel does not compile where nothing fails");
    return 1;
  }
  const long all = allocations->count;
  std::printf("a first and a second compile make %ld allocations\n", all);
  if (all < 1000) {
    std::puts("they are not counted: the library does not call this program's malloc");
    return 1;
  }
  std::map<std::pair<bool, int>, std::vector<long>> ended;
  for (int i = 0; i < processes; ++i) {
    // Half of the places are spread evenly, half are near the beginning, where things are made
    // once.
    const double part = (i / 4 + 0.5) / ((processes + 3) / 4);
    const double place = i % 2 ? std::pow(static_cast<double>(all), part) : part * double(all);
    const bool lasts = i / 2 % 2;
    ended[{lasts, run(static_cast<long>(place), lasts)}].push_back(static_cast<long>(place));
  }
  bool allWell = !ended.empty();
  std::size_t byGlibc = 0;
  for (const auto &[how, places] : ended) {
    const char *name = nameOf(how.second);
    const bool isWell = name && how.second != kUnnamed;
    allWell &= isWell;
    if (how.second == kEndedByGlibc)
      byGlibc += places.size();
    std::printf("%4zu %s: ", places.size(), how.first ? "all from there on fail" : "one fails");
    if (name)
      std::printf("%s", name);
    else if (how.second >= 128)
      std::printf("ended by signal %d (%s)", how.second - 128, strsignal(how.second - 128));
    else
      std::printf("status %d", how.second);
    if (!isWell)
      for (long place : places)
        std::printf(" %ld", place);
    std::puts("");
  }
  // Some places of the first hundred, which every second process is near.
  if (const std::size_t most = static_cast<std::size_t>(processes) / 100 + 1; byGlibc > most) {
    std::printf("glibc ended %zu processes; %zu are the most\n", byGlibc, most);
    allWell = false;
  }
  return allWell ? 0 : 1;
}
