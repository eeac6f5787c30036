// Shared memory, predicated and indexed copies, buffers, and tensors past 4 GiB.
#include "run.h"

#include <flydsl/kernel/select.h>

#include <catch2/catch.hpp>

#include <cstring>
#include <numeric>

namespace fx = flydsl;
using fx::_;

namespace {
struct Inner {
  fx::Array<fx::Int32, 64> counts;
  fx::Array<fx::Float16, 64, 16> halves;
};
struct Storage {
  fx::Array<fx::Float32, 64, 128> floats;
  Inner inner;
};
} // namespace

namespace {
constexpr int tile = 64;
/// y = x^T of one tile: written to swizzled shared memory by rows, read by columns; an
/// instruction takes `bits`.
void transposed(fx::Tensor x, fx::Tensor y, int bits) {
  auto memory = fx::SharedAllocator().allocate<fx::Array<fx::Float16, tile * tile, 16>>();
  auto rows = memory.view(
      fx::make_composed_layout(fx::Swizzle(3, 3, 3), fx::make_layout({tile, tile}, {tile, 1})));
  auto columns = memory.view(
      fx::make_composed_layout(fx::Swizzle(3, 3, 3), fx::make_layout({tile, tile}, {1, tile})));
  auto wide = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f16);
  auto thr = fx::make_tiled_copy_tv(wide, fx::make_ordered_layout({32, 8}, {1, 0}),
                                    fx::make_ordered_layout({1, 8}, {1, 0}))
                 .get_slice(fx::thread_idx().x);
  auto r = fx::make_fragment_like(thr.partition_S(x));
  fx::copy(wide, thr.partition_S(x), r);
  fx::copy(wide, r, thr.partition_D(rows));
  fx::gpu::barrier();
  fx::copy(fx::make_copy_atom(fx::UniversalCopy(bits), fx::f16), thr.partition_S(columns), r);
  fx::copy(wide, r, thr.partition_D(y));
}
} // namespace

TEST_CASE("a copy whose elements a swizzle takes apart finds each of them") {
  auto x = fx::DeviceArray<fx::half_t>::random({tile, tile}, 11);
  fx::DeviceArray<fx::half_t> y({tile, tile});
  y.poison();
  auto fixed = [](const fx::DeviceArray<fx::half_t> &a) {
    return fx::TensorArg(a.tensor()).mark_layout_static().assume_aligned(16);
  };
  const fx::Kernel kernel{"by_columns", [](fx::Tensor a, fx::Tensor b, fx::Constexpr<int> bits) {
                            transposed(a, b, bits);
                          }};
  kernel(fixed(x), fixed(y), 16).launch({.block = 256});
  const auto in = x.to_host(), out = y.to_host();
  for (std::size_t m = 0; m < tile; ++m)
    for (std::size_t n = 0; n < tile; ++n)
      REQUIRE(float(out[n * tile + m]) == float(in[m * tile + n]));
  CHECK_THROWS_WITH(kernel(fixed(x), fixed(y), 128).compile({.block = 256}),
                    Catch::Contains("whose swizzle separates them; a narrower atom does"));
}

TEST_CASE("a wide copy of elements with a stride is refused") {
  const fx::Kernel kernel{"apart", [](fx::Tensor x) {
                            auto r = fx::make_rmem_tensor(4, fx::f32);
                            fx::copy(fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32),
                                     fx::make_view(x.iter(), fx::make_layout(4, 64)), r);
                            x(0) = r(0);
                          }};
  fx::DeviceArray<float> x({256});
  CHECK_THROWS_WITH(kernel(x).compile({.block = 64}),
                    Catch::Contains("takes neighbours, but those of 4:64 are not contiguous"));
}

TEST_CASE("a predicate of coordinates has a value for each of them") {
  // Two modes of the predicate step alike along two axes.
  const fx::Kernel kernel{
      "corner", [](fx::Tensor out) {
        auto places = fx::make_view(
            fx::make_int_tuple(0, 0),
            fx::make_layout(fx::make_shape(1, 2, 2), fx::make_stride(0, fx::E<0>(8), fx::E<1>(8))));
        auto ones = fx::make_rmem_tensor(fx::make_shape(1, 2, 2), fx::f32);
        ones.fill(1);
        auto pred = fx::make_fragment_like(places, fx::boolean);
        for (int i = 0; i < 4; ++i)
          pred(i) = fx::elem_less(places(i), fx::make_shape(16, 8));
        auto to = fx::make_view(out.iter(),
                                fx::make_layout(fx::make_shape(1, 2, 2), fx::make_stride(0, 1, 2)));
        fx::copy(fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32), ones, to, {.pred = pred});
      }};
  fx::DeviceArray<float> out({4});
  out.fill(0);
  kernel(out).launch({.block = 1});
  CHECK(out.to_host() == std::vector<float>{1, 1, 0, 0});
}

