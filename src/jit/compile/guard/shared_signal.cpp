// One handler for each signal, in front of the host's, which is called for whatever is not ours.
#include "jit/compile/guard/shared_signal.h"

#include <array>
#include <atomic>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace flydsl::jit {

namespace {

constexpr unsigned kSignalCount = 32, kSlotCount = 32;

/// What a signal did before one of our handlers stood in front of it.
struct Previous {
  enum State { unused, taking, known };
  std::atomic<int> state{unused};
  struct sigaction action{};
  std::atomic<bool> spent{false}; ///< the host asked for one call only and has had it
};

// A host may save the handler that it finds, one of ours, and put it back later. Each of our
// handlers therefore has its own slot with what stood behind it, so that putting it back also puts
// back what the host had then.
constinit std::array<std::array<Previous, kSlotCount>, kSignalCount> previous{};
constinit std::array<std::atomic<SignalClaim>, kSignalCount> claims{};
constinit std::mutex installing;

using Handler = void (*)(int, siginfo_t *, void *);

/// The default action of these ends the process; SIGURG is ignored.
void doDefault(int signal, siginfo_t *info) {
  if (signal == SIGURG)
    return;
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  // A fault happens again when its instruction does, and the core file then shows the place. A
  // breakpoint is behind its instruction, and what was sent is not sent again.
  if (signal == SIGTRAP || !isFault(signal, info))
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
}

void forward(Previous &before, int signal, siginfo_t *info, void *context) {
  while (before.state.load(std::memory_order_acquire) != Previous::known)
    sched_yield(); // another thread is between installing and remembering
  const struct sigaction &action = before.action;
  const bool ignored = !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN;
  if (ignored && !isFault(signal, info))
    return;
  const bool isDefault = !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL;
  const bool over = (action.sa_flags & SA_RESETHAND) && before.spent.exchange(true);
  if (ignored || isDefault || over)
    return doDefault(signal, info); // the system lets no process ignore a fault
  if (action.sa_flags & SA_SIGINFO)
    action.sa_sigaction(signal, info, context);
  else
    action.sa_handler(signal);
}

template <unsigned Slot> void handle(int signal, siginfo_t *info, void *context) {
  const auto number = static_cast<unsigned>(signal);
  SignalClaim claim = claims[number].load(std::memory_order_acquire);
  if (claim && claim(signal, info, context))
    return;
  forward(previous[number][Slot], signal, info, context);
}

template <std::size_t... Slots>
constexpr std::array<Handler, kSlotCount> handlersOf(std::index_sequence<Slots...>) {
  return {&handle<Slots>...};
}
constexpr std::array<Handler, kSlotCount> kHandlers =
    handlersOf(std::make_index_sequence<kSlotCount>());

bool isOurs(const struct sigaction &action) {
  if (action.sa_flags & SA_SIGINFO)
    for (Handler handler : kHandlers)
      if (action.sa_sigaction == handler)
        return true;
  return false;
}

bool same(const struct sigaction &a, const struct sigaction &b) {
  if (a.sa_flags != b.sa_flags)
    return false;
  for (int signal = 1; signal < static_cast<int>(kSignalCount); ++signal)
    if (sigismember(&a.sa_mask, signal) != sigismember(&b.sa_mask, signal))
      return false;
  return a.sa_flags & SA_SIGINFO ? a.sa_sigaction == b.sa_sigaction : a.sa_handler == b.sa_handler;
}

/// A slot that already stands for `action`, else an unused one; slotCount where there is none left.
unsigned slotFor(unsigned number, const struct sigaction &action) {
  unsigned slot = 0;
  for (; slot < kSlotCount; ++slot) {
    Previous &before = previous[number][slot];
    if (before.state.load(std::memory_order_relaxed) == Previous::unused ||
        (same(before.action, action) && !before.spent.load(std::memory_order_relaxed)))
      break;
  }
  return slot;
}

/// Puts our handler in front of `now`; what was really there comes out, as it may have changed.
struct sigaction takeOver(int signal, unsigned slot, const struct sigaction &now) {
  Previous &before = previous[static_cast<unsigned>(signal)][slot];
  struct sigaction ours = now, old;
  ours.sa_sigaction = kHandlers[slot];
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (now.sa_flags & (SA_RESTART | SA_NODEFER));
  if (!(now.sa_flags & SA_SIGINFO) && (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN))
    ours.sa_flags |= SA_RESTART;
  const bool fresh = before.state.load(std::memory_order_relaxed) == Previous::unused;
  if (fresh)
    before.state.store(Previous::taking, std::memory_order_relaxed);
  sigaction(signal, &ours, &old);
  if (fresh) {
    before.action = old;
    before.state.store(Previous::known, std::memory_order_release);
  }
  return old;
}

} // namespace

bool isFault(int signal, const siginfo_t *info) {
  return (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
          signal == SIGTRAP) &&
         info->si_code > 0;
}

void claimSignal(int signal, SignalClaim claim) {
  const auto number = static_cast<unsigned>(signal);
  struct sigaction now;
  if (claims[number].load(std::memory_order_acquire) == claim &&
      sigaction(signal, nullptr, &now) == 0 && isOurs(now))
    return;
  // This thread must not get the signal between installing and remembering.
  sigset_t blocked, mask;
  sigemptyset(&blocked);
  sigaddset(&blocked, signal);
  pthread_sigmask(SIG_BLOCK, &blocked, &mask);
  {
    std::lock_guard lock(installing);
    claims[number].store(claim, std::memory_order_release);
    // The host may install another handler between the look and the change: then once more, in
    // front of that one.
    for (int attempt = 0; attempt < 8; ++attempt) {
      if (sigaction(signal, nullptr, &now) != 0 || isOurs(now))
        break;
      const unsigned slot = slotFor(number, now);
      if (slot == kSlotCount)
        break; // a host with so many handlers keeps its own
      struct sigaction old = takeOver(signal, slot, now);
      if (same(old, now) || isOurs(old) || same(previous[number][slot].action, old))
        break;
      sigaction(signal, &old, nullptr);
    }
  }
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

} // namespace flydsl::jit
