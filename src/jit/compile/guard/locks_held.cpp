// The linker's option --wrap (CMakeLists.txt of this room) leads each call of these functions, in
// whatever is linked with this file, to the one that counts. A lock counts from before it is taken
// until after it is given up: a signal between never sees too few.
#include "jit/compile/guard/locks_held.h"

#include "jit/compile/guard/thread_slot.h"

#include <pthread.h>

namespace {

/// Signal handlers read it.
constinit flydsl::jit::ThreadSlot held;

void more() { held.set(held.get() + 1); }
void less() {
  if (const std::intptr_t now = held.get();
      now > 0) // what was taken where nothing counts may be given up
    held.set(now - 1);
}

/// Takes a lock; the C library's functions return 0 where they have taken it.
template <class Take> int counted(const Take &take) {
  more();
  const int status = take();
  if (status != 0)
    less();
  return status;
}

} // namespace

namespace flydsl::jit {

int locksHeld() { return static_cast<int>(held.get()); }
void forgetLocks() { held.set(0); }

} // namespace flydsl::jit

// NOLINTBEGIN(readability-identifier-naming): the names that the linker's --wrap gives
extern "C" {

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
  return counted([=] { return __real_pthread_mutex_lock(mutex); });
}
int __real_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex) {
  return counted([=] { return __real_pthread_mutex_trylock(mutex); });
}
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
  const int status = __real_pthread_mutex_unlock(mutex);
  if (status == 0)
    less();
  return status;
}

int __real_pthread_rwlock_rdlock(pthread_rwlock_t *lock);
int __wrap_pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
  return counted([=] { return __real_pthread_rwlock_rdlock(lock); });
}
int __real_pthread_rwlock_wrlock(pthread_rwlock_t *lock);
int __wrap_pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
  return counted([=] { return __real_pthread_rwlock_wrlock(lock); });
}
int __real_pthread_rwlock_tryrdlock(pthread_rwlock_t *lock);
int __wrap_pthread_rwlock_tryrdlock(pthread_rwlock_t *lock) {
  return counted([=] { return __real_pthread_rwlock_tryrdlock(lock); });
}
int __real_pthread_rwlock_trywrlock(pthread_rwlock_t *lock);
int __wrap_pthread_rwlock_trywrlock(pthread_rwlock_t *lock) {
  return counted([=] { return __real_pthread_rwlock_trywrlock(lock); });
}
int __real_pthread_rwlock_unlock(pthread_rwlock_t *lock);
int __wrap_pthread_rwlock_unlock(pthread_rwlock_t *lock) {
  const int status = __real_pthread_rwlock_unlock(lock);
  if (status == 0)
    less();
  return status;
}

/// std::call_once: the work runs inside of it.
int __real_pthread_once(pthread_once_t *once, void (*work)());
int __wrap_pthread_once(pthread_once_t *once, void (*work)()) {
  struct Counted { // the work may throw
    Counted() { more(); }
    ~Counted() { less(); }
  } counted;
  return __real_pthread_once(once, work);
}

/// A function's static object: 1 where the caller makes it, who then releases or aborts.
int __real___cxa_guard_acquire(void *guard);
int __wrap___cxa_guard_acquire(void *guard) {
  more();
  const int makes = __real___cxa_guard_acquire(guard);
  if (!makes)
    less();
  return makes;
}
void __real___cxa_guard_release(void *guard);
void __wrap___cxa_guard_release(void *guard) {
  __real___cxa_guard_release(guard);
  less();
}
void __real___cxa_guard_abort(void *guard);
void __wrap___cxa_guard_abort(void *guard) {
  __real___cxa_guard_abort(guard);
  less();
}

} // extern "C"
// NOLINTEND(readability-identifier-naming)
