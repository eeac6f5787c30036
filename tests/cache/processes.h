// Child processes for tests.
#pragma once

#include "time_limit.h"

#include <cerrno>
#include <csignal>
#include <exception>
#include <sys/wait.h>
#include <unistd.h>

namespace flydsl::cache::test {

/// Runs `work` in a process of its own; its result is the exit code, 99 where it throws.
template <class Work> pid_t start(Work work) {
  const pid_t child = fork();
  if (child != 0)
    return child;
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

using flydsl::testing::TimeLimit;

} // namespace flydsl::cache::test
