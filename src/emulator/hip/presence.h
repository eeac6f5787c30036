// Who is inside the emulator now, and what a fork does. The memory of emulated devices is the
// process's, so a forked child has a copy of the devices: what was queued goes on in both, each in
// its own memory. For that a fork waits until no thread is inside, where it would hold locks or be
// in the middle of a kernel; threads that wait are outside.
#pragma once

#include <chrono>

namespace flyemu::hip {

/// While this object lives, its thread counts as inside. The constructor waits for the end of a
/// fork that is under way.
class Inside {
public:
  Inside();
  ~Inside();
  Inside(const Inside &) = delete;
  Inside &operator=(const Inside &) = delete;
};

/// While this object lives, a thread that is inside counts as outside: it waits, or runs the
/// program's own code, and holds no lock.
class Outside {
public:
  Outside();
  ~Outside();
  Outside(const Outside &) = delete;
  Outside &operator=(const Outside &) = delete;

private:
  unsigned depth_;
};

/// While this object lives, its thread counts as inside even if it waits, because its work must not
/// be done twice.
class StayInside {
public:
  StayInside();
  ~StayInside();
  StayInside(const StayInside &) = delete;
  StayInside &operator=(const StayInside &) = delete;
};

/// True in a child that was forked while an operation was under way and did not end in time. The
/// child's devices cannot be used then.
bool lostByFork();

/// In a forked child, the first thread that enters calls `restart`, while no other is inside. It
/// starts the threads that the fork did not copy.
void restartAfterFork(void (*restart)());

/// How long a fork waits for what is under way.
inline constexpr std::chrono::seconds kForkPatience{10};

} // namespace flyemu::hip
