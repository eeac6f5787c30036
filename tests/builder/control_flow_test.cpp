// Loops, branches and variables that the GPU runs.
#include "trace_text.h"

#include <catch2/catch.hpp>
#include <flydsl/kernel/control_flow.h>

namespace fx = flydsl;
using namespace trace_test;

TEST_CASE("a range loop traces its body once") {
  std::string ir = traceText(
      [](fx::Tensor a, fx::Int32 n, fx::Int64 w) {
        for (fx::Int32 i : fx::range(0, n, 2))
          a(i) = a(i + 1);
        for (fx::Int64 i : fx::range(w))
          a(i) = 0;
      },
      {arrayArg(fx::f32, 64), scalarArg(fx::i32), scalarArg(fx::i64)});
  CHECK_IR(ir, "scf.for %", ": i32 {", "fly.memref.load", "fly.memref.store", "scf.for", ": i64 {",
           "fly.memref.store", "gpu.return");
  CHECK(countOf(ir, "scf.for") == 2);
}

TEST_CASE("a loop carries values") {
  std::string ir = traceText(
      [](fx::Tensor a, fx::Int32 n) {
        auto [sum, last] =
            fx::for_(0, n, 1, fx::carry(0.0f, a.load()),
                     [&](fx::Int32 i, auto s, auto v) { return fx::yield(s + a(i), v * 2); });
        a.store(last);
        a(0) = sum;
        fx::Int32 count =
            fx::for_(0, 4, 1, fx::carry(0), [](fx::Int32, fx::Int32 c) { return c + 1; });
        a(count) = 1;
      },
      {arrayArg(fx::f32, 64), scalarArg(fx::i32)});
  CHECK_IR(ir, "scf.for", "iter_args(", "-> (f32, vector<64xf32>)", "scf.yield",
           "f32, vector<64xf32>", "fly.memref.store_vec", "scf.for", "-> (i32)", "scf.yield");
}

TEST_CASE("branches give values") {
  std::string ir = traceText(
      [](fx::Tensor a, fx::Int32 n) {
        fx::if_(n < 3, [&] { a(0) = 1; });
        fx::if_(n < 4, [&] { a(0) = 2; }, [&] { a(0) = 3; });
        fx::Float32 x = fx::if_(n == 5, [&] { return a(1) + 1; }, [&] { return fx::Float32(2); });
        auto [y, z] = fx::if_(
            n > 5, [&] { return fx::yield(x, n); }, [&] { return fx::yield(x * 2, n + 1); });
        a(2) = y;
        a(3) = z.to(fx::f32);
      },
      {arrayArg(fx::f32, 64), scalarArg(fx::i32)});
  CHECK_IR(ir, "scf.if", "scf.if", "} else {", "scf.if", "-> (f32)", "scf.yield", "} else {",
           "scf.yield", "scf.if", "-> (f32, i32)");
}

TEST_CASE("while loops trace their condition and body once") {
  std::string ir = traceText(
      [](fx::Tensor a, fx::Int32 n) {
        fx::Int32 m =
            fx::while_(fx::carry(n), [](auto i) { return i > 1; }, [](auto i) { return i / 2; });
        a(m) = 1;
        fx::Var<fx::Int32> i(0);
        fx::while_([&] { return i < n; }, [&] { i += 1; });
      },
      {arrayArg(fx::f32, 64), scalarArg(fx::i32)});
  CHECK_IR(ir, "scf.while", "arith.cmpi sgt", "scf.condition", "do {", "arith.divsi", "scf.yield",
           "scf.while", "fly.memref.load", "scf.condition", "fly.memref.store");
}

TEST_CASE("variables live in registers at the top of the kernel") {
  std::string ir = traceText(
      [](fx::Tensor a, fx::Int32 n) {
        for (fx::Int32 i : fx::range(n)) {
          fx::Var sum(fx::Float32(0));
          fx::Var v(a.load());
          for (fx::Int32 j : fx::range(n)) {
            sum += a(j);
            v = v * 2 + 1;
          }
          a(i) = sum * 2;
          a.store(v);
          v = 3;
        }
      },
      {arrayArg(fx::f32, 8), scalarArg(fx::i32)});
  CHECK_IR(ir, "fly.memref.alloca", "fly.memref.alloca", "scf.for", "fly.memref.store", "scf.for",
           "fly.memref.load", "arith.addf", "fly.memref.store", "fly.memref.load_vec",
           "fly.memref.store_vec");
}

