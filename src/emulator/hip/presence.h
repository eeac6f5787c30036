// Who is inside the emulator now, and what a fork does. The memory of emulated devices is the
// process's, so a forked child has a copy of the devices: what was queued goes on in both, each in
// its own memory. For that a fork waits until no thread is inside, where it would hold locks or be
// in the middle of a kernel; threads that wait are outside.
#pragma once

#include <chrono>

namespace flyemu::hip {

/// While it lives, its thread is inside. It waits for the end of a fork that is under way.
class Inside {
public:
  Inside();
  ~Inside();
  Inside(const Inside &) = delete;
  Inside &operator=(const Inside &) = delete;
};

/// While it lives, a thread that is inside is outside: it waits, or runs the program's own code.
/// It holds no lock.
class Outside {
public:
  Outside();
  ~Outside();
  Outside(const Outside &) = delete;
  Outside &operator=(const Outside &) = delete;

private:
  unsigned depth_;
};

/// While it lives, its thread stays inside where it waits: what it does must not be done twice.
class StayInside {
public:
  StayInside();
  ~StayInside();
  StayInside(const StayInside &) = delete;
  StayInside &operator=(const StayInside &) = delete;
};

/// True in a child that was forked while an operation was under way that did not end in time: its
/// devices are in no state to go on with.
bool lostByFork();

/// `restart` is called in a forked child by the first that is inside, with no other there: it makes
/// threads anew.
void restartAfterFork(void (*restart)());

/// How long a fork waits for what is under way.
inline constexpr std::chrono::seconds forkPatience{10};

} // namespace flyemu::hip
