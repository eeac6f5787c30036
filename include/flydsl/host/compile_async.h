// Compiling on the library's threads while the program does other work: one kernel, or all kernels
// that a program will need.
#pragma once

#include <flydsl/host/executable.h>

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
/// Runs `task` on the library's pool, which has FLYDSL_COMPILE_THREADS threads, or one per core.
FLYDSL_API void submit(std::function<void()> task);

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

/// Runs `compile` on the library's pool. The future gives what it returns:
///   auto later = fx::compile_async([&] { return kernel(A, B).compile({.block = 256}); });
/// An exception of `compile` comes out of the future's get(). `compile` must own what it refers to,
/// or that must outlive it, and it must not wait for another compile_async. Device 0 is current on
/// the threads of the pool. If the process forks before `compile` has ended, it goes on in the
/// parent alone, and the child's copy of the future never gets ready.
template <class Compile> auto compile_async(Compile compile) -> std::future<decltype(compile())> {
  using Task = detail::PromisedCompile<Compile, decltype(compile())>;
  auto task = std::make_shared<Task>(std::move(compile));
  auto future = task->result.get_future();
  detail::submit([task] { task->run(); });
  return future;
}

/// One of several kernels to compile.
struct CompileRequest {
  std::string name;
  std::function<Executable()> compile;
};

/// The result of compiling one kernel.
struct CompileOutcome {
  std::string name;
  std::optional<Executable> executable; ///< nullopt if compiling failed
  std::exception_ptr error;
};

/// Compiles all kernels, several at a time, and waits for them. A failure does not stop the others.
/// The outcomes have the order of the requests. `progress` is called on the caller's thread after
/// each kernel, in the order in which they finish.
FLYDSL_API std::vector<CompileOutcome> compile_all(
    std::vector<CompileRequest> requests,
    const std::function<void(const CompileOutcome &outcome, std::size_t done, std::size_t total)>
        &progress = {});

/// A line about an outcome, for a program to show: "compiling 12/40: softmax, disk, 0.9 ms".
FLYDSL_API std::string progress_line(const CompileOutcome &outcome, std::size_t done,
                                     std::size_t total);

FLYDSL_NAMESPACE_END
