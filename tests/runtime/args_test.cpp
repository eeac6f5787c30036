// The conversion of host values to parameters: conversions, ranges, user types.
#include "fake_params.h"

#include <catch2/catch.hpp>

#include <cmath>
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

namespace {
enum class Order { rows, columns = 5 };
struct Stage {
  int count = 2;
  double slack = 0.5;
  friend bool operator==(const Stage &, const Stage &) = default;
};
struct Tile {
  int m = 128;
  unsigned n = 64;
  std::int64_t k = -8;
  fx::DType dtype = fx::f16;
  bool swizzled = true;
  bool split = false;
  std::string schedule = "inter-wave";
  std::array<int, 2> waves = {2, 4};
  Stage stage;
  Order order = Order::columns;
  friend bool operator==(const Tile &, const Tile &) = default;
};
struct OneField {
  int only = 7;
};

struct Read {
  Tile tile;
  std::string symbol;
};

Read readBack(const Tile &tile) {
  fx::ArgPack pack;
  fx::ArgTraits<fx::Constexpr<Tile>>::pack(pack, tile);
  CHECK(pack.error() == nullptr);
  CHECK(pack.byteCount() == 0);
  std::vector<fx::detail::ArgType> types = pack.types();
  std::vector<fx::detail::ParamHandle> handles;
  for (const fx::detail::ArgType &type : types)
    handles.push_back({nullptr, &type});
  fx::ParamReader reader(handles.data(), handles.size());
  const auto constant = fx::ArgTraits<fx::Constexpr<Tile>>::make(reader);
  CHECK(reader.left() == 0);
  CHECK(constant->m == tile.m);
  return {constant.value(), reader.symbol().str()};
}
} // namespace

TEST_CASE("a configuration is read back field by field, and names the kernel's symbol") {
  static_assert(fx::detail::fieldCount<Tile> == 10);
  static_assert(fx::detail::fieldNames<Tile>[4] == "swizzled");
  static_assert(fx::detail::fieldNames<OneField>[0] == "only");
  const Read read = readBack({});
  CHECK(read.tile == Tile{});
  CHECK(read.symbol == "128x64xm8_f16_swizzled_inter_wave_2x4x2x0p5x5");

  Tile other;
  other.m = 1;
  other.dtype = fx::f8E4M3FN;
  other.swizzled = false;
  other.split = true;
  other.schedule = "";
  other.stage.slack = -1e300;
  const Read second = readBack(other);
  CHECK(second.tile == other);
  CHECK(second.symbol == "1x64xm8_f8E4M3FN_split_2x4x2xm1e300x5");
}

TEST_CASE("configurations that differ in any field have different signatures") {
  const auto words = [](const Tile &tile) {
    fx::ArgPack pack;
    fx::ArgTraits<fx::Constexpr<Tile>>::pack(pack, tile);
    return std::vector<std::uint64_t>(pack.word() + 1, pack.word() + pack.words());
  };
  std::vector<Tile> tiles(11);
  tiles[1].m = 129;
  tiles[2].n = 1;
  tiles[3].k = 8;
  tiles[4].dtype = fx::bf16;
  tiles[5].swizzled = false;
  tiles[6].split = true;
  tiles[7].schedule = "intra-wave";
  tiles[8].waves = {4, 2};
  tiles[9].stage.slack = 0.25;
  tiles[10].order = Order::rows;
  for (std::size_t a = 0; a < tiles.size(); ++a)
    for (std::size_t b = 0; b < tiles.size(); ++b)
      CHECK((words(tiles[a]) == words(tiles[b])) == (a == b));
}

TEST_CASE("a symbol's text that is too long ends in its hash") {
  fx::detail::SymbolText a, b;
  for (int i = 0; i < 60; ++i) {
    a.number(std::int64_t{1000} + i);
    b.number(std::int64_t{1000} + i);
  }
  CHECK(a.str() == b.str());
  CHECK(a.str().size() == 128);
  b.number(std::int64_t{1});
  CHECK(a.str() != b.str());
}

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
  CHECK(packed<FakeFloat32>(HUGE_VAL) == "f32 [0 0 128 127]");
  CHECK(packed<FakeFloat32>(1e300) ==
        "the number is out of the parameter's range: it would become infinite");
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
  const auto error = [](auto parameter, auto value) {
    fx::ArgPack pack;
    fx::ArgTraits<decltype(parameter)>::pack(pack, value);
    return std::string(pack.error() ? pack.error() : "none");
  };
  const fx::Constexpr<int> number(0);
  CHECK(error(number, -3.0) == "none");
  CHECK_THAT(error(number, 2.5), Catch::Contains("no integer of the constant's range"));
  CHECK_THAT(error(number, 0x1p31), Catch::Contains("no integer of the constant's range"));
  CHECK(error(number, -0x1p31) == "none");
  CHECK(error(fx::Constexpr<std::uint64_t>(0), 0x1p63) == "none");
  CHECK_THAT(error(fx::Constexpr<std::uint64_t>(0), 0x1p64), Catch::Contains("no integer"));
  CHECK(error(fx::Constexpr<float>(0), 0.5) == "none");
  CHECK_THAT(error(fx::Constexpr<float>(0), 1e300), Catch::Contains("would become infinite"));
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
