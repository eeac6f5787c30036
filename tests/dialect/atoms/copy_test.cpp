// Every copy atom of the device's target is run; the elements that it moves are compared with its
// layouts.
#include "fixed.h"
#include "product.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace fx = flydsl;
using atoms_test::fixed;
using fx::_;

namespace {

std::string arch() { return fx::Device::current().arch(); }
bool cdna() { return arch().starts_with("gfx9"); }

template <class T> std::vector<T> randomValues(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> values(count);
  for (T &v : values)
    v = static_cast<T>(random());
  return values;
}

/// Each thread of a row takes `values` neighbours.
fx::TiledCopy rowCopy(const fx::CopyAtom &atom, int threads, int values) {
  return fx::make_tiled_copy_tv(atom, fx::make_ordered_layout({1, threads}, {1, 0}),
                                fx::make_ordered_layout({1, values}, {1, 0}));
}

} // namespace

TEST_CASE("universal copies move every width through all memories") {
  constexpr int threads = 128;
  for (int bits : {8, 16, 32, 64, 128}) {
    CAPTURE(bits);
    const int bytes = bits / 8, size = threads * bytes;
    auto atom = fx::make_copy_atom(fx::UniversalCopy(bits), fx::u8);
    CHECK(fx::size(atom.thr_layout()) == 1);
    CHECK(fx::size(atom.layout_src_tv(), 1) == bytes);
    CHECK(atom.val_bits() == 8);
    const fx::Kernel kernel{"copy", [&](fx::Tensor inArg, fx::Tensor outArg) {
                              auto in = fixed(inArg, 1, size), out = fixed(outArg, 1, size);
                              auto thr =
                                  rowCopy(atom, threads, bytes).get_slice(fx::thread_idx().x);
                              auto lds = fx::make_view(fx::get_dyn_shared(fx::u8),
                                                       fx::make_ordered_layout({1, size}, {1, 0}));
                              auto r = fx::make_fragment_like(thr.partition_S(in));
                              fx::copy(atom, thr.partition_S(in), r);
                              fx::copy(atom, r, thr.partition_D(lds));
                              fx::gpu::barrier();
                              auto again = fx::make_fragment_like(r);
                              fx::copy(atom, thr.partition_S(lds), again);
                              fx::copy(atom, again, thr.partition_D(out));
                            }};
    const auto host = randomValues<std::uint8_t>(std::size_t(size), unsigned(bits));
    auto in = fx::DeviceArray<std::uint8_t>::from_host(host, {1, size});
    fx::DeviceArray<std::uint8_t> out({1, size});
    out.poison();
    kernel(in, out).launch({.grid = 1, .block = threads, .smem = std::size_t(size)});
    CHECK(out.to_host() == host);
  }
}

TEST_CASE("buffer copies move every width, shifted by a scalar, inside of their bounds") {
  constexpr int threads = 64;
  for (int bits : {8, 16, 32, 64, 96, 128}) {
    CAPTURE(bits);
    const int bytes = bits / 8, size = threads * bytes, shift = 4 * bytes;
    const int limit = (threads - 6) * bytes; // bytes that may be touched
    auto atom = fx::make_copy_atom(fx::rocdl::BufferCopy(bits), fx::u8);
    const fx::Kernel kernel{
        "buffers", [&](fx::Tensor inArg, fx::Tensor outArg, fx::Tensor shiftedArg) {
          auto in = fixed(inArg, 1, size), out = fixed(outArg, 1, size),
               shifted = fixed(shiftedArg, 1, size);
          fx::rocdl::BufferOptions bounds{.num_records_bytes = fx::Int64(limit)};
          auto thr = rowCopy(atom, threads, bytes).get_slice(fx::thread_idx().x);
          auto from = thr.partition_S(fx::rocdl::make_buffer_tensor(in, bounds));
          auto to = thr.partition_D(fx::rocdl::make_buffer_tensor(out, bounds));
          auto all = thr.partition_D(fx::rocdl::make_buffer_tensor(shifted));
          auto r = fx::make_fragment_like(from);
          fx::copy(atom, from, r);
          fx::copy(atom, r, to);
          // All threads' loads are written here, what was out of bounds as zeros.
          fx::copy(atom, r, all, {.soffset = fx::Int32(shift)});
        }};
    const auto host = randomValues<std::uint8_t>(std::size_t(size), unsigned(bits) + 7);
    auto in = fx::DeviceArray<std::uint8_t>::from_host(host, {1, size});
    fx::DeviceArray<std::uint8_t> out({1, size}), shifted({1, size + shift});
    out.poison();
    shifted.poison();
    kernel(in, out, shifted).launch({.grid = 1, .block = threads});
    const auto o = out.to_host(), s = shifted.to_host();
    int wrong = 0;
    for (int i = 0; i < size; ++i) {
      wrong += o[std::size_t(i)] != (i < limit ? host[std::size_t(i)] : 0xff);
      wrong += s[std::size_t(i + shift)] != (i < limit ? host[std::size_t(i)] : 0);
    }
    for (int i = 0; i < shift; ++i)
      wrong += s[std::size_t(i)] != 0xff;
    CHECK(wrong == 0);
  }
}

