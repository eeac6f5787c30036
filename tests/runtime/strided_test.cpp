// What a call passes for memory of run-time strides.
#include <flydsl/host/device_array.h>
#include <flydsl/strided.h>

#include <catch2/catch.hpp>

namespace fx = flydsl;
using Catch::Contains;
using Catch::EndsWith;

namespace {
float storage[4096];
using Strides1 = std::array<std::int64_t, 1>;
using Strides2 = std::array<std::int64_t, 2>;

template <int Modes> std::string refusal(const fx::TensorArg &tensor) {
  try {
    (void)fx::strided<Modes>(tensor);
  } catch (const fx::TraceError &error) {
    CHECK_THAT(error.where().file, Contains("strided_test.cpp"));
    return error.what();
  }
  return "no error";
}
} // namespace

TEST_CASE("a tensor's address and the strides of its leading modes are passed") {
  const auto here = std::int64_t(reinterpret_cast<std::uintptr_t>(storage));
  const fx::TensorArg rows = fx::tensor(storage, {8, 16}, {40, 1});
  CHECK(fx::strided<1>(rows).address == here);
  CHECK(fx::strided<1>(rows).stride == Strides1{40});
  CHECK(fx::strided<2>(rows).stride == Strides2{40, 1});
  CHECK(fx::strided<0>(fx::tensor(storage, {8, 16})).address == here);
  // By columns: no mode is packed.
  CHECK(fx::strided<2>(fx::tensor(storage, {8, 16}, {1, 8})).stride == Strides2{1, 8});
  fx::DeviceArray<float> array({4, 4});
  CHECK(fx::strided<1>(array).stride == Strides1{4});
}

TEST_CASE("the stride of a mode with at most one element is 0, whatever the caller says") {
  CHECK(fx::strided<1>(fx::tensor(storage, {1, 16}, {99, 1})).stride == Strides1{0});
  CHECK(fx::strided<1>(fx::tensor(storage, {8, 1}, {5, 77})).stride == Strides1{5});
}

TEST_CASE("an operand that is left out has the address 0") {
  const std::optional<fx::TensorArg> none;
  CHECK(fx::strided<1>(none).address == 0);
  CHECK(fx::strided<1>(none).stride == Strides1{0});
  const std::optional<fx::TensorArg> some = fx::tensor(storage, {8, 16}, {40, 1});
  CHECK(fx::strided<1>(some).stride == Strides1{40});
}

TEST_CASE("modes that are taken for packed and are not are refused") {
  CHECK_THAT(
      refusal<0>(fx::tensor(storage, {8, 16}, {40, 1})),
      EndsWith(": strided<0> of a tensor of shape (8,16) and strides (40,1): the modes after the "
               "first 0 are not packed as in a contiguous tensor; take more strides, or pass a "
               "contiguous copy"));
  CHECK_THAT(refusal<1>(fx::tensor(storage, {8, 16}, {1, 8})), Contains("are not packed"));
  CHECK_THAT(refusal<1>(fx::tensor(storage, {2, 4, 8}, {64, 16, 1})), Contains("are not packed"));
  CHECK_THAT(
      refusal<3>(fx::tensor(storage, {8, 16})),
      EndsWith(
          ": strided<3> of a tensor of shape (8,16) and strides (16,1): it has fewer modes than "
          "strides are asked for; strided<2> takes all of its strides"));
}
