#include "fake.h"

#include <flydsl/host/args.h>
#include <flydsl/host/device_array.h>
#include <flydsl/host/host_memory.h>

#include <catch2/catch.hpp>

#include <cmath>

namespace fx = flydsl;

TEST_CASE("random values are in range, vary, and depend on the seed alone") {
  auto a = fx::DeviceArray<float>::random({37, 51}, 1).to_host();
  auto b = fx::DeviceArray<float>::random({37 * 51}, 1).to_host();
  auto c = fx::DeviceArray<float>::random({37, 51}, 2).to_host();
  CHECK(a == b);
  CHECK(a != c);
  double sum = 0;
  for (float x : a) {
    REQUIRE(x >= -1.0f);
    REQUIRE(x < 1.0f);
    sum += x;
  }
  CHECK(std::fabs(sum / a.size()) < 0.05);
  bool low = false, high = false;
  for (int x : fx::DeviceArray<std::int8_t>::random({1000}, 3).to_host()) {
    REQUIRE(x >= -8);
    REQUIRE(x <= 7);
    low |= x == -8;
    high |= x == 7;
  }
  CHECK(low);
  CHECK(high);
}

TEST_CASE("copies, fills and poison") {
  fx::DeviceArray<float> a({2, 3});
  CHECK(a.size() == 6);
  CHECK(a.bytes() == 24);
  a.poison();
  for (float x : a.to_host())
    CHECK(std::isnan(x));
  a.fill(2.5f);
  CHECK(a.to_host() == std::vector<float>(6, 2.5f));
  std::vector<float> values{1, 2, 3, 4, 5, 6};
  a.copy_from(values);
  CHECK(a.to_host() == values);
  CHECK(fx::DeviceArray<float>::from_host(values, {3, 2}).to_host() == values);
  values.push_back(7);
  CHECK_THROWS_AS(a.copy_from(values), fx::RuntimeError);
}

TEST_CASE("memory is freed with the array, and an empty one has none") {
  const int before = fake().allocations;
  {
    fx::DeviceArray<double> a({8});
    CHECK(fake().allocations == before + 1);
    fx::DeviceArray<double> b = std::move(a);
    CHECK(fake().allocations == before + 1);
    fx::DeviceArray<double> none({4, 0});
    CHECK(none.size() == 0);
    CHECK(none.to_host().empty());
    CHECK(fake().allocations == before + 1);
  }
  CHECK(fake().allocations == before);
}

TEST_CASE("out of memory names the size and the user's line") {
  fake().failNext = 2;
  const unsigned line = __LINE__ + 2;
  try {
    fx::DeviceArray<float> a({1024});
    FAIL("no error");
  } catch (const fx::RuntimeError &error) {
    CHECK(error.code() == 2);
    CHECK(error.where().line == line);
    CHECK_THAT(error.what(), Catch::Contains("allocating 4096 bytes"));
  }
}

TEST_CASE("an array that was moved from is an error with the user's line") {
  fx::DeviceArray<float> a({2, 3});
  fx::DeviceArray<float> b = std::move(a);
  using Catch::Contains;
#define MOVED Contains("device_array_test.cpp") && Contains("the array was moved from")
  CHECK_THROWS_WITH(a.data(), MOVED);
  CHECK_THROWS_WITH(a.size(), MOVED);
  CHECK_THROWS_WITH(a.bytes(), MOVED);
  CHECK_THROWS_WITH(a.shape(), MOVED);
  CHECK_THROWS_WITH(a.to_host(), MOVED);
  CHECK_THROWS_WITH(a.copy_from({}), MOVED);
  CHECK_THROWS_WITH(a.fill(1), MOVED);
  CHECK_THROWS_WITH(a.poison(), MOVED);
  CHECK_THROWS_WITH(a.tensor(), MOVED);
  CHECK_THROWS_WITH(a.mark_layout_static(), MOVED);
  // An assignment frees what was there; the other side is empty, not swapped.
  const int allocations = fake().allocations;
  fx::DeviceArray<float> c({5});
  c = std::move(b);
  CHECK(fake().allocations == allocations);
  CHECK(c.size() == 6);
  CHECK(c.shape()[1] == 3);
  CHECK_THROWS_WITH(b.size(), MOVED);
#undef MOVED
}