TEST_CASE("structs lie in static and in dynamic shared memory") {
  for (auto placement : {fx::SharedPlacement::static_, fx::SharedPlacement::dynamic}) {
    const fx::Kernel kernel{"shared", [placement](fx::Tensor out, fx::Tensor in) {
                              auto tid = fx::thread_idx().x;
                              fx::SharedAllocator allocator(placement);
                              auto storage = allocator.allocate<Storage>();
                              CHECK(allocator.bytes() == 256 + 256 + 128);
                              auto floats = storage.floats.view(),
                                   counts = storage.inner.counts.view(),
                                   halves = storage.inner.halves.view();
                              floats(tid) = in(tid);
                              counts(tid) = tid * 3;
                              halves(tid) = in(tid).to(fx::f16);
                              fx::gpu::barrier();
                              fx::Int32 other = 63 - tid;
                              out(tid, 0) = floats(other);
                              out(tid, 1) = counts(other).to(fx::f32);
                              out(tid, 2) = halves(other).to(fx::f32);
                            }};
    auto in = fx::DeviceArray<float>::random({64}, 9);
    fx::DeviceArray<float> out({64, 3});
    out.poison();
    const bool isDynamic = placement == fx::SharedPlacement::dynamic;
    kernel(out, in).launch({.grid = 1, .block = 64, .smem = isDynamic ? 640u : 0u});
    auto h = out.to_host(), x = in.to_host();
    int wrong = 0;
    for (std::size_t t = 0; t < 64; ++t)
      wrong += !(h[t * 3] == x[63 - t] && h[t * 3 + 1] == float((63 - t) * 3) &&
                 std::fabs(h[t * 3 + 2] - x[63 - t]) < 1e-3f);
    CHECK(wrong == 0);
  }
}

TEST_CASE("copies, gathers and scatters happen where their predicates hold") {
  const fx::Kernel kernel{
      "predicated", [](fx::Tensor out, fx::Tensor in, fx::Tensor places) {
        auto tid = fx::thread_idx().x;
        auto atom = fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32);
        auto pred = fx::make_rmem_tensor(2, fx::boolean);
        auto offsets = fx::make_rmem_tensor(2, fx::i32);
        for (int i = 0; i < 2; ++i) {
          pred(i) = (tid + i) % 3 != 0;
          offsets(i) = places(tid * 2 + i);
        }
        auto values = fx::make_rmem_tensor({1, 2}, fx::f32);
        values.fill(-1);
        fx::gather(atom, in.iter(), offsets, values, {.pred = pred});
        fx::scatter(atom, values, out.iter(), offsets, {.pred = pred});
        // A plain copy of two calls, each with its own predicate.
        auto from = fx::make_view(in.iter() + tid * 2, fx::make_layout({1, 2}, {1, 1}));
        auto to = fx::make_view(out.iter() + 128 + tid * 2, fx::make_layout({1, 2}, {1, 1}));
        fx::copy(atom, from, to,
                 {.pred = fx::make_view(pred.iter(), fx::make_layout({1, 2}, {1, 1}))});
      }};
  std::vector<int> places(128);
  for (std::size_t i = 0; i < 128; ++i)
    places[i] = int(i * 53 % 128);
  auto in = fx::DeviceArray<float>::random({128}, 10);
  fx::DeviceArray<int> at({128});
  fx::DeviceArray<float> out({256});
  at.copy_from(places);
  out.copy_from(std::vector<float>(256, 7));
  kernel(out, in, at).launch({.grid = 1, .block = 64});
  auto h = out.to_host(), x = in.to_host();
  int wrong = 0;
  for (std::size_t t = 0; t < 64; ++t)
    for (std::size_t i = 0; i < 2; ++i) {
      const auto place = std::size_t(places[t * 2 + i]);
      const bool holds = (t + i) % 3 != 0;
      wrong += h[place] != (holds ? x[place] : 7);
      wrong += h[128 + t * 2 + i] != (holds ? x[t * 2 + i] : 7);
    }
  CHECK(wrong == 0);
}

