// fly-opt runs as a child process with limits of memory, output and time.
#include "jit/compile/module/bytecode_reader.h"

#include "jit/compile/module/read_module.h"
#include "support/descriptor.h"
#include "support/sanitizers.h"

#include <flydsl/error.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <new>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char **environ;

namespace flydsl::jit {

namespace {

using support::Descriptor;

/// The most memory that the reader may take, and the most text that it may write.
constexpr rlim_t kMemoryLimit = rlim_t(8) << 30;
constexpr std::size_t kTextLimit = std::size_t(1) << 30, kMessageLimit = 4096;

[[noreturn]] void fail(const std::string &name, const std::string &what) {
  throw CompileError(name + ": " + what);
}

std::string findReader(const std::string &name) {
  Dl_info info;
  std::filesystem::path folder;
  if (dladdr(reinterpret_cast<void *>(&bytecodeAsText), &info) && info.dli_fname)
    folder = std::filesystem::path(info.dli_fname).parent_path();
  // An installation's lib, Debian's lib/x86_64-linux-gnu, a program that holds the library.
  for (const char *place : {"../bin", "../../bin", "."}) {
    const std::filesystem::path candidate = folder / place / "fly-opt";
    if (access(candidate.c_str(), X_OK) == 0)
      return candidate.string();
  }
  fail(name, "bytecode is read by fly-opt, in a process of its own, and there is none next to the "
             "library (" +
                 (folder / "../bin").lexically_normal().string() +
                 "); give text, install fly-opt, or say that the bytecode is trusted "
                 "(CompileIrConfig::trusted)");
}

std::string head(int fd) {
  std::string text(kMessageLimit, '\0');
  ssize_t n = pread(fd, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text.substr(0, text.find("PLEASE submit")); // where LLVM's report of a crash begins
}

/// What the child wrote, and how it ended.
struct Ended {
  std::string text;
  bool inTime = true, tooLong = false, noRoom = false;
  int status = -1; ///< -1 where the host has taken it: its own wait() was for any child
};

Ended waitFor(pid_t child, int output, unsigned timeoutSeconds) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::seconds(timeoutSeconds);
  Ended ended;
  std::vector<char> chunk(1 << 16);
  for (;;) {
    int wait = -1;
    if (timeoutSeconds) {
      auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      wait = static_cast<int>(std::max<long long>(left.count(), 0));
    }
    pollfd ready{output, POLLIN, 0};
    const int events = poll(&ready, 1, wait);
    if (events < 0 && errno == EINTR)
      continue;
    ended.inTime = events != 0;
    if (events <= 0)
      break;
    const ssize_t n = read(output, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    try {
      ended.text.append(chunk.data(), static_cast<std::size_t>(n));
    } catch (const std::bad_alloc &) { // the child must come to its end all the same
      ended.noRoom = true;
      break;
    }
    if (ended.text.size() > kTextLimit) {
      ended.tooLong = true;
      break;
    }
  }
  // While a child can be waited for, no other process has its number.
  int status = 0;
  pid_t waited = 0;
  if (!ended.inTime || ended.tooLong || ended.noRoom) {
    waited = waitpid(child, &status, WNOHANG);
    if (waited == 0)
      kill(child, SIGKILL);
  }
  while (waited == 0 || (waited < 0 && errno == EINTR))
    waited = waitpid(child, &status, 0);
  ended.status = waited == child ? status : -1;
  return ended;
}

} // namespace

std::string bytecodeAsText(std::string_view bytecode, const std::string &name,
                           unsigned timeoutSeconds) {
  const std::string reader = findReader(name);
  std::string problem;
  const Descriptor input = support::memoryFile(
      "flydsl-bytecode", {reinterpret_cast<const std::uint8_t *>(bytecode.data()), bytecode.size()},
      problem);
  const Descriptor messages = support::memoryFile("flydsl-messages", {}, problem);
  int ends[2] = {-1, -1};
  if (problem.empty() && pipe2(ends, O_CLOEXEC) != 0)
    problem = std::string("pipe: ") + std::strerror(errno);
  const Descriptor output(ends[0]);
  Descriptor written(ends[1]);
  if (!problem.empty())
    fail(name, "reading bytecode: " + problem);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input.get(), 0);
  posix_spawn_file_actions_adddup2(&files, written.get(), 1);
  posix_spawn_file_actions_adddup2(&files, messages.get(), 2);
  posix_spawn_file_actions_addclosefrom_np(&files, 3); // what the host has open
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigfillset(&defaults);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const char *arguments[] = {reader.c_str(),
                             "--mlir-disable-threading",
                             "--mlir-print-debuginfo",
                             "--mlir-print-op-generic",
                             "-",
                             nullptr};
  pid_t child = -1;
  const int error = posix_spawn(&child, reader.c_str(), &files, &attributes,
                                const_cast<char **>(arguments), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error)
    fail(name, "starting " + reader + ": " + std::strerror(error));
  const rlimit core{0, 0};
  if (!support::kUnderAddressSanitizer && !support::kUnderThreadSanitizer) { // terabytes of shadow
    const rlimit memory{kMemoryLimit, kMemoryLimit};
    (void)prlimit(child, RLIMIT_AS, &memory, nullptr);
  }
  (void)prlimit(child, RLIMIT_CORE, &core, nullptr);
  written.reset();

  Ended ended = waitFor(child, output.get(), timeoutSeconds);
  if (!ended.inTime)
    fail(name, "reading the bytecode took longer than " + std::to_string(timeoutSeconds) +
                   " s and was given up");
  if (ended.noRoom)
    fail(name, "there is not enough memory for the text of the bytecode");
  if (ended.tooLong)
    fail(name,
         "the module in the bytecode is over " + std::to_string(kTextLimit >> 20) + " MiB of text");
  const bool known = ended.status != -1;
  if (known && WIFSIGNALED(ended.status))
    fail(name, std::string("the bytecode is damaged: its reader ended by a signal (") +
                   sigdescr_np(WTERMSIG(ended.status)) + ")");
  if ((known && WEXITSTATUS(ended.status) != 0) || ended.text.empty()) {
    const std::string message = head(messages.get());
    fail(name, message.empty() ? "the bytecode can't be read" : "the bytecode: " + message);
  }
  return std::move(ended.text);
}

std::string readableModule(std::string_view module, const std::string &name, bool trusted,
                           unsigned timeoutSeconds) {
  if (isMlirBytecode(module) && !trusted)
    return bytecodeAsText(module, name, timeoutSeconds);
  return std::string(module);
}

} // namespace flydsl::jit
