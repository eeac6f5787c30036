// planted MISTAKE: makes a mistake on purpose, which a sanitizer must find. The program must not
// reach the return of 0.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <thread>

namespace {
volatile int size = 4;

int overflowOfBuffer() {
  char *bytes = new char[size];
  std::memset(bytes, 1, size);
  const volatile int beyond = bytes[size];
  delete[] bytes;
  return beyond * 0;
}

int overflowOfInteger() {
  volatile int most = std::numeric_limits<int>::max();
  return (most + size) & 0;
}

int leak() {
  static char *volatile kept = new char[size];
  kept = nullptr;
  return 0;
}

int race() {
  static int shared = 0;
  std::thread other([] { shared += size; });
  shared += 1;
  other.join();
  return 0;
}
} // namespace

int main(int argc, char **argv) {
  std::signal(SIGABRT, [](int) { std::_Exit(0); }); // as guards of the compiler catch it
  const std::string mistake = argc == 2 ? argv[1] : "";
  if (mistake == "buffer")
    return overflowOfBuffer();
  if (mistake == "integer")
    return overflowOfInteger();
  if (mistake == "leak")
    return leak();
  if (mistake == "race")
    return race();
  std::fprintf(stderr, "usage: planted buffer|integer|leak|race\n");
  return 2;
}