TEST_CASE("truth values take a byte in memory") {
  // Global memory to registers, to shared memory beside other data, and out through a buffer.
  struct Flags {
    fx::Array<fx::Boolean, 256> flags;
    fx::Array<fx::Int32, 32> numbers;
  };
  const fx::Kernel kernel{"flags", [](fx::Tensor out, fx::Tensor in, fx::Tensor numbers) {
                            auto tid = fx::thread_idx().x;
                            auto part = [&](const fx::Pointer &at) {
                              return fx::make_view(at + tid * 8, fx::make_layout(8, 1));
                            };
                            auto shared = fx::SharedAllocator().allocate<Flags>();
                            shared.numbers.view()(tid) = tid;
                            auto held = fx::make_rmem_tensor(8, fx::boolean);
                            held.store(part(in.iter()).load());
                            fx::copy(fx::make_copy_atom(fx::UniversalCopy(8), fx::boolean), held,
                                     part(shared.flags.ptr()));
                            fx::gpu::barrier();
                            numbers(tid) = shared.numbers.view()(31 - tid);
                            auto buffer = fx::rocdl::make_buffer_tensor(out, {.max_size = false});
                            for (int i = 0; i < 8; ++i)
                              buffer(tid * 8 + i) =
                                  fx::Boolean(shared.flags.view()(255 - (tid * 8 + i)));
                          }};
  std::vector<std::uint8_t> bytes(256);
  for (std::size_t i = 0; i < 256; ++i)
    bytes[i] = i * i % 7 < 3;
  fx::DeviceArray<std::uint8_t> in({256}), out({256});
  fx::DeviceArray<int> numbers({32});
  in.copy_from(bytes);
  out.poison();
  auto flags = [](auto &array) {
    return fx::tensor(static_cast<void *>(array.data()), fx::boolean, {256});
  };
  kernel(flags(out), flags(in), numbers).launch({.grid = 1, .block = 32});
  auto h = out.to_host();
  auto n = numbers.to_host();
  int wrong = 0;
  for (std::size_t i = 0; i < 256; ++i)
    wrong += h[i] != bytes[255 - i];
  for (std::size_t t = 0; t < 32; ++t)
    wrong += n[t] != int(31 - t);
  CHECK(wrong == 0);
}

TEST_CASE("a buffer reads zero past its bound, and writes nothing there") {
  const fx::Kernel kernel{
      "bounded", [](fx::Tensor out, fx::Tensor in, fx::Int64 bytes) {
        auto tid = fx::thread_idx().x;
        auto atom = fx::make_copy_atom(fx::rocdl::BufferCopy32b(), fx::f32);
        auto source = fx::rocdl::make_buffer_tensor(in, {.num_records_bytes = bytes});
        auto target = fx::rocdl::make_buffer_tensor(out, {.max_size = false});
        auto one = fx::make_rmem_tensor(1, fx::f32);
        fx::copy(atom, fx::make_view(source.iter() + tid, fx::make_layout(1, 1)), one);
        fx::copy(atom, one, fx::make_view(target.iter() + tid, fx::make_layout(1, 1)));
      }};
  auto in = fx::DeviceArray<float>::random({64}, 11);
  fx::DeviceArray<float> out({64});
  auto x = in.to_host();
  // A bound past 32 bits does not wrap to a small one.
  for (std::int64_t bytes : {std::int64_t(40 * 4), (std::int64_t(1) << 32) + 16}) {
    out.poison();
    kernel(fx::tensor(out.data(), {48}), in, bytes).launch({.grid = 1, .block = 64});
    auto h = out.to_host();
    int wrong = 0;
    for (std::size_t t = 0; t < 48; ++t)
      wrong += h[t] != (t < 40 || bytes > 160 ? x[t] : 0);
    CHECK(wrong == 0);
    CHECK(!(h[50] == x[50]));
  }
}