TEST_CASE("atomics combine what all threads bring") {
  constexpr int threads = 128, cells = 4;
  struct Row {
    fx::AtomicOp op;
    int start;
    int (*combine)(int, int);
  };
  const Row rows[] = {
      {fx::AtomicOp::add, 5, [](int a, int b) { return a + b; }},
      {fx::AtomicOp::max, -3, [](int a, int b) { return std::max(a, b); }},
      {fx::AtomicOp::min, 3, [](int a, int b) { return std::min(a, b); }},
      {fx::AtomicOp::and_, -1, [](int a, int b) { return a & b; }},
      {fx::AtomicOp::or_, 0, [](int a, int b) { return a | b; }},
  };
  const auto host = randomValues<std::int32_t>(threads, 3);
  auto in = fx::DeviceArray<int>::from_host(host, {threads});
  for (bool buffer : {false, true})
    for (const Row &row : rows) {
      CAPTURE(buffer, int(row.op));
      const fx::Kernel kernel{
          "atomics", [&](fx::Tensor in, fx::Tensor out) {
            auto tid = fx::thread_idx().x;
            auto op = buffer ? fx::rocdl::BufferAtomic(row.op, fx::i32)
                             : fx::UniversalAtomic(row.op, fx::i32);
            auto target = buffer ? fx::rocdl::make_buffer_tensor(out) : out;
            auto r = fx::make_rmem_tensor(1, fx::i32);
            r(0) = in(tid);
            fx::copy_atom_call(fx::make_copy_atom(op, fx::i32), r,
                               fx::make_view(target.iter() + tid % cells, fx::make_layout(1, 1)));
          }};
      auto out = fx::DeviceArray<int>::from_host(std::vector<int>(cells, row.start), {cells});
      kernel(in, out).launch({.grid = 1, .block = threads});
      std::vector<int> expected(cells, row.start);
      for (std::size_t t = 0; t < threads; ++t)
        expected[t % cells] = row.op == fx::AtomicOp::add
                                  ? int(unsigned(expected[t % cells]) + unsigned(host[t]))
                                  : row.combine(expected[t % cells], host[t]);
      CHECK(out.to_host() == expected);
    }
  // Floats add, and counters wrap at the value that is brought.
  const fx::Kernel others{"others", [&](fx::Tensor sum, fx::Tensor ups, fx::Tensor downs) {
                            fx::atomic(fx::AtomicOp::add, sum.iter(), fx::Float32(0.5f));
                            fx::atomic(fx::AtomicOp::inc, ups.iter(), fx::Int32(9));
                            fx::atomic(fx::AtomicOp::dec, downs.iter(), fx::Int32(9));
                          }};
  auto sum = fx::DeviceArray<float>::from_host(std::vector<float>{1}, {1});
  auto ups = fx::DeviceArray<int>::from_host(std::vector<int>{0}, {1});
  auto downs = fx::DeviceArray<int>::from_host(std::vector<int>{0}, {1});
  others(sum, ups, downs).launch({.grid = 1, .block = threads});
  CHECK(sum.to_host()[0] == 1 + 0.5f * threads);
  CHECK(ups.to_host()[0] == threads % 10);
  CHECK(downs.to_host()[0] == (10 - threads % 10) % 10);
}

