// Control flow that the GPU runs: every form, nested, and with all kinds of values that it can
// carry.
#include "run.h"

#include <catch2/catch.hpp>

namespace fx = flydsl;
using fx::_;

TEST_CASE("nested loops and branches with variables run") {
  auto h = run::values<int>("nested", 64, 3, [](fx::Tensor out, fx::Int32 tid) {
    fx::Var<fx::Int32> steps(0), most(0);
    fx::Int32 n = tid % 27 + 1;
    // The Collatz sequence of n: a while loop with a branch in it.
    fx::Int32 last = fx::while_(
        fx::carry(n), [](auto v) { return v != 1; },
        [&](auto v) {
          steps += 1;
          most = fx::max(most.get(), v);
          return fx::if_(v % 2 == 0, [&] { return v / 2; }, [&] { return v * 3 + 1; });
        });
    fx::Var<fx::Int32> sum(0);
    for (fx::Int32 i : fx::range(0, n, 2)) {
      for (fx::Int32 j : fx::range(i)) {
        fx::if_(j % 3 != 0, [&] { sum += i * j; });
      }
    }
    out(tid, 0) = steps.get() * 1000 + last;
    out(tid, 1) = most;
    out(tid, 2) = sum;
  });
  int wrong = 0;
  for (int t = 0; t < 64; ++t) {
    int n = t % 27 + 1, steps = 0, most = 0, sum = 0;
    for (int v = n; v != 1; v = v % 2 ? v * 3 + 1 : v / 2, ++steps)
      most = std::max(most, v);
    for (int i = 0; i < n; i += 2)
      for (int j = 0; j < i; ++j)
        sum += j % 3 ? i * j : 0;
    wrong += h[std::size_t(t) * 3] != steps * 1000 + 1 || h[std::size_t(t) * 3 + 1] != most ||
             h[std::size_t(t) * 3 + 2] != sum;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a loop's bounds may be 64 bits wide, and its index with them") {
  auto h = run::values<std::int64_t>("wide", 32, 1, [](fx::Tensor out, fx::Int32 tid) {
    fx::Int64 lo = tid.to(fx::i64) + (std::int64_t(1) << 33);
    fx::Int64 sum = fx::for_(lo, lo + 5, 2, fx::carry(std::int64_t(0)),
                             [](fx::Int64 i, auto s) { return s + i; });
    out(tid, 0) = sum;
  });
  for (std::size_t t = 0; t < 32; ++t)
    CHECK(h[t] == 3 * ((std::int64_t(1) << 33) + std::int64_t(t)) + 6);
}

TEST_CASE("loops carry tensors, pointers, tuples, layouts, vectors and atoms") {
  const fx::Kernel walk{
      "walk", [](fx::Tensor out, fx::Tensor in, fx::Int32 n) {
        auto tid = fx::thread_idx().x;
        auto atom = fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32);
        auto start = fx::make_view(in.iter() + tid, fx::make_layout(1, 1));
        auto vector = fx::Vector::splat(0.0f, 2, fx::f32);
        auto [view, at, where, layout, sums, kept, rounds] = fx::for_(
            0, n, 1,
            fx::carry(start, in.iter(), fx::make_int_tuple(tid, 5), fx::make_layout({2, 2}, {1, 2}),
                      vector, atom, 0),
            [&](fx::Int32, auto v, auto p, auto c, auto l, auto s, auto a, auto r) {
              auto one = fx::make_rmem_tensor(1, fx::f32);
              fx::copy(a, v, one);
              fx::Numeric from = (p + tid).load();
              return fx::yield(fx::make_view(v.iter() + 64, v.layout()), p + 64,
                               fx::make_int_tuple(fx::get(c, 0) + 1, 5), l,
                               s + fx::Vector::of({one(0), from}), a, r + fx::size(l).value());
            });
        (void)view, (void)at, (void)layout, (void)kept;
        out(tid, 0) = sums[0];
        out(tid, 1) = sums[1];
        out(tid, 2) = fx::Int32(fx::get(where, 0)).to(fx::f32);
        out(tid, 3) = rounds.to(fx::f32);
      }};
  auto in = fx::DeviceArray<float>::random({64 * 5}, /*seed=*/2);
  auto x = in.to_host();
  for (int n : {0, 1, 5}) {
    fx::DeviceArray<float> out({64, 4});
    out.poison();
    walk(out, in, n).launch({.grid = 1, .block = 64});
    auto h = out.to_host();
    int wrong = 0;
    for (std::size_t t = 0; t < 64; ++t) {
      float sum = 0;
      for (int r = 0; r < n; ++r)
        sum += x[t + std::size_t(r) * 64];
      wrong += !(h[t * 4] == sum && h[t * 4 + 1] == sum && h[t * 4 + 2] == float(int(t) + n) &&
                 h[t * 4 + 3] == float(4 * n));
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("branches give tensors, and buffer atoms keep their state through a loop") {
  const fx::Kernel pick{
      "pick", [](fx::Tensor out, fx::Tensor a, fx::Tensor b, fx::Int32 n) {
        auto tid = fx::thread_idx().x;
        fx::Pointer from = fx::if_(n > 2, [&] { return a.iter(); }, [&] { return b.iter(); });
        auto buffer = fx::rocdl::make_buffer_tensor(a);
        auto tile = fx::make_view(buffer.iter() + tid, fx::make_layout(1, 1));
        auto atom = fx::make_copy_atom(fx::rocdl::BufferCopy32b(), fx::f32).set_value("soffset", 0);
        auto [moved, sum] =
            fx::for_(0, n, 1, fx::carry(atom, 0.0f), [&](fx::Int32 i, auto c, auto s) {
              auto one = fx::make_rmem_tensor(1, fx::f32);
              fx::copy(c, tile, one);
              return fx::yield(c.set_value("soffset", (i + 1) * 64), s + one(0));
            });
        (void)moved;
        out(tid, 0) = (from + tid).load();
        out(tid, 1) = sum;
      }};
  auto a = fx::DeviceArray<float>::random({256}, 3), b = fx::DeviceArray<float>::random({256}, 4);
  auto ha = a.to_host(), hb = b.to_host();
  for (int n : {1, 4}) {
    fx::DeviceArray<float> out({64, 2});
    out.poison();
    pick(out, a, b, n).launch({.grid = 1, .block = 64});
    auto h = out.to_host();
    int wrong = 0;
    for (std::size_t t = 0; t < 64; ++t) {
      float sum = 0;
      for (int r = 0; r < n; ++r)
        sum += ha[t + std::size_t(r) * 64];
      wrong += !(h[t * 2] == (n > 2 ? ha[t] : hb[t]) && h[t * 2 + 1] == sum);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("continue ends a round, and a C++ if while tracing chooses what is traced") {
  auto h = run::values<int>("continues", 64, 1, [](fx::Tensor out, fx::Int32 tid) {
    fx::Var<fx::Int32> sum(0);
    for (int pass = 0; pass < 3; ++pass)
      for (fx::Int32 i : fx::range(4)) {
        if (pass == 1)
          continue;
        sum += i + pass;
      }
    out(tid, 0) = sum;
  });
  CHECK(h[0] == 6 + 6 + 8);
}

TEST_CASE("exit_if ends the kernel for the threads that it says") {
  const fx::Kernel scale{"exits", [](fx::Tensor out, fx::Int32 n) {
                           auto i = fx::block_idx().x * 64 + fx::thread_idx().x;
                           fx::exit_if(i >= n);
                           fx::Var<fx::Int32> sum(0);
                           for (fx::Int32 k : fx::range(i % 5 + 1))
                             sum += k;
                           out(i) = sum;
                           fx::exit_if(i % 2 == 0);
                           out(i) += 100;
                         }};
  fx::DeviceArray<int> out({256});
  out.fill(-1);
  scale(out, 200).launch({.grid = 4, .block = 64});
  const auto h = out.to_host();
  for (int i = 0; i < 256; ++i) {
    const int m = i % 5;
    CHECK(h[std::size_t(i)] == (i >= 200 ? -1 : m * (m + 1) / 2 + (i % 2 ? 100 : 0)));
  }
}

TEST_CASE("whole blocks leave before a barrier") {
  const fx::Kernel turn{"blocks_leave", [](fx::Tensor out) {
                          auto i = fx::thread_idx().x, b = fx::block_idx().x;
                          fx::exit_if(b % 2 == 1);
                          auto s = fx::SharedAllocator().allocate<fx::Array<fx::Int32, 128>>();
                          s.view()(i) = i;
                          fx::gpu::barrier();
                          out(b * 128 + i) = s.view()(127 - i);
                        }};
  fx::DeviceArray<int> out({4 * 128});
  out.fill(-1);
  turn(out).launch({.grid = 4, .block = 128});
  const auto h = out.to_host();
  for (int i = 0; i < 4 * 128; ++i)
    CHECK(h[std::size_t(i)] == (i / 128 % 2 ? -1 : 127 - i % 128));
}

TEST_CASE("elements change in place") {
  auto h = run::values<int>("in_place", 64, 2, [](fx::Tensor out, fx::Int32 tid) {
    out(tid, 0) = tid;
    out(tid, 0) += 5;
    out(tid, 0) *= out(tid, 0);
    out(tid, 0) -= 1;
    out(tid, 1) = 7;
    out(tid, 1) <<= 3;
    out(tid, 1) |= 1;
    out(tid, 1) %= 10;
  });
  for (std::size_t t = 0; t < 64; ++t) {
    CHECK(h[2 * t] == int((t + 5) * (t + 5) - 1));
    CHECK(h[2 * t + 1] == 57 % 10);
  }
}

TEST_CASE("conditions of numbers are those of C++") {
  auto h = run::values<int>("truths", 64, 1, [](fx::Tensor out, fx::Int32 tid) {
    fx::Int32 two = tid % 4 * 2; // 2 & 4 is 0, 2 && 4 is true
    out(tid, 0) =
        fx::select(two && 4, 1, 0) + fx::select((tid & 8) || two, 2, 0) + fx::select(!two, 4, 0);
  });
  for (int t = 0; t < 64; ++t) {
    const int two = t % 4 * 2;
    CHECK(h[std::size_t(t)] == (two && 4 ? 1 : 0) + ((t & 8) || two ? 2 : 0) + (!two ? 4 : 0));
  }
}