TEST_CASE("raw buffer instructions read, write and check their range") {
  const fx::Kernel kernel{
      "raw", [](fx::Tensor out, fx::Tensor in) {
        auto tid = fx::thread_idx().x;
        auto from = fx::rocdl::make_buffer_tensor(in).iter(),
             to = fx::rocdl::make_buffer_tensor(out).iter();
        fx::Vector four = fx::rocdl::raw_buffer_load(from, tid * 16, fx::f32, 4);
        fx::Numeric one =
            fx::rocdl::raw_buffer_load(from, tid * 4, fx::f32, {.soffset = fx::Int32(256)});
        fx::rocdl::raw_buffer_store(four + one, to, tid * 16);
        fx::Numeric byte = fx::rocdl::raw_buffer_load(from, tid, fx::u8);
        fx::rocdl::raw_buffer_store(byte.to(fx::f32), to, tid * 4, {.soffset = fx::Int32(1024)});
        fx::rocdl::raw_buffer_atomic(fx::AtomicOp::add, fx::Float32(1), to, fx::Int32(0),
                                     {.soffset = fx::Int32(1280)});
        fx::Numeric old =
            fx::rocdl::raw_buffer_atomic(fx::AtomicOp::max, tid.to(fx::u32), to, fx::Int32(1284));
        fx::rocdl::raw_buffer_store(old, to, 1288 + tid * 4);
      }};
  auto in = fx::DeviceArray<float>::random({256}, 12);
  fx::DeviceArray<float> out({512});
  out.copy_from(std::vector<float>(512, 0));
  kernel(out, in).launch({.grid = 1, .block = 64});
  auto h = out.to_host(), x = in.to_host();
  int wrong = 0;
  const auto *bytes = reinterpret_cast<const std::uint8_t *>(x.data());
  for (std::size_t t = 0; t < 64; ++t) {
    for (std::size_t i = 0; i < 4; ++i)
      wrong += h[t * 4 + i] != x[t * 4 + i] + x[64 + t];
    wrong += h[256 + t] != float(bytes[t]);
  }
  CHECK(wrong == 0);
  CHECK(h[320] == 64);
  std::uint32_t most;
  std::memcpy(&most, &h[321], 4);
  CHECK(most == 63);
}

TEST_CASE("tensors of 4 GiB and more are reached to their last element") {
  // Two pages at the ends of a tensor that is never allocated whole: its rows are 2^31 bytes apart.
  const std::int64_t rowBytes = std::int64_t(1) << 31, rows = 4;
  fx::DeviceArray<float> memory({64});
  const auto far = fx::tensor(memory.data(), {rows, std::int64_t(64)}, {rowBytes / 4, 1});

  SECTION("a buffer of the whole tensor is refused, with the line") {
    const fx::Kernel whole{"whole", [](fx::Tensor a, fx::Int32 row) {
                             auto buffer = fx::rocdl::make_buffer_tensor(a);
                             buffer(row, fx::thread_idx().x) = 0;
                           }};
    try {
      whole(far, 3).launch({.grid = 1, .block = 64});
      FAIL("launched");
    } catch (const fx::TraceError &e) {
      CHECK_THAT(e.what(), Catch::Contains("memory_test.cpp:") && Catch::Contains("4 GiB") &&
                               Catch::Contains("tile first"));
    }
    // The same kernel takes a smaller tensor.
    whole(fx::tensor(memory.data(), {1, 64}), 0).launch({.grid = 1, .block = 64});
    CHECK(memory.to_host()[5] == 0);
  }
  SECTION("a row of it is reached by 64 bits, through a buffer too") {
    // The tensor's first row lies so that its last one is the allocated memory.
    auto *base = reinterpret_cast<float *>(reinterpret_cast<std::uintptr_t>(memory.data()) -
                                           std::uintptr_t((rows - 1) * rowBytes));
    const auto shifted = fx::tensor(base, {rows, std::int64_t(64)}, {rowBytes / 4, 1});
    const fx::Kernel row{"row", [](fx::Tensor a, fx::Int32 row) {
                           auto tid = fx::thread_idx().x;
                           auto tile =
                               fx::flat_divide(a, fx::make_tile(1, 64))(_, _, row, 0); // (1, 64)
                           auto buffer = fx::rocdl::make_buffer_tensor(tile);
                           buffer(0, tid) = tid.to(fx::f32);
                           a(row, tid) = fx::Numeric(buffer(0, tid)) * 2;
                         }};
    memory.poison();
    row(shifted, int(rows) - 1).launch({.grid = 1, .block = 64});
    auto h = memory.to_host();
    for (std::size_t t = 0; t < 64; ++t)
      CHECK(h[t] == float(2 * t));
  }
}

TEST_CASE("a promise to the compiler changes no result") {
  auto h = run::values<int>("assumed", 64, 1, [](fx::Tensor out, fx::Int32 tid) {
    fx::assume(tid < 64);
    out(tid, 0) = fx::select(tid < 64, tid * 2, -1);
  });
  for (int t = 0; t < 64; ++t)
    CHECK(h[std::size_t(t)] == t * 2);
}

