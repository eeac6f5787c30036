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
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
/// Runs `task` on the library's pool: FLYDSL_COMPILE_THREADS threads, else one a core.
FLYDSL_API void submit(std::function<void()> task);
} // namespace detail

/// Runs `compile` on the library's pool and gives what it returns:
///   auto later = fx::compile_async([&] { return kernel(A, B).compile({.block = 256}); });
/// What it throws comes out of the future's get(). It must own what it refers to, or outlive it,
/// and must not wait for another compile_async. Threads of the pool have device 0 current.
template <class Compile> auto compile_async(Compile compile) -> std::future<decltype(compile())> {
  auto task = std::make_shared<std::packaged_task<decltype(compile())()>>(std::move(compile));
  auto future = task->get_future();
  detail::submit([task] { (*task)(); });
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
