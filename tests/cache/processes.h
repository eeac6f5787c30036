// Child processes for tests.
#pragma once

#include "support/file.h"

#include "time_limit.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace flydsl::cache::test {

/// Runs `work` in a process of its own; its result is the exit code, 99 where it throws. The process
/// ends with the thread that calls this, so that a test past its time limit leaves none.
template <class Work> pid_t start(Work work) {
  const pid_t child = fork();
  if (child != 0)
    return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    _exit(work());
  } catch (const std::exception &) {
    _exit(99);
  }
}

/// The exit code, or 1000 and the signal's number.
inline int wait(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/// What `work` gives in a process of another user. Only root can start one.
template <class Work> int asUser(uid_t user, Work work) {
  return wait(start([&]() -> int {
    if (setgid(user) != 0 || setuid(user) != 0)
      return 98;
    return work();
  }));
}

/// The files under `folder` that writers have begun, and not finished or removed.
inline std::vector<std::string> begunFiles(const std::string &folder) {
  std::vector<std::string> files;
  if (std::filesystem::exists(folder))
    for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
      if (entry.path().extension() == support::kTemporarySuffix && entry.file_size() > 0)
        files.push_back(entry.path());
  return files;
}

/// Stops `writer`, which writes files under `folder` again and again and is the only process that
/// does so, in the middle of a write, however seldom a busy machine lets it run. `already` of the
/// files were begun by others. False if the writer ended.
inline bool stopInWrite(pid_t writer, const std::string &folder, std::size_t already = 0) {
  for (;;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    kill(writer, SIGSTOP);
    int status = 0;
    if (waitpid(writer, &status, WUNTRACED) != writer || !WIFSTOPPED(status))
      return false;
    if (begunFiles(folder).size() > already)
      return true;
    kill(writer, SIGCONT);
  }
}

using flydsl::testing::TimeLimit;

} // namespace flydsl::cache::test