TEST_CASE("functions of other bitcode are linked and called") {
  const auto scale = fx::link_extern(
      fx::ffi<fx::Float32(fx::Float32, fx::Int32, fx::Float32)>("scale_and_add"), EXTERN_BITCODE);
  const auto sum = fx::link_extern(fx::ffi<void(fx::Pointer, fx::Pointer, fx::Int32)>("store_sum"),
                                   EXTERN_BITCODE);
  const fx::Kernel kernel{"linked", [&](fx::Tensor out, fx::Tensor in) {
                            auto tid = fx::thread_idx().x;
                            sum(out.iter() + tid, in.iter(), tid);
                            out(tid) = scale(out(tid), 3, tid.to(fx::f32));
                          }};
  fx::DeviceArray<float> in({64}), out({64});
  std::vector<float> x(64);
  std::iota(x.begin(), x.end(), 0.0f);
  in.copy_from(x);
  out.poison();
  kernel(out, in).launch({.grid = 1, .block = 64});
  auto h = out.to_host();
  for (int t = 0; t < 64; ++t)
    CHECK(h[std::size_t(t)] == float(t * (t - 1) / 2 * 3 + t));
}

TEST_CASE("a gather has the options of a copy") {
  const fx::Kernel kernel{
      "gather_options", [](fx::Tensor out, fx::Tensor in) {
        auto tid = fx::thread_idx().x;
        auto plain = fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32);
        auto offsets = fx::make_rmem_tensor(1, fx::u32);
        offsets(0) = tid.to(fx::u32);
        auto pred = fx::make_rmem_tensor(1, fx::boolean);
        pred(0) = tid % 3 != 0;
        auto values = fx::make_rmem_tensor({1, 1}, fx::f32);
        fx::gather(plain, in.iter(), offsets, values, {.pred = pred, .other = 5});
        out(tid) = values(0, 0);
        auto buffer = fx::rocdl::make_buffer_tensor(in);
        auto atom = fx::make_copy_atom(fx::rocdl::BufferCopy32b(), fx::f32);
        fx::gather(atom, buffer.iter(), offsets, values, {.soffset = fx::Int32(64)});
        out(tid + 64) = values(0, 0);
      }};
  auto in = fx::DeviceArray<float>::random({128}, 11);
  fx::DeviceArray<float> out({128});
  kernel(out, in).launch({.grid = 1, .block = 64});
  auto h = out.to_host(), x = in.to_host();
  int wrong = 0;
  for (std::size_t t = 0; t < 64; ++t)
    wrong += (h[t] != (t % 3 != 0 ? x[t] : 5)) + (h[t + 64] != x[t + 64]);
  CHECK(wrong == 0);
}

// Each thread reads four numbers of one of two tensors, and writes one of two others.
TEST_CASE("threads select among tensors and among pointers, each for itself") {
  constexpr int kThreads = 64, kEach = 4;
  std::vector<float> even(kThreads * kEach), odd(kThreads * kEach);
  std::iota(even.begin(), even.end(), 0.0f);
  std::iota(odd.begin(), odd.end(), 1000.0f);
  const auto a = fx::DeviceArray<float>::from_host(even, {kThreads * kEach}),
             b = fx::DeviceArray<float>::from_host(odd, {kThreads * kEach});
  fx::DeviceArray<float> y({kThreads * kEach}), z({kThreads});
  y.poison();
  z.poison();
  const fx::Kernel kernel{
      "either", [](fx::Tensor a, fx::Tensor b, fx::Tensor y, fx::Tensor z) {
        const fx::Int32 thread = fx::thread_idx().x;
        const fx::Boolean isEven(thread % 2 == 0);
        auto rows = [](const fx::Tensor &x) { return fx::logical_divide(x, kEach); };
        auto own = fx::select(isEven, rows(a)(_, thread), rows(b)(_, thread)); // (4)
        rows(y)(_, thread).store(own.load());
        const fx::Pointer first = fx::select(isEven, a.iter() + 1, b.iter() + 1);
        z(thread) = first.load();
      }};
  kernel(a, b, y, z).launch({.block = kThreads});
  const auto four = y.to_host(), one = z.to_host();
  for (std::size_t i = 0; i < four.size(); ++i)
    REQUIRE(four[i] == (i / kEach % 2 ? odd[i] : even[i]));
  for (std::size_t i = 0; i < one.size(); ++i)
    REQUIRE(one[i] == (i % 2 ? odd[1] : even[1]));
}
