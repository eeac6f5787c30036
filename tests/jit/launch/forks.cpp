// A child that is forked after its parent's first use of the library is refused at every entry, at
// once; one that is forked before is a process like any other.
#include "scale.h"
#include "time_limit.h"

#include <flydsl/host/aot.h>
#include <flydsl/host/autotune.h>
#include <flydsl/host/compile_async.h>
#include <flydsl/host/stats.h>
#include <flydsl/kernel/ktrace.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fx = flydsl;

namespace {

auto none() { return fx::tensor(static_cast<float *>(nullptr), {axpyBlock}); }

std::string newName(const char *prefix) {
  static std::atomic<int> count{0};
  return std::string(prefix) + "_" + std::to_string(getpid()) + "_" + std::to_string(count++);
}

fx::Executable compileNew(const char *prefix) {
  return makeAxpy(newName(prefix).c_str())(none(), none(), 0.0f).compile({.block = axpyBlock});
}

/// y = 2 x + y on a stream of its own.
bool launches(const auto &kernel) {
  std::vector<float> x(256, 1.5f), y(256, 0.25f);
  auto dx = onDevice(x), dy = onDevice(y);
  fx::Stream stream;
  kernel(dx, dy, 2.0f).launch({.grid = 4, .block = axpyBlock, .stream = stream});
  stream.synchronize();
  return isAxpy(dy.to_host(), 2.0f, x, y);
}

/// Runs `work` in a forked child, which has a minute, and ends by `end`. True if it returned true.
bool inChild(const std::function<bool()> &work, void (*end)(int) = _exit) {
  pid_t child = fork();
  if (child == 0) {
    flydsl::testing::endAfter(60);
    bool good = false;
    try {
      good = work();
    } catch (const std::exception &error) {
      fprintf(stderr, "in the child: %s\n", error.what());
    }
    end(good ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    fprintf(stderr, "the child ended by signal %d\n", WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Whether `use` is refused with what to do instead.
bool isRefused(const std::function<void()> &use) {
  try {
    use();
  } catch (const fx::RuntimeError &error) {
    const std::string text = error.what();
    return text.find("forked after its parent had used FlyDSL") != std::string::npos &&
           text.find("exec, or posix_spawn") != std::string::npos &&
           text.find("fork before the first use") != std::string::npos;
  }
  return false;
}

} // namespace

// It comes first, where the whole program is run: nothing was used yet.
TEST_CASE("children that are forked before the first use compile and launch, and so do theirs") {
  const auto kernel = makeAxpy("axpy_before"); // makes no use of the library
  CHECK(inChild([&] { return inChild([&] { return launches(kernel); }); }));
  CHECK(inChild([&] { return launches(kernel) && compileNew("child").registers() > 0; }));
  CHECK(inChild([&] { return launches(kernel) && !inChild([&] { return launches(kernel); }); }));
  CHECK(launches(kernel));
}

TEST_CASE("every entry refuses in a child of a process that used the library, and destructors do "
          "nothing") {
  const auto kernel = makeAxpy("axpy_fork");
  CHECK(launches(kernel));
  auto made = kernel(none(), none(), 0.0f).compile({.block = axpyBlock});
  const std::vector<float> ones(64, 1.0f);
  auto x = onDevice(ones), y = onDevice(ones);
  fx::Stream stream;
  fx::Event event;
  auto capture = std::make_unique<fx::ktrace::Capture>();
  auto told = std::make_unique<fx::EventSubscription>(fx::on_event([](const fx::EventInfo &) {}));
  const std::function<void()> uses[] = {
      [&] { kernel(x, y, 1.0f).launch({.grid = 1, .block = axpyBlock, .stream = stream}); },
      [&] { kernel(none(), none(), 1.0f).compile({.block = axpyBlock}); },
      [&] { kernel(none(), none(), 1.0f).compile({.block = axpyBlock, .arch = "gfx950"}); },
      [&] { compileNew("child"); },
      [&] { fx::compile_async([] { return compileNew("child"); }).get(); },
      [&] { fx::compile_all({{"k", [] { return compileNew("child"); }}}); },
      [&] { stream.synchronize(); },
      [&] { event.record(stream); },
      [&] { y.to_host(); },
      [&] { y.fill(1); },
      [&] { fx::DeviceArray<float> mine({64}); },
      [&] { fx::Stream mine; },
      [&] { fx::Event mine; },
      [&] { fx::Device::count(); },
      [&] { fx::Device::current(); },
      [&] { fx::stats(); },
      [&] { (void)fx::on_event([](const fx::EventInfo &) {}); },
      [&] { fx::ktrace::Capture mine; },
      [&] {
        fx::autotune("axpy", {{{"n", 1}}, {{"n", 2}}}, {},
                     [](const fx::Config &) -> fx::Candidate { throw 1; });
      },
  };
  for (auto end : std::initializer_list<void (*)(int)>{_exit, exit})
    CHECK(inChild(
        [&] {
          int refused = 0, number = 0;
          for (const auto &use : uses) {
            const bool was = isRefused(use);
            refused += was;
            if (!was)
              fprintf(stderr, "use %d is not refused\n", number);
            ++number;
          }
          { // what the child has copies of is let go without a call
            fx::DeviceArray<float> gone(std::move(x));
            fx::Stream going(std::move(stream));
            capture.reset();
            told.reset();
            fx::Executable executable(std::move(made));
          }
          return refused == int(std::size(uses));
        },
        end));
  CHECK(launches(kernel));
}

TEST_CASE("children of threads that compile and launch are refused at once") {
  std::atomic<bool> stop{false};
  std::atomic<int> compiled{0}, wrong{0};
  const auto kernel = makeAxpy("axpy_threads");
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      while (!stop) {
        compileNew("meanwhile");
        ++compiled;
        wrong += !launches(kernel);
      }
    });
  while (compiled < 2)
    std::this_thread::yield();
  int good = 0;
  for (int i = 0; i < 40; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(i % 9));
    good += inChild(
        [&] {
          return isRefused([] { compileNew("child"); }) &&
                 isRefused([&] { (void)launches(kernel); });
        },
        i % 2 ? _exit : exit);
  }
  stop = true;
  for (std::thread &thread : threads)
    thread.join();
  CHECK(good == 40);
  CHECK(wrong == 0);
}

TEST_CASE("a child that is forked inside of a kernel's lambda ends with the refusal") {
  const std::string name = newName("lambda");
  pid_t child = -1;
  const fx::Kernel kernel{name, [&](fx::Tensor x) {
                            child = fork();
                            if (child == 0)
                              flydsl::testing::endAfter(60);
                            x(fx::thread_idx().x) = x(0);
                          }};
  const bool refused = isRefused([&] { kernel(none()).compile({.block = axpyBlock}); });
  if (child == 0)
    _exit(refused ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK_FALSE(refused);
}

TEST_CASE("compile_all throws in a child that its progress forks") {
  std::vector<fx::CompileRequest> requests;
  for (int i = 0; i < 6; ++i)
    requests.push_back({"k", [] { return compileNew("progress"); }});
  pid_t child = -1;
  const bool refused = isRefused([&] {
    fx::compile_all(requests, [&](const fx::CompileOutcome &, std::size_t done, std::size_t) {
      if (done == 1 && (child = fork()) == 0)
        flydsl::testing::endAfter(60);
    });
  });
  if (child == 0)
    _exit(refused ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK_FALSE(refused);
}