TEST_CASE("an array has all marks of a tensor") {
  fx::DeviceArray<float> a({4, 8});
  auto str = [](const fx::TensorArg &t) {
    fx::ArgPack pack;
    pack.tensor(t);
    return pack.types().at(0);
  };
  CHECK(str(a).str() == "tensor<f32, (?,?):(?{i64},1)>");
  CHECK(str(a.mark_layout_dynamic(1, 8)).str() == "tensor<f32, (?,?):(?{i64 div=8},1)>");
  CHECK(str(a.mark_layout_static()).str() == "tensor<f32, (4,8):(8,1)>");
  CHECK(str(a.mark_shape_dynamic(1, 4)).str() == "tensor<f32, (?,?{div=4}):(?{i64},1)>");
  CHECK(str(a.mark_stride_dynamic(0, 2)).str() == "tensor<f32, (?,?):(?{i64 div=2},1)>");
  CHECK(str(a.assume_aligned(64)).alignment == 64);
  CHECK_THROWS_AS(a.mark_shape_dynamic(1, 3), fx::TraceError);
  CHECK(str(a).str() == "tensor<f32, (?,?):(?{i64},1)>"); // marks are of copies
}

TEST_CASE("extents are any integers that 63 bits hold") {
  const std::vector<float> v(6);
  fx::DeviceArray<float> a({v.size()}), b({2, v.size() / 2}), c(std::vector<int>{3, 2});
  CHECK(a.size() == 6);
  CHECK(b.shape()[1] == 3);
  CHECK(c.shape()[0] == 3);
  CHECK(fx::tensor(a.data(), {v.size()}).size() == 6);
  CHECK(fx::tensor(a.data(), {2, v.size() / 2}, {v.size() / 2, 1u}).strides()[0] == 3);
  CHECK(fx::tensor(a.data(), b.shape()).shape()[1] == 3);
  const int row[] = {2, 3};
  CHECK(fx::tensor(a.data(), row).shape()[1] == 3);
  using Catch::Contains;
  CHECK_THROWS_WITH(fx::tensor(a.data(), {std::size_t(-1)}), Contains("device_array_test.cpp") &&
                                                                 Contains("18446744073709551615") &&
                                                                 Contains("63 bits"));
  CHECK_THROWS_WITH(fx::DeviceArray<float>({std::size_t(1) << 63}), Contains("63 bits"));
}

TEST_CASE("a negative extent is refused before anything is allocated") {
  const int before = fake().allocations;
  CHECK_THROWS_AS(fx::DeviceArray<float>({4, -1}), fx::TraceError);
  CHECK(fake().allocations == before);
}

TEST_CASE("an array whose bytes wrap is refused") {
  constexpr std::int64_t wraps = (std::int64_t(1) << 62) + 16; // times 4: 64 bytes
  CHECK_THROWS_WITH(fx::DeviceArray<int>({wraps}), Catch::Contains(std::to_string(wraps)) &&
                                                       Catch::Contains("more than 2^63 bytes"));
  CHECK_THROWS_AS(fx::DeviceArray<double>({std::int64_t(1) << 61, 1}), fx::TraceError);
  CHECK_THROWS_AS(fx::DeviceArray<std::int8_t>({std::int64_t(1) << 32, std::int64_t(1) << 31}),
                  fx::TraceError);
  CHECK(fx::DeviceArray<int>({0, std::int64_t(1) << 40}).bytes() == 0);
}

TEST_CASE("a driver without memory of the host that devices reach says so") {
  CHECK_THROWS_WITH(fx::HostMemory(8),
                    Catch::Contains("has no memory of the host that devices reach"));
}
