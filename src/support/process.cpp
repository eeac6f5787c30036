#include "support/process.h"

#include <cerrno>
#include <csignal>
#include <random>

namespace flydsl::support {

bool isAlive(int process) { return kill(process, 0) == 0 || errno != ESRCH; }

std::uint64_t random64() {
  std::random_device device;
  return std::uint64_t(device()) << 32 | device();
}

} // namespace flydsl::support
