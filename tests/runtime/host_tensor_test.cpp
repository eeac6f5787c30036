#include <flydsl/host/args.h>

#include <catch2/catch.hpp>

#include <string>

namespace fx = flydsl;

namespace {
alignas(64) float storage[64];

fx::detail::ArgType typeOf(const fx::TensorArg &tensor) {
  fx::ArgPack pack;
  pack.tensor(tensor);
  REQUIRE(pack.error() == nullptr);
  return pack.types().at(0);
}

std::string str(const fx::TensorArg &tensor) { return typeOf(tensor).str(); }

template <class F> std::string message(F &&call) {
  try {
    call();
  } catch (const fx::TraceError &error) {
    CHECK(error.where().known());
    return error.what();
  }
  return "no error";
}
} // namespace

TEST_CASE("by default all is dynamic but the stride of the contiguous mode") {
  CHECK(str(fx::tensor(storage, {4, 8})) == "tensor<f32, (?,?):(?{i64},1)>");
  CHECK(str(fx::tensor(storage, {4, 8}, {1, 4})) == "tensor<f32, (?,?):(1,?{i64})>");
  CHECK(str(fx::tensor(storage, {8})) == "tensor<f32, ?:1>");
  CHECK(str(fx::tensor(storage, {2, 2, 2})) == "tensor<f32, (?,?,?):(?{i64},?{i64},1)>");
  CHECK(str(fx::tensor(storage, {4, 4}, {8, 2})) == "tensor<f32, (?,?):(?{i64},?{i64})>");
}

TEST_CASE("a row-major tensor keeps its signature when an extent happens to be 1") {
  CHECK(str(fx::tensor(storage, {8, 1})) == "tensor<f32, (?,?):(?{i64},1)>");
  CHECK(str(fx::tensor(storage, {1, 8})) == "tensor<f32, (?,?):(?{i64},1)>");
}

TEST_CASE("the leading mode may have extent 1") {
  // B of (N, K) in columns, for N = 1 as for others: one signature.
  auto columns = [](std::int64_t n, std::int64_t k) {
    return fx::tensor(storage, {n, k}, {k, 1}).mark_layout_dynamic(0);
  };
  CHECK(str(columns(1, 8)) == "tensor<f32, (?,?):(1,?{i64})>");
  CHECK(str(columns(1, 8)) == str(fx::tensor(storage, {4, 8}, {1, 4}).mark_layout_dynamic(0)));
  CHECK_THAT(message([&] { columns(2, 8); }), Catch::Contains("must have stride 1"));
  // Nobody names it: a mode of extent 1 does not lead where another one can.
  CHECK(str(fx::tensor(storage, {1, 8, 4}, {1, 1, 8}).mark_layout_dynamic()) ==
        "tensor<f32, (?,?,?):(?{i64},1,?{i64})>");
  CHECK(str(fx::tensor(storage, {8, 1}).mark_layout_dynamic()) ==
        str(fx::tensor(storage, {8, 4}).mark_layout_dynamic()));
}

TEST_CASE("what is static and what is dynamic can be said") {
  auto t = fx::tensor(storage, {4, 8});
  CHECK(str(fx::TensorArg(t).mark_layout_static()) == "tensor<f32, (4,8):(8,1)>");
  CHECK(str(fx::TensorArg(t).mark_layout_dynamic(1, 8)) == "tensor<f32, (?,?):(?{i64 div=8},1)>");
  CHECK(str(fx::TensorArg(t).mark_layout_static().mark_shape_dynamic(0, 2)) ==
        "tensor<f32, (?{div=2},8):(8,1)>");
  CHECK(str(fx::TensorArg(t).mark_layout_static().mark_stride_dynamic(0, 4)) ==
        "tensor<f32, (4,8):(?{i64 div=4},1)>");
  CHECK(typeOf(t).alignment == 4);
  CHECK(typeOf(fx::TensorArg(t).assume_aligned(16)).alignment == 16);
}

