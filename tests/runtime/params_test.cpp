// Structs of parameters: what a call packs for them, and what a kernel makes of that.
#include "fake_params.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace fx = flydsl;

namespace {

template <class Side> struct Inner {
  fx::Param<Side, FakeInt64> offset;
  fx::Param<Side, std::array<FakeFloat32, 2>> factors;
};
template <class Side> struct Outer {
  fx::Param<Side, FakeTensor> x;
  fx::Param<Side, std::optional<FakeTensor>> bias = {};
  fx::Param<Side, fx::Constexpr<int>> tile;
  Inner<Side> inner;
  fx::Param<Side, FakeUInt8> count;
  fx::Param<Side, FakeBoolean> flag;
};
using DeviceOuter = Outer<fx::OnDevice>;
using HostOuter = Outer<fx::OnHost>;

static_assert(std::is_same_v<decltype(HostOuter::x), fx::TensorArg>);
static_assert(std::is_same_v<decltype(HostOuter::bias), std::optional<fx::TensorArg>>);
static_assert(std::is_same_v<decltype(HostOuter::tile), int>);
static_assert(std::is_same_v<decltype(HostOuter::count), std::uint8_t>);
static_assert(std::is_same_v<decltype(HostOuter::flag), bool>);
static_assert(std::is_same_v<decltype(HostOuter::inner), Inner<fx::OnHost>>);
static_assert(std::is_same_v<fx::detail::HostParam<DeviceOuter>::type, HostOuter>);
static_assert(!std::is_constructible_v<HostOuter>); // a tensor can't be forgotten

float storage[16];
/// A tensor that passes its pointer alone, so that no padding stands between the arguments.
fx::TensorArg tensor(std::int64_t extent) {
  return fx::tensor(storage, {extent}).mark_layout_static();
}

struct Packed {
  std::vector<std::string> types;
  std::vector<std::byte> bytes;
  std::string error;
};
void expectEqual(const Packed &a, const Packed &b) {
  CHECK(a.error == b.error);
  CHECK(a.types == b.types);
  CHECK(a.bytes == b.bytes);
}
Packed packed(const auto &pack) {
  fx::ArgPack to;
  to.beginArgument();
  pack(to);
  if (to.error())
    return {
        .types = {}, .bytes = {}, .error = std::to_string(to.errorArgument()) + ": " + to.error()};
  Packed result;
  for (const fx::detail::ArgType &type : to.types())
    result.types.push_back(type.str());
  result.bytes.assign(to.bytes(), to.bytes() + to.byteCount());
  return result;
}
Packed ofStruct(const HostOuter &host) {
  return packed([&](fx::ArgPack &to) { fx::ArgTraits<DeviceOuter>::pack(to, host); });
}

} // namespace

TEST_CASE("a struct of parameters is packed as its fields one after the other") {
  const HostOuter host{.x = tensor(4),
                       .bias = tensor(8),
                       .tile = 64,
                       .inner = {.offset = -5, .factors = {0.5f, 2.0f}},
                       .count = 200,
                       .flag = true};
  const Packed asFields = packed([&](fx::ArgPack &to) {
    fx::ArgTraits<FakeTensor>::pack(to, tensor(4));
    to.presence(true);
    fx::ArgTraits<FakeTensor>::pack(to, tensor(8));
    fx::ArgTraits<fx::Constexpr<int>>::pack(to, 64);
    fx::ArgTraits<FakeInt64>::pack(to, -5);
    fx::ArgTraits<FakeFloat32>::pack(to, 0.5f);
    fx::ArgTraits<FakeFloat32>::pack(to, 2.0f);
    fx::ArgTraits<FakeUInt8>::pack(to, 200);
    fx::ArgTraits<FakeBoolean>::pack(to, true);
  });
  CHECK(asFields.types.size() == 9);
  expectEqual(ofStruct(host), asFields);
}

TEST_CASE("an optional argument that is left out passes nothing, and is another signature") {
  HostOuter host{.x = tensor(4), .tile = 1, .inner = {1, {1, 1}}, .count = 1, .flag = false};
  const Packed without = ofStruct(host);
  host.bias = tensor(4);
  const Packed with = ofStruct(host);
  CHECK(with.types.size() == without.types.size() + 1);
  CHECK(with.bytes.size() == without.bytes.size() + sizeof(void *));
  CHECK(with.types[1] != without.types[1]); // the constant that says whether it is there
}

TEST_CASE("a struct with fields of the same names is taken, whatever its type") {
  struct Mine {
    fx::TensorArg x;
    std::optional<fx::TensorArg> bias;
    int tile;
    Inner<fx::OnHost> inner;
    long count; // a wider integer that fits
    bool flag;
  };
  const HostOuter host{.x = tensor(4), .tile = 7, .inner = {1, {1, 2}}, .count = 9, .flag = true};
  const auto mine = [](long count) {
    const Mine host{
        .x = tensor(4), .bias = {}, .tile = 7, .inner = {1, {1, 2}}, .count = count, .flag = true};
    return packed([&](fx::ArgPack &to) { fx::ArgTraits<DeviceOuter>::pack(to, host); });
  };
  expectEqual(mine(9), ofStruct(host));
  CHECK(mine(256).error == "0: field count: the integer is out of the parameter's range");
}

TEST_CASE("fields of other names or in another order are no argument of the struct") {
  struct Swapped {
    fx::TensorArg b, a;
  };
  struct Parameter {
    FakeTensor a, b;
  };
  struct Fewer {
    fx::TensorArg a;
  };
  struct Same {
    fx::TensorArg a, b;
  };
  CHECK_FALSE(fx::detail::haveSameFields<Parameter, Swapped>());
  CHECK_FALSE(fx::detail::haveSameFields<Parameter, Fewer>());
  CHECK(fx::detail::haveSameFields<Parameter, Same>());
}

TEST_CASE("an error names the argument and the field, inside of structs too") {
  struct Narrow {
    FakeUInt8 lanes;
  };
  struct Wide {
    FakeInt32 first;
    Narrow last;
  };
  struct HostNarrow {
    int lanes;
  };
  struct HostWide {
    std::int64_t first;
    HostNarrow last;
  };
  const auto error = [](const HostWide &host) {
    return packed([&](fx::ArgPack &to) { fx::ArgTraits<Wide>::pack(to, host); }).error;
  };
  CHECK(error({1, {255}}).empty());
  CHECK(error({1, {256}}) == "0: field last.lanes: the integer is out of the parameter's range");
  CHECK(error({std::int64_t{1} << 40, {1}}) ==
        "0: field first: the integer is out of the parameter's range");
}
