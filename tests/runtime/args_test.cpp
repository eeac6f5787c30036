// The conversion of host values to parameters: conversions, ranges, user types.
#include "fake_params.h"

#include <catch2/catch.hpp>

#include <limits>

namespace fx = flydsl;

namespace {
template <class P, class A> std::string packed(const A &argument) {
  fx::ArgPack pack;
  pack.beginArgument();
  fx::ArgTraits<P>::pack(pack, argument);
  if (pack.error())
    return pack.error();
  std::string text = pack.types().at(0).str() + " [";
  for (std::size_t i = 0; i < pack.byteCount(); ++i)
    text += (i ? " " : "") + std::to_string(static_cast<int>(pack.bytes()[i]));
  return text + "]";
}

template <class T, class A> T constant(const A &argument) {
  fx::ArgPack pack;
  fx::ArgTraits<fx::Constexpr<T>>::pack(pack, argument);
  CHECK(pack.error() == nullptr);
  CHECK(pack.byteCount() == 0);
  std::vector<fx::detail::ArgType> types = pack.types();
  fx::detail::ParamHandle handle{nullptr, &types.at(0)};
  fx::ParamReader reader(&handle, 1);
  return fx::ArgTraits<fx::Constexpr<T>>::make(reader).value();
}

enum class Mode { a = -3, b = 9 };

struct Pair {
  FakeTensor t;
  FakeInt32 n;
};
struct HostPair {
  fx::TensorArg t;
  int n;
};
} // namespace

template <> struct fx::ArgTraits<Pair> {
  static void pack(ArgPack &to, const HostPair &h) {
    ArgTraits<FakeTensor>::pack(to, h.t);
    ArgTraits<FakeInt32>::pack(to, h.n);
  }
  static Pair make(ParamReader &from) {
    FakeTensor t = ArgTraits<FakeTensor>::make(from);
    return {t, ArgTraits<FakeInt32>::make(from)};
  }
};

TEST_CASE("scalars are checked for range on the way in") {
  CHECK(packed<FakeInt32>(-2) == "i32 [254 255 255 255]");
  CHECK(packed<FakeInt32>(std::int64_t{5}) == "i32 [5 0 0 0]");
  const std::string out = "the integer is out of the parameter's range";
  CHECK(packed<FakeInt32>(std::int64_t{1} << 31) == out);
  CHECK(packed<FakeInt32>(std::numeric_limits<std::uint32_t>::max()) == out);
  CHECK(packed<FakeInt64>(std::numeric_limits<std::uint64_t>::max()) == out);
  CHECK(packed<FakeUInt8>(255) == "u8 [255]");
  CHECK(packed<FakeUInt8>(256) == out);
  CHECK(packed<FakeUInt8>(-1) == out);
  CHECK(packed<FakeFloat32>(1) == "f32 [0 0 128 63]");
  CHECK(packed<FakeFloat32>(1.0) == "f32 [0 0 128 63]");
  CHECK(packed<FakeBoolean>(true) == "boolean [1]");
}

TEST_CASE("constants come back as they went in") {
  CHECK(constant<int>(-5) == -5);
  CHECK(constant<bool>(true) == true);
  CHECK(constant<float>(0.1f) == 0.1f);
  CHECK(constant<double>(-0.1) == -0.1);
  CHECK(constant<Mode>(Mode::a) == Mode::a);
  CHECK(constant<fx::DType>(fx::bf16) == fx::bf16);
  CHECK(constant<std::string>("a text longer than one word") == "a text longer than one word");
  CHECK(constant<std::string>("").empty());
  CHECK(constant<std::uint64_t>(~std::uint64_t{0}) == ~std::uint64_t{0});
  fx::ArgPack pack;
  fx::ArgTraits<fx::Constexpr<int>>::pack(pack, std::int64_t{1} << 40);
  CHECK_THAT(pack.error(), Catch::Contains("out of the constant's range"));
}

TEST_CASE("a user's composite parameter takes what its traits say") {
  static float storage[4];
  fx::ArgPack pack;
  fx::ArgTraits<Pair>::pack(pack, HostPair{fx::tensor(storage, {4}), 3});
  auto types = pack.types();
  REQUIRE(types.size() == 2);
  CHECK(types[0].str() == "tensor<f32, ?:1>");
  CHECK(types[1].str() == "i32");
  CHECK(pack.byteCount() == 16);
}

TEST_CASE("too many arguments are an error, never an overflow") {
  static float storage[4];
  fx::ArgPack pack;
  auto t = fx::tensor(storage, {2, 2});
  for (int i = 0; i < 200; ++i) {
    pack.beginArgument();
    pack.tensor(t);
    pack.scalar(fx::DType::Kind::i64, std::int64_t{1});
    pack.constant(std::string_view("some text that takes room"));
    pack.staticValue({});
  }
  CHECK(pack.words() <= fx::ArgPack::maxWords);
  CHECK(pack.byteCount() <= fx::ArgPack::maxBytes);
  CHECK_THAT(pack.error(), Catch::Contains("too many"));
}
