// Calls that find a plan: values that the grid depends on change from call to call, in turn, in
// several programs and threads.
#include "host_module.h"

#include <thread>

using namespace host_module;

namespace {
/// @f writes `factor` * n to the first n numbers of x; n is the grid.
std::string timesModule(int factor) {
  return module("%k = arith.constant " + std::to_string(factor) + R"( : i32
    %m = arith.muli %n, %k : i32
    %grid = arith.index_cast %n : i32 to index
    %t = )" + launch("%grid", "%x", "%m"));
}
fx::DeviceArray<std::int32_t> zeros() {
  return fx::DeviceArray<std::int32_t>::from_host(std::vector<std::int32_t>(8), {8});
}
std::vector<std::int32_t> expected(int factor, int n) {
  std::vector<std::int32_t> all(8);
  std::fill_n(all.begin(), n, factor * n);
  return all;
}
} // namespace

TEST_CASE("values that the grid depends on may change with each call") {
  const fx::Program twice = fx::parse_program(timesModule(2)),
                    thrice = fx::parse_program(timesModule(3));
  for (int round = 0; round < 3; ++round)
    for (int n = 1; n <= 8; ++n) {
      fx::DeviceArray<std::int32_t> x = zeros(), y = zeros();
      twice("f", x, n, nullptr);
      thrice("f", y, 9 - n, nullptr);
      CHECK(x.to_host() == expected(2, n));
      CHECK(y.to_host() == expected(3, 9 - n));
    }
  CHECK(twice.evaluated() == 8);
}

TEST_CASE("a program that comes after another one is gone has plans of its own") {
  for (int factor = 1; factor <= 4; ++factor) {
    const fx::Program program = fx::parse_program(timesModule(factor));
    fx::DeviceArray<std::int32_t> x = zeros();
    program("f", x, 3, nullptr);
    program("f", x, 3, nullptr);
    CHECK(x.to_host() == expected(factor, 3));
  }
}

TEST_CASE("threads call one program with values of their own") {
  const fx::Program program = fx::parse_program(timesModule(5));
  std::vector<fx::DeviceArray<std::int32_t>> arrays;
  for (int i = 0; i < 4; ++i)
    arrays.push_back(zeros());
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      fx::Stream stream;
      for (int n = 1; n <= 2 * i + 2; ++n)
        program("f", arrays[static_cast<std::size_t>(i)], n, stream);
      stream.synchronize();
    });
  threads.clear();
  for (int i = 0; i < 4; ++i)
    CHECK(arrays[static_cast<std::size_t>(i)].to_host() == expected(5, 2 * i + 2));
}

TEST_CASE("each device has its kernels, whatever the last call used") {
  const fx::Program program = fx::parse_program(timesModule(2));
  const fx::Stream first(fx::Device(0)), second(fx::Device(1));
  for (const fx::Stream *stream : {&first, &second, &first}) {
    stream->device().make_current();
    fx::DeviceArray<std::int32_t> x = zeros();
    program("f", x, 4, *stream);
    stream->synchronize();
    CHECK(x.to_host() == expected(2, 4));
  }
  fx::Device(0).make_current();
}

TEST_CASE("bytes that a launch puts over bytes of an argument stay") {
  // The kernel's tensor has the layout of the call's one, but for an extent that is a constant.
  const std::string text = module(R"(
    %p = fly.get_iter(%x) : (!fly.memref<i32, global, ?:1>) -> !fly.ptr<i32, global>
    %e = fly.make_int_tuple(%n) : (i32) -> !fly.int_tuple<?>
    %one = fly.make_int_tuple() : () -> !fly.int_tuple<1>
    %l = fly.make_layout(%e, %one) : (!fly.int_tuple<?>, !fly.int_tuple<1>) -> !fly.layout<?:1>
    %v = fly.make_view(%p, %l) : (!fly.ptr<i32, global>, !fly.layout<?:1>) -> !fly.memref<i32, global, ?:1>
    %t = )" + launch("%c1", "%v", "%n"));
  CHECK(run(text, 5) == std::vector<std::int32_t>{5, 0, 0, 0, 0, 0, 0, 0});
}
