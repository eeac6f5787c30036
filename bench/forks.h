// A process that forks while it measures, as hosts do that start programs.
#pragma once

#include <chrono>
#include <cstdlib>
#include <stop_token>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

/// While it lives, children are forked, one after another, which end at once.
class Forks {
public:
  /// `pause` lies between two forks; with 0 there are none.
  explicit Forks(std::chrono::milliseconds pause) {
    if (pause.count() == 0)
      return;
    forking_ = std::jthread([pause](const std::stop_token &stop) {
      while (!stop.stop_requested()) {
        const pid_t child = fork();
        if (child == 0)
          _exit(0);
        waitpid(child, nullptr, 0);
        std::this_thread::sleep_for(pause);
      }
    });
  }

private:
  std::jthread forking_;
};