TEST_CASE("copies into LDS past the registers") {
  if (!cdna())
    return;
  constexpr int threads = 128; // two waves: each has its own place in LDS
  struct Row {
    const char *name;
    fx::CopyOp op;
    int bits;
    bool buffer;
  };
  std::vector<Row> rows{{"buffer_copy_lds 32", fx::rocdl::BufferCopyLDS(32), 32, true}};
  if (arch() == "gfx950") {
    rows.push_back({"buffer_copy_lds 128", fx::rocdl::BufferCopyLDS(128), 128, true});
    for (int bits : {32, 96, 128}) {
      rows.push_back({"buffer async", fx::rocdl::BufferLoadAsyncLDS(bits), bits, true});
      rows.push_back({"global async", fx::rocdl::GlobalLoadAsyncLDS(bits), bits, false});
    }
  }
  for (const Row &row : rows) {
    CAPTURE(row.name, row.bits);
    const int values = row.bits / 32, size = threads * values;
    auto atom = fx::make_copy_atom(row.op, fx::i32);
    auto plain = fx::make_copy_atom(fx::UniversalCopy32b(), fx::i32);
    const fx::Kernel kernel{"to_lds", [&](fx::Tensor inArg, fx::Tensor outArg) {
                              auto in = fixed(inArg, 1, size), out = fixed(outArg, 1, size);
                              auto thr =
                                  rowCopy(atom, threads, values).get_slice(fx::thread_idx().x);
                              auto lds = fx::make_view(fx::get_dyn_shared(fx::i32),
                                                       fx::make_ordered_layout({1, size}, {1, 0}));
                              auto from = row.buffer ? fx::rocdl::make_buffer_tensor(in) : in;
                              fx::copy(atom, thr.partition_S(from), thr.partition_D(lds));
                              fx::rocdl::s_waitcnt({.vmcnt = 0});
                              fx::gpu::barrier();
                              auto r = fx::make_fragment_like(thr.partition_S(lds));
                              fx::copy(plain, thr.partition_S(lds), r);
                              fx::copy(plain, r, thr.partition_D(out));
                            }};
    const auto host = randomValues<std::int32_t>(std::size_t(size), unsigned(row.bits));
    auto in = fx::DeviceArray<int>::from_host(host, {1, size});
    fx::DeviceArray<int> out({1, size});
    out.poison();
    kernel(in, out).launch({.grid = 1, .block = threads, .smem = std::size_t(size) * 4});
    CHECK(out.to_host() == host);
  }
}