TEST_CASE("loops and branches carry whatever a kernel has") {
  std::string ir = traceText(
      [](fx::Tensor a, fx::Int32 n) {
        auto layout = fx::make_layout({n, 2}, {2, 1});
        auto atom = fx::make_copy_atom(fx::rocdl::BufferCopy32b(), fx::f32).set_value("soffset", n);
        auto [t, p, l, c, s] = fx::for_(
            0, n, 1, fx::carry(a, a.iter(), layout, fx::make_int_tuple(n, 3), atom),
            [&](fx::Int32 i, fx::Tensor t, fx::Pointer p, fx::Layout l, fx::IntTuple c, auto s) {
              return fx::yield(t, p + 1, l, fx::make_int_tuple(i, 3), s.set_value("soffset", i));
            });
        fx::Tensor both = fx::if_(n < 3, [&] { return t; }, [&] { return a; });
        auto last = fx::while_(
            fx::carry(c), [&](fx::IntTuple x) { return fx::Int32(fx::get(x, 0)) < n; },
            [](fx::IntTuple x) { return fx::make_int_tuple(fx::get(x, 0) + 1, 3); });
        both(last[0] % 64) = p.load();
        (void)l, (void)s;
      },
      {arrayArg(fx::f32, 64), scalarArg(fx::i32)});
  CHECK_IR(ir, "scf.for", "iter_args(", "!fly.memref<f32, global, (64):(1)>",
           "!fly.ptr<f32, global>", "!fly.layout<(?,2):(2,1)>", "!fly.int_tuple<(?,3)>",
           "!fly.copy_atom<", "scf.yield", "scf.if", "-> (!fly.memref<f32, global, (64):(1)>)",
           "scf.while", "!fly.int_tuple<(?,3)>");
}

namespace {
template <class F> std::string errorOf(F body) {
  try {
    traceText(body, {arrayArg(fx::f32, 64), scalarArg(fx::i32)});
  } catch (const fx::TraceError &e) {
    CHECK(e.where().file.find("control_flow_test.cpp") != std::string::npos);
    return e.what();
  }
  return "no error";
}
} // namespace

TEST_CASE("leaving a runtime loop by break or return is an error") {
  CHECK_THAT(errorOf([](fx::Tensor a, fx::Int32 n) {
               for (fx::Int32 i : fx::range(n))
                 break;
             }),
             Catch::Contains("break or return"));
  CHECK_THAT(errorOf([](fx::Tensor a, fx::Int32 n) {
               for (fx::Int32 i : fx::range(n))
                 return;
             }),
             Catch::Contains("break or return"));
}

TEST_CASE("leaving an inner loop, or a loop from a branch's body, is an error too") {
  CHECK_THAT(errorOf([](fx::Tensor a, fx::Int32 n) {
               for (fx::Int32 i : fx::range(n))
                 for (fx::Int32 j : fx::range(i)) {
                   a(j) = 1;
                   break;
                 }
             }),
             Catch::Contains("break or return"));
  CHECK_THAT(errorOf([](fx::Tensor a, fx::Int32 n) {
               fx::if_(n < 3, [&] {
                 for (fx::Int32 i : fx::range(n)) {
                   a(i) = 1;
                   return;
                 }
               });
             }),
             Catch::Contains("break or return"));
}

TEST_CASE("a missing yield says what is carried") {
  CHECK_THAT(errorOf([](fx::Tensor a, fx::Int32 n) {
               fx::for_(0, n, 1, fx::carry(n, 1.0f), [&](fx::Int32 i, auto, auto) { a(i) = 1; });
             }),
             Catch::Contains("carries 2 values, its body yields 0") &&
                 Catch::Contains("return fx::yield(...) of i32, f32"));
  CHECK_THAT(errorOf([](fx::Tensor, fx::Int32 n) {
               fx::for_(0, n, 1, fx::carry(n, n), [&](fx::Int32, auto x, auto) { return x; });
             }),
             Catch::Contains("carries 2 values, its body yields 1"));
  CHECK_THAT(errorOf([](fx::Tensor, fx::Int32 n) {
               fx::while_(fx::carry(n), [](auto x) { return x > 0; }, [](auto) {});
             }),
             Catch::Contains("a while loop carries 1 value, its body yields 0"));
  CHECK_THAT(errorOf([](fx::Tensor a, fx::Int32 n) {
               fx::if_(n < 1, [&] { return n; }, [&] { a(0) = 1; });
             }),
             Catch::Contains("the first branch yields 1 value, the second yields 0"));
}

TEST_CASE("what only a type says does not change from round to round") {
  CHECK_THAT(errorOf([](fx::Tensor, fx::Int32 n) {
               fx::for_(0, n, 1, fx::carry(fx::make_layout(4, 1)),
                        [](fx::Int32, fx::Layout) { return fx::make_layout(8, 1); });
             }),
             Catch::Contains("value 0 as !fly.layout<4:1>") && Catch::Contains("!fly.layout<8:1>"));
}

TEST_CASE("a loop's values are not seen after it") {
  CHECK_THAT(errorOf([](fx::Tensor a, fx::Int32 n) {
               const fx::Numeric *kept = nullptr;
               for (fx::Int32 i : fx::range(n))
                 kept = new fx::Numeric(i + 1);
               std::unique_ptr<const fx::Numeric> owned(kept);
               a(*kept) = 1;
             }),
             Catch::Contains("outside of the loop or branch") &&
                 Catch::Contains("control_flow_test.cpp"));
}