TEST_CASE("an extent over 31 bits is passed in 64, and large tensors are types of their own") {
  CHECK(str(fx::tensor(storage, {std::int64_t{1} << 31, 2})) ==
        "tensor<f32, (?{i64},?):(?{i64},1), 4 GiB or more>");
  CHECK(str(fx::tensor(storage, {(std::int64_t{1} << 31) - 1, 2})) ==
        "tensor<f32, (?,?):(?{i64},1), 4 GiB or more, 2^31 elements or more>");
  CHECK(str(fx::tensor(storage, fx::f8E5M2, {(std::int64_t{1} << 31) - 1, 2})) ==
        "tensor<f8E5M2, (?,?):(?{i64},1), 2^31 elements or more>");
  CHECK(str(fx::tensor(storage, fx::f8E5M2, {1 << 30, 1})) == "tensor<f8E5M2, (?,?):(?{i64},1)>");
}

TEST_CASE("the buffer holds the pointer and the packed dynamic leaves") {
  fx::ArgPack pack;
  pack.tensor(fx::tensor(storage, {4, 8}));
  pack.scalar(fx::DType::Kind::i32, std::int32_t{7});
  pack.tensor(fx::tensor(storage + 16, {48}));
  // pointer, i32, i32, i64 | i32 | pad | pointer, i32
  REQUIRE(pack.byteCount() == 8 + 16 + 4 + 4 + 8 + 4);
  auto at = [&]<class T>(std::size_t offset, T) {
    T value;
    std::memcpy(&value, pack.bytes() + offset, sizeof value);
    return value;
  };
  CHECK(at(0, static_cast<float *>(nullptr)) == storage);
  CHECK(at(8, std::int32_t{}) == 4);
  CHECK(at(12, std::int32_t{}) == 8);
  CHECK(at(16, std::int64_t{}) == 8);
  CHECK(at(24, std::int32_t{}) == 7);
  CHECK(at(32, static_cast<float *>(nullptr)) == storage + 16);
  CHECK(at(40, std::int32_t{}) == 48);
}

TEST_CASE("signatures differ where the code would, and only there") {
  auto words = [](const fx::TensorArg &t) {
    fx::ArgPack pack;
    pack.tensor(t);
    return std::vector<std::uint64_t>(pack.word() + 1, pack.word() + pack.words());
  };
  const auto t = fx::tensor(storage, {4, 8});
  CHECK(words(t) == words(fx::tensor(storage + 4, {2, 16})));
  CHECK(words(t) != words(fx::tensor(reinterpret_cast<int *>(storage), {4, 8})));
  CHECK(words(t) != words(fx::tensor(storage, {4, 8, 1})));
  CHECK(words(t) != words(fx::TensorArg(t).mark_layout_static()));
  CHECK(words(t) != words(fx::TensorArg(t).mark_layout_dynamic(1, 8)));
  CHECK(words(t) != words(fx::TensorArg(t).assume_aligned(16)));
  CHECK(words(t) != words(fx::tensor(storage, {4, 8}, {1, 4})));

  // Equal numbers in different places: leaves of 1 have no word of their own.
  auto fixed = [&](std::initializer_list<std::int64_t> shape,
                   std::initializer_list<std::int64_t> strides) {
    return words(fx::tensor(storage, shape, strides).mark_layout_static());
  };
  CHECK(fixed({8, 1}, {1, 1}) != fixed({1, 8}, {1, 1}));
  CHECK(fixed({8, 1}, {1, 1}) != fixed({1, 1}, {8, 1}));
  CHECK(fixed({1, 1}, {8, 1}) != fixed({1, 1}, {1, 8}));
  CHECK(words(fx::TensorArg(t).mark_shape_dynamic(0, 4)) !=
        words(fx::TensorArg(t).mark_shape_dynamic(1, 4)));
}

TEST_CASE("every leaf comes back from the signature") {
  auto str = [](fx::TensorArg t) {
    fx::ArgPack pack;
    pack.tensor(t);
    return pack.types().at(0).str();
  };
  const std::int64_t eight[] = {2, 1, 3, 1, 4, 1, 5, 6}, steps[] = {1, 1, 2, 7, 1, 6, 24, 120};
  fx::TensorArg t(storage, fx::f32, eight, steps);
  CHECK(str(t.mark_layout_static()) == "tensor<f32, (2,1,3,1,4,1,5,6):(1,1,2,7,1,6,24,120)>");
  t.mark_shape_dynamic(7, 3).mark_shape_dynamic(1).mark_stride_dynamic(6, 8).mark_stride_dynamic(1);
  CHECK(str(t) == "tensor<f32, (2,?,3,1,4,1,5,?{div=3}):(1,?{i64},2,7,1,6,?{i64 div=8},120)>");
}

