// Who is inside LLVM and MLIR now. Both keep state of the whole process, which exit() destroys
// while other threads still run.
#pragma once

#include <chrono>

namespace flydsl::jit {

/// Throws where the compiler can't be used: CompileError while the process exits and after
/// loseCompiler(), RuntimeError in a child that was forked after its parent's first use of the
/// library.
void requireCompiler();

/// For work that was left while it held a lock of the compiler, or made a static of it: whatever
/// needs the same one would wait for ever, so nothing may begin from here on.
void loseCompiler();

/// While it lives, work of the compiler goes on. exit() waits for its end, and nothing may begin
/// after that.
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
/// end, unless the thread that exits has it.
class ContextUse {
public:
  /// Throws as requireCompiler() does.
  ContextUse();
  ~ContextUse();
  ContextUse(const ContextUse &) = delete;
  ContextUse &operator=(const ContextUse &) = delete;
};

/// Called on a thread before its first use of MLIR, and after a use: MLIR's caches of the thread
/// die between the two when the thread ends, and exit() waits for that as well.
void beforeMlir();
void afterMlir();

/// Called after the compiler has run: what it left to be destroyed at exit is destroyed after
/// exit() has been noticed here.
void noteCompilerRan();

/// What exit() does before statics die: from here on nothing begins, and what goes on is stopped
/// and waited for, as long as kExitPatience in all. It may be called many times.
void onExit();

/// What exit() does to work that goes on: `stop` is called again and again until all has ended.
void stopWorkAtExit(void (*stop)());

/// How long exit() waits, in all.
inline constexpr std::chrono::seconds kExitPatience{5};

} // namespace flydsl::jit
