#include "emulator/hip/rtc/toolchain.h"

#include "emulator/hip/rtc/rtc_error.h"
#include "support/env_variables.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace flyemu::hip {

namespace fs = std::filesystem;

namespace {

/// The oldest Clang for which the headers of compat/ are written, and the newest that is looked for.
constexpr int kOldestClang = 22, kNewestClang = 40;

bool isExecutable(const fs::path &path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

/// A variable that other programs own.
std::string foreign(const char *name) {
  const char *text = std::getenv(name);
  return text ? text : "";
}

std::vector<fs::path> pathFolders() {
  std::vector<fs::path> result;
  const std::string path = foreign("PATH");
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    if (end > begin)
      result.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

/// Where ROCm may be installed.
std::vector<fs::path> rocmFolders() {
  std::vector<fs::path> result;
  for (const char *name : {"HIP_PATH", "ROCM_PATH"})
    if (std::string value = foreign(name); !value.empty())
      result.emplace_back(std::move(value));
  result.emplace_back("/opt/rocm");
  result.emplace_back("/usr");
  return result;
}

} // namespace

std::string findClang() {
  if (const std::string chosen = flydsl::support::env::kEmulatorClang.get().value_or("");
      !chosen.empty()) {
    if (!isExecutable(chosen))
      throw RtcError(HIPRTC_ERROR_INTERNAL_ERROR,
                     "FLYDSL_EMULATOR_CLANG=" + chosen + " is no program that can be run");
    return chosen;
  }
  for (int version = kOldestClang; version <= kNewestClang; ++version)
    for (const fs::path &folder : pathFolders())
      if (fs::path path = folder / ("clang-" + std::to_string(version)); isExecutable(path))
        return path;
  throw RtcError(HIPRTC_ERROR_INTERNAL_ERROR,
                 "hipRTC on the emulator compiles by Clang, and PATH has no clang-" +
                     std::to_string(kOldestClang) +
                     " or newer: install it, or name a Clang in FLYDSL_EMULATOR_CLANG");
}

fs::path findHipHeaders() {
  std::error_code error;
  for (const fs::path &folder : rocmFolders())
    if (fs::exists(folder / "include/hip/hip_runtime.h", error))
      return folder / "include";
  throw RtcError(
      HIPRTC_ERROR_INTERNAL_ERROR,
      "hipRTC on the emulator needs HIP's headers, and hip/hip_runtime.h is in no include "
      "folder of HIP_PATH, ROCM_PATH, /opt/rocm or /usr: install libamdhip64-dev, or name "
      "ROCm's folder in ROCM_PATH");
}

fs::path findDeviceLibrary() {
  std::error_code error;
  for (const fs::path &folder : rocmFolders())
    for (const char *below :
         {"amdgcn/bitcode", "lib/x86_64-linux-gnu/amdgcn/bitcode", "lib/amdgcn/bitcode"})
      if (fs::exists(folder / below / "ockl.bc", error))
        return folder / below;
  return {};
}

ChildResult runChild(const std::vector<std::string> &arguments, const fs::path &outputFile) {
  std::vector<char *> argv;
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  // What is put in front of this process, the emulator itself perhaps, is none of the compiler's.
  std::vector<char *> environment;
  for (char **entry = environ; *entry; ++entry)
    if (!std::string_view(*entry).starts_with("LD_PRELOAD="))
      environment.push_back(*entry);
  environment.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0)
    throw std::bad_alloc();
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, outputFile.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failure =
      posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failure)
    throw RtcError(HIPRTC_ERROR_INTERNAL_ERROR,
                   arguments[0] + " cannot be run: " + std::strerror(failure));

  int status = 0;
  pid_t ended;
  {
    Outside outside; // the program may fork meanwhile
    do
      ended = ::waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR);
  }
  std::ifstream file(outputFile, std::ios::binary);
  ChildResult result;
  // Where the program ignores SIGCHLD, no status is left to ask for; the caller looks at the output.
  result.succeeded = ended < 0 ? errno == ECHILD : WIFEXITED(status) && WEXITSTATUS(status) == 0;
  result.output = {std::istreambuf_iterator<char>(file), {}};
  if (ended > 0 && WIFSIGNALED(status))
    result.output += arguments[0] + " ended by signal " + std::to_string(WTERMSIG(status)) + "\n";
  return result;
}

} // namespace flyemu::hip