TEST_CASE("mistakes are told with the user's line") {
  using Catch::Contains;
  CHECK_THAT(message([] { fx::tensor(storage, std::vector<std::int64_t>{}); }),
             Catch::Contains("1 to 8 modes"));
  CHECK_THAT(message([] { fx::tensor(storage, {1, 1, 1, 1, 1, 1, 1, 1, 1}); }),
             Catch::Contains("1 to 8 modes"));
  CHECK_THAT(message([] { fx::tensor(storage, {4, 8}, {1}); }),
             Catch::Contains("differ in the number of modes"));
  CHECK_THAT(message([] { fx::tensor(storage, {4, -8}); }),
             Catch::Contains("negative extent in the shape (4,-8)"));
  CHECK_THAT(message([] { fx::tensor(storage, {std::int64_t{1} << 40, std::int64_t{1} << 40}); }),
             Catch::Contains("more elements than 64 bits count"));
  CHECK_THAT(message([] { fx::tensor(reinterpret_cast<char *>(storage) + 1, fx::f32, {4}); }),
             Catch::Contains("not a multiple of 4 bytes"));
  auto t = fx::tensor(storage, {4, 6});
  CHECK_THAT(message([&] { t.mark_layout_dynamic(0); }),
             Catch::Contains("leading mode 0 must have stride 1"));
  CHECK_THAT(message([&] { t.mark_layout_dynamic(2); }),
             Catch::Contains("mode 2 of a tensor with 2 modes"));
  CHECK_THAT(message([&] { t.mark_layout_dynamic(1, 4); }),
             Catch::Contains("stride 6 of mode 0 is no multiple of 4"));
  CHECK_THAT(message([&] { t.mark_shape_dynamic(0, 0); }), Catch::Contains("divisibility of 0"));
  CHECK_THAT(message([&] { t.assume_aligned(3); }), Catch::Contains("not a power of two"));
  CHECK_THAT(message([&] { t.at(storage + 1).assume_aligned(16); }),
             Catch::Contains("not a multiple of 16"));
  CHECK_THAT(message([] { fx::tensor(storage, {2, 2}, {4, 2}).mark_layout_dynamic(); }),
             Catch::Contains("no mode has stride 1"));
}

TEST_CASE("a null pointer is remembered, but not for an empty tensor") {
  fx::ArgPack pack;
  pack.tensor(fx::tensor(static_cast<float *>(nullptr), {0, 4}));
  CHECK(pack.error() == nullptr);
  pack.beginArgument();
  pack.beginArgument();
  pack.tensor(fx::tensor(static_cast<float *>(nullptr), {4}));
  CHECK_THAT(pack.error(), Catch::Contains("null"));
  CHECK(pack.nullOnly());
  CHECK(pack.errorArgument() == 1);
  pack.beginArgument();
  pack.fail("something worse");
  CHECK_FALSE(pack.nullOnly());
  CHECK(pack.errorArgument() == 2);
}

TEST_CASE("a tensor that spans more than an address space is refused, whatever wraps") {
  alignas(64) static float data[16];
  constexpr std::int64_t big = std::int64_t(1) << 62;
  auto make = [&](std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
    return fx::tensor(data, shape, strides);
  };
  // Elements times bits: 2^126 * 32 wraps to nothing in 128 bits.
  CHECK_THROWS_WITH(make({big / 2, 2}, {big, 1}), Catch::Contains("spans more than 2^63 bytes"));
  CHECK_THROWS_AS(make({2}, {std::numeric_limits<std::int64_t>::min()}), fx::TraceError);
  CHECK_THROWS_AS(make({3}, {big}), fx::TraceError);
  CHECK_NOTHROW(make({2}, {std::int64_t(1) << 60}));
  CHECK_NOTHROW(make({0, 3}, {big, big})); // nothing in it
  CHECK_NOTHROW(make({1, 4}, {big, 1}));   // a stride that is never taken
}
