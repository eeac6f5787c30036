// Children of a process that has compiled and launched compile and launch as well.
#include "scale.h"

#include <flydsl/compile_async.h>

#include <atomic>
#include <catch2/catch.hpp>
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

/// Runs `work` in a forked child, which has a minute. True if it returned true.
bool inChild(const std::function<bool()> &work) {
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    bool good = false;
    try {
      good = work();
    } catch (const std::exception &error) {
      fprintf(stderr, "in the child: %s\n", error.what());
    }
    _exit(good ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    fprintf(stderr, "the child ended by signal %d\n", WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

} // namespace

TEST_CASE("a child compiles after its parent used compile_all") {
  std::vector<fx::CompileRequest> requests;
  for (int i = 0; i < 4; ++i)
    requests.push_back({"k", [] { return compileNew("all"); }});
  fx::compile_all(requests);
  for (int i = 0; i < 3; ++i)
    CHECK(inChild([&] {
      bool good = compileNew("child").registers() > 0;
      for (const auto &outcome : fx::compile_all(requests))
        good &= outcome.executable.has_value();
      return good;
    }));
  CHECK(fx::compile_all(requests).size() == 4);
}

TEST_CASE("a child compiles while its parent compiles") {
  std::atomic<bool> stop{false};
  std::atomic<int> compiled{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      while (!stop) {
        compileNew("meanwhile");
        ++compiled;
      }
    });
  int good = 0;
  for (int i = 0; i < 25; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(7 * (i % 9)));
    good += inChild([] { return compileNew("child").registers() > 0; });
  }
  stop = true;
  for (std::thread &thread : threads)
    thread.join();
  CHECK(good == 25);
  CHECK(compiled > 2);
}

TEST_CASE("a child compiles the very kernel that its parent compiles at the fork") {
  int good = 0;
  for (int i = 0; i < 12; ++i) {
    const std::string name = newName("same");
    auto compile = [&] {
      return makeAxpy(name.c_str())(none(), none(), 0.0f).compile({.block = axpyBlock});
    };
    std::atomic<bool> started{false};
    std::thread parent([&] {
      started = true;
      compile();
    });
    while (!started)
      std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(1500 * i));
    good += inChild([&] { return compile().registers() > 0; });
    parent.join();
  }
  CHECK(good == 12);
}

TEST_CASE("a child launches the kernel object whose first launch its parent is in") {
  int good = 0;
  for (int i = 0; i < 12; ++i) {
    const auto kernel = makeAxpy(newName("object").c_str());
    std::atomic<bool> started{false};
    std::thread parent([&] {
      started = true;
      (void)launches(kernel);
    });
    while (!started)
      std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(1500 * i));
    // The thread that the child would have to wait for is its parent's.
    good += inChild([&] { return launches(kernel); });
    parent.join();
  }
  CHECK(good == 12);
}

TEST_CASE("a future of what the parent goes on with alone is an error in the child") {
  std::vector<std::future<fx::Executable>> futures;
  for (int i = 0; i < 12; ++i)
    futures.push_back(fx::compile_async([] { return compileNew("async"); }));
  CHECK(inChild([&] {
    int lost = 0;
    for (auto &future : futures)
      try {
        future.get();
      } catch (const fx::RuntimeError &error) {
        lost += std::string(error.what()).find("forked") != std::string::npos;
      }
    return lost > 0 && fx::compile_async([] { return compileNew("child"); }).get().registers() > 0;
  }));
  for (auto &future : futures)
    CHECK(future.get().registers() > 0);
}

TEST_CASE("compile_all ends in a child that its progress forks") {
  std::vector<fx::CompileRequest> requests;
  for (int i = 0; i < 6; ++i)
    requests.push_back({"k", [] { return compileNew("progress"); }});
  pid_t child = -1;
  auto outcomes =
      fx::compile_all(requests, [&](const fx::CompileOutcome &, std::size_t done, std::size_t) {
        if (done == 1 && (child = fork()) == 0)
          alarm(60);
      });
  int failed = 0;
  for (const auto &outcome : outcomes)
    failed += outcome.error != nullptr;
  if (child == 0)
    _exit(outcomes.size() == 6 && failed > 0 ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(failed == 0);
}

TEST_CASE("a child launches on the emulator that its parent used") {
  const auto kernel = makeAxpy("axpy_fork");
  CHECK(launches(kernel));
  fx::Stream stream;
  std::vector<float> x(64, 3.0f), y(64, 1.0f);
  auto dx = onDevice(x), dy = onDevice(y);
  kernel(dx, dy, 1.0f).launch({.grid = 1, .block = axpyBlock, .stream = stream});
  stream.synchronize();
  for (int i = 0; i < 10; ++i)
    CHECK(inChild([&] {
      // The parent's stream and memory too: the child has its own copy of them.
      kernel(dx, dy, 1.0f).launch({.grid = 1, .block = axpyBlock, .stream = stream});
      stream.synchronize();
      return dy.to_host() == std::vector<float>(64, 7.0f) && launches(kernel) &&
             launches(makeAxpy(newName("new").c_str()));
    }));
  CHECK(dy.to_host() == std::vector<float>(64, 4.0f));
  CHECK(launches(kernel));
}

TEST_CASE("what is queued at the fork comes to its end in both, each in its own memory") {
  const auto kernel = makeAxpy("axpy_queued");
  fx::Stream stream, other;
  fx::Event event;
  for (int round = 0; round < 10; ++round) {
    std::vector<float> x(1 << 14, 1.0f), y(1 << 14, 0.0f);
    auto dx = onDevice(x), dy = onDevice(y);
    constexpr int times = 40;
    for (int i = 0; i < times; ++i) {
      fx::Stream &on = i % 2 ? other : stream;
      kernel(dx, dy, 1.0f)
          .launch({.grid = (1 << 14) / axpyBlock, .block = axpyBlock, .stream = on});
      event.record(on);
      (i % 2 ? stream : other).wait(event);
    }
    auto rightAtTheEnd = [&] {
      stream.synchronize();
      other.synchronize();
      return dy.to_host() == std::vector<float>(1 << 14, float(times));
    };
    CHECK(inChild(rightAtTheEnd));
    CHECK(rightAtTheEnd());
  }
}

TEST_CASE("children of many threads launch") {
  const auto kernel = makeAxpy("axpy_threads");
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!stop)
        wrong += !launches(kernel);
    });
  int good = 0;
  for (int i = 0; i < 20; ++i)
    good += inChild([&] { return launches(kernel); });
  stop = true;
  for (std::thread &thread : threads)
    thread.join();
  CHECK(good == 20);
  CHECK(wrong == 0);
}