TEST_CASE("transposing reads of LDS give what their layout says") {
  if (arch() != "gfx950")
    return;
  constexpr int threads = 64;
  for (auto [granularity, bits] : {std::array{4, 64}, {6, 96}, {8, 64}, {16, 64}}) {
    CAPTURE(granularity, bits);
    // In LDS a row begins at a multiple of its size, of 16 bytes where it has 12.
    const int count = bits / granularity, words = bits / 32, stride = words == 3 ? 4 : words;
    const fx::DType type = granularity == 4   ? fx::u4
                           : granularity == 6 ? fx::f6E2M3FN
                           : granularity == 8 ? fx::u8
                                              : fx::u16;
    auto atom = fx::make_copy_atom(fx::rocdl::LDSReadTrans(granularity, bits), type);
    const fx::Layout from = atom.layout_src_tv(), to = atom.layout_dst_tv();
    REQUIRE(fx::size(to, 0) == 16);
    REQUIRE(fx::size(to, 1) == count);
    const fx::Kernel kernel{
        "transpose", [&](fx::Tensor in, fx::Tensor out) {
          auto tid = fx::thread_idx().x;
          auto lds = fx::get_dyn_shared(fx::i32);
          auto shared = fx::make_view(lds, fx::make_layout(threads * stride, 1));
          for (int w = 0; w < words; ++w)
            shared(tid * stride + w) = in(tid * words + w);
          fx::gpu::barrier();
          auto r = fx::make_rmem_tensor(count, type);
          auto row = fx::make_view((lds + tid * stride).recast(type), fx::make_layout(count, 1));
          fx::copy_atom_call(atom, row, r);
          auto read = r.load().bitcast(fx::i32);
          for (int w = 0; w < words; ++w)
            out(tid * words + w) = read[w];
        }};
    const auto host =
        randomValues<std::int32_t>(std::size_t(threads * words), unsigned(granularity));
    auto in = fx::DeviceArray<int>::from_host(host, {threads * words});
    fx::DeviceArray<int> out({threads * words});
    out.poison();
    kernel(in, out).launch(
        {.grid = 1, .block = threads, .smem = std::size_t(threads * stride) * 4});
    const auto got = out.to_host();
    // Element number `i` of a packed row of words.
    auto element = [&](const std::vector<int> &packed, int i) {
      int code = 0;
      for (int b = 0; b < granularity; ++b) {
        const int at = i * granularity + b;
        code |= ((packed[std::size_t(at / 32)] >> (at % 32)) & 1) << b;
      }
      return code;
    };
    int wrong = 0;
    for (int t = 0; t < threads; ++t)
      for (int v = 0; v < count; ++v) {
        // The element of the block's 16 rows, in the order in which the threads point at them.
        const int place = int(to(t % 16, v).value()) + t / 16 * 16 * count;
        wrong += element(got, t * count + v) != element(host, place);
      }
    CHECK(wrong == 0);
    for (int v = 0; v < count; ++v)
      CHECK(from(3, v) == 3 * count + v);
  }
}

TEST_CASE("the universal multiply-add multiplies matrices") {
  for (fx::DType type : {fx::f32, fx::f64, fx::f16}) {
    CAPTURE(type.name());
    constexpr int M = 16, N = 8, K = 4;
    const fx::Kernel kernel{
        "fma", [&](fx::Tensor argA, fx::Tensor argB, fx::Tensor argC) {
          auto A = fixed(argA, M, K), B = fixed(argB, N, K), C = fixed(argC, M, N);
          auto atom = fx::make_mma_atom(fx::UniversalFMA(type));
          auto mma = fx::make_tiled_mma(atom, fx::make_layout({8, 8, 1}, {1, 8, 0}));
          auto thr = mma.thr_slice(fx::thread_idx().x);
          auto pA = thr.partition_A(A), pB = thr.partition_B(B), pC = thr.partition_C(C);
          auto rA = thr.make_fragment_A(A), rB = thr.make_fragment_B(B),
               rC = thr.make_fragment_C(C);
          auto fill = [&](const fx::Tensor &from, const fx::Tensor &to) {
            for (int i = 0; i < int(fx::size(to).value()); ++i)
              to(i) = fx::Numeric(from(i)).to(type);
          };
          fill(pA, rA);
          fill(pB, rB);
          rC.fill(0);
          fx::gemm(mma, rC, rA, rB, rC);
          for (int i = 0; i < int(fx::size(rC).value()); ++i)
            pC(i) = fx::Numeric(rC(i)).to(fx::f32);
        }};
    std::vector<float> a(M * K), b(N * K);
    for (std::size_t i = 0; i < a.size(); ++i)
      a[i] = float(int(i * 7 % 11) - 5);
    for (std::size_t i = 0; i < b.size(); ++i)
      b[i] = float(int(i * 5 % 9) - 4);
    auto A = fx::DeviceArray<float>::from_host(a, {M, K}),
         B = fx::DeviceArray<float>::from_host(b, {N, K});
    fx::DeviceArray<float> C({M, N});
    C.poison();
    kernel(A, B, C).launch({.grid = 1, .block = 64});
    CHECK(atoms_test::wrongProducts(a, b, C.to_host(), M, N, K) == 0);
  }
}
