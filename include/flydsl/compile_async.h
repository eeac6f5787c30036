// Compiling beside the program's own work: one kernel, or all that a program will need, on the
// library's threads.
#pragma once

#include <flydsl/executable.h>

#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
/// Runs `task` on the library's pool: FLYDSL_COMPILE_THREADS threads, else one a core. `givenUp` is
/// called in a forked child, where the task can't go on.
FLYDSL_API void submit(std::function<void()> task, std::function<void()> givenUp);
FLYDSL_API std::exception_ptr lostByFork();

template <class Compile, class Result> struct PromisedCompile {
  explicit PromisedCompile(Compile compile) : compile(std::move(compile)) {}
  Compile compile;
  std::promise<Result> result;

  void run() {
    try {
      if constexpr (std::is_void_v<Result>) {
        compile();
        result.set_value();
      } else {
        result.set_value(compile());
      }
    } catch (...) {
      result.set_exception(std::current_exception());
    }
  }
};
} // namespace detail

/// Runs `compile` on the library's pool and gives what it returns:
///   auto later = fx::compile_async([&] { return kernel(A, B).compile({.block = 256}); });
/// What it throws comes out of the future's get(). It must own what it refers to, or outlive it,
/// and must not wait for another compile_async. Threads of the pool have device 0 current. In a
/// process that is forked meanwhile, the child's copy of the future holds a RuntimeError.
template <class Compile> auto compile_async(Compile compile) -> std::future<decltype(compile())> {
  using Task = detail::PromisedCompile<Compile, decltype(compile())>;
  auto task = std::make_shared<Task>(std::move(compile));
  auto future = task->result.get_future();
  detail::submit([task] { task->run(); },
                 [task] { task->result.set_exception(detail::lostByFork()); });
  return future;
}

/// One of several kernels to compile.
struct CompileRequest {
  std::string name;
  std::function<Executable()> compile;
};

/// How it went.
struct CompileOutcome {
  std::string name;
  std::optional<Executable> executable; ///< none where it failed
  std::exception_ptr error;
};

/// Compiles all, several at a time, and waits. A failure stops no other. The outcomes are in the
/// order of the requests; `progress` is called on the caller's thread after each, as they get
/// ready.
FLYDSL_API std::vector<CompileOutcome> compile_all(
    std::vector<CompileRequest> requests,
    const std::function<void(const CompileOutcome &outcome, std::size_t done, std::size_t total)>
        &progress = {});

/// What a program shows of it: "compiling 12/40: softmax, disk, 0.9 ms".
FLYDSL_API std::string progress_line(const CompileOutcome &outcome, std::size_t done,
                                     std::size_t total);

FLYDSL_NAMESPACE_END