TEST_CASE("what a loop yields has the carried type") {
  CHECK_THAT(errorOf([](fx::Tensor a, fx::Int32 n) {
               fx::for_(0, n, 1, fx::carry(n), [&](fx::Int32, auto x) { return x + 0.5f; });
             }),
             Catch::Contains("a loop carries value 0 as i32, its body yields f32;"));
  CHECK_THAT(
      errorOf([](fx::Tensor a, fx::Int32 n) {
        fx::if_(n < 1, [&] { return fx::Numeric(n); }, [&] { return fx::Numeric(n.to(fx::i64)); });
      }),
      Catch::Contains("yields value 0 as i32, the second yields i64;"));
  CHECK_THAT(errorOf([](fx::Tensor a, fx::Int32 n) {
               fx::Var<fx::Int32> v(n);
               v = n.to(fx::f32);
             }),
             Catch::Contains("a Var of i32 is given f32"));
  CHECK_THAT(errorOf([](fx::Tensor a, fx::Int32 n) {
               for (fx::Int32 i : fx::range(0, n, 0))
                 a(i) = 1;
             }),
             Catch::Contains("step is positive"));
}

TEST_CASE("an exception out of a loop's body passes through") {
  CHECK_THROWS_WITH(traceText(
                        [](fx::Int32 n) {
                          for (fx::Int32 i : fx::range(n))
                            throw std::runtime_error("mine");
                        },
                        {scalarArg(fx::i32)}),
                    "mine");
  CHECK_IR(traceText([] {}), "gpu.return");
}

TEST_CASE("exit_if puts the rest of the kernel behind its condition") {
  std::string ir = traceText(
      [](fx::Tensor a, fx::Int32 n) {
        fx::Numeric before = n + 1;
        fx::exit_if(n > 3);
        a(n) = before;
        fx::exit_if(before == 7);
        for (fx::Int32 i : fx::range(n))
          a(i) = 2;
        fx::gpu::barrier();
      },
      {arrayArg(fx::i32, 8), scalarArg(fx::i32)});
  CHECK_IR(ir, "arith.addi", "arith.cmpi sgt", "arith.xori", "scf.if", "fly.memref.store",
           "arith.xori", "scf.if", "scf.for", "gpu.barrier", "gpu.return");
}

TEST_CASE("exit_if stands outside of loops and branches") {
  auto refused = [](auto body) {
    return errorOf([body](fx::Tensor a, fx::Int32 n) { body(a, n); });
  };
  CHECK_THAT(
      refused([](fx::Tensor a, fx::Int32 n) { fx::if_(n > 1, [&] { fx::exit_if(n > 2); }); }),
      Catch::Contains("exit_if stands in a loop or a branch") &&
          Catch::Contains("control_flow_test.cpp"));
  CHECK_THAT(refused([](fx::Tensor a, fx::Int32 n) {
               for (fx::Int32 i : fx::range(n))
                 fx::exit_if(i > 2);
             }),
             Catch::Contains("exit_if stands in a loop or a branch"));
}

TEST_CASE("a barrier behind an exit of some threads is refused") {
  auto traced = [](auto exit, auto after) {
    return errorOf([=](fx::Tensor a, fx::Int32 n) {
      exit(n);
      after(a);
    });
  };
  auto byThread = [](fx::Int32 n) { fx::exit_if(fx::thread_idx().x * 4 + 1 >= n); };
  auto byLane = [](fx::Int32 n) { fx::exit_if(n > 1 && fx::gpu::lane_id() == 0); };
  auto byBlock = [](fx::Int32 n) { fx::exit_if(fx::block_idx().x >= n); };
  auto barrier = [](fx::Tensor) { fx::gpu::barrier(); };
  auto bare = [](fx::Tensor) { fx::rocdl::s_barrier(); };
  auto reduce = [](fx::Tensor a) {
    fx::SharedAllocator shared;
    a(0) = fx::gpu::block_reduce(a(1), fx::Reduction::add, shared);
  };
  for (auto said : {traced(byThread, barrier), traced(byLane, barrier), traced(byThread, bare),
                    traced(byThread, reduce)})
    CHECK_THAT(said, Catch::Contains(" after an exit_if whose condition comes from the "
                                     "thread's number, at ") &&
                         Catch::Contains("control_flow_test.cpp"));
  CHECK(traced(byBlock, barrier) == "no error");
  CHECK(traced(byThread, [](fx::Tensor a) { a(0) = 1; }) == "no error");
}

TEST_CASE("a bound of 32 bits without a sign counts in 64") {
  std::string ir = traceText(
      [](fx::Tensor a, fx::UInt32 n) {
        for (fx::Int64 i : fx::range(n))
          a(i) = 1;
      },
      {tensorArg(fx::i32, {dyn(64)}, {fix(1)}), scalarArg(fx::u32)});
  CHECK_IR(ir, "arith.extui", "i32 to i64", "scf.for", ": i64");
}
