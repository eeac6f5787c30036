// Who is inside LLVM and MLIR now. Both keep state of the whole process, which a fork copies
// wherever it is, and which exit() destroys while other threads still run.
#pragma once

#include <chrono>

namespace flydsl::jit {

/// Throws CompileError where the compiler can't be used any more: the process exits, or it was
/// forked while another thread was inside the compiler and did not come out in time.
void requireCompiler();

/// While it lives, work of the compiler goes on. A fork waits for its end, and holds up what begins
/// meanwhile; so does exit(), after which nothing may begin.
class CompilerUse {
public:
  /// Throws as requireCompiler() does.
  CompilerUse();
  ~CompilerUse() { end(); }
  CompilerUse(const CompilerUse &) = delete;
  CompilerUse &operator=(const CompilerUse &) = delete;
  /// The work is over, or is not waited for any more.
  void end();

private:
  bool counts_ = true;
};

/// While it lives, its thread has an MLIR context and may use it at any time. exit() waits for its
/// end. A fork waits only a while, because the program's own code runs in it, a kernel's lambda,
/// and that may wait for the very thread that forks.
class ContextUse {
public:
  /// Throws as requireCompiler() does.
  ContextUse();
  ~ContextUse();
  ContextUse(const ContextUse &) = delete;
  ContextUse &operator=(const ContextUse &) = delete;
};

/// Called on a thread before its first use of MLIR, and after a use: MLIR's caches of the thread
/// die between the two when the thread ends, under locks of MLIR's, and a fork waits for that as
/// well.
void beforeMlir();
void afterMlir();

/// Called after the compiler has run: what it left to be destroyed at exit is destroyed after
/// exit() has been noticed here.
void noteCompilerRan();

/// What exit() does to work that goes on: `stop` is called again and again until all has ended.
void stopWorkAtExit(void (*stop)());

/// How long a fork and an exit wait.
inline constexpr std::chrono::seconds kForkPatience{10}, kForkPatienceWithTraces{1},
    kExitPatience{5};

} // namespace flydsl::jit
