// Shared memory: what allocations are in the IR, overlays, and what is refused.
#include "errors_at.h"

namespace fx = flydsl;
using namespace trace_test;

namespace {
/// A tensor's layout with `count` elements beside one another.
fx::Layout line(int count) { return fx::make_layout(count); }
} // namespace

TEST_CASE("a tensor of shared memory is a variable as large as its layout reaches") {
  const std::string ir = traceText(
      [](fx::Tensor) {
        fx::SharedAllocator shared;
        auto padded = shared.tensor(fx::f16, fx::make_layout({8, 4}, {1, 12}));
        auto swizzled = shared.tensor(
            fx::f32, fx::make_composed_layout(fx::Swizzle(2, 0, 2), fx::make_layout({4, 4})), 64);
        CHECK(shared.bytes() == 128 + 64); // 44 halves, and a gap up to a multiple of 64
        CHECK(padded.dtype() == fx::f16);
        CHECK(padded.alignment() == 16);
        CHECK(swizzled.alignment() == 64);
        padded(1, 2) = fx::Float16(1.0f);
        swizzled(1, 2) = 1.0f;
      },
      {arrayArg(fx::f32, 4)}, false, {64, 1, 1}, {}, "gfx942");
  CHECK_IR(ir, "allocAlign = 16 : i64, allocBytes = 88 : i64",
           "allocAlign = 64 : i64, allocBytes = 64 : i64");
}

TEST_CASE("tensors of an overlay begin at the same byte of one variable") {
  const std::string ir = traceText(
      [](fx::Tensor) {
        fx::SharedAllocator shared;
        auto [halves, floats] = shared.overlay({{fx::f16, line(100)}, {fx::f32, line(60)}});
        CHECK(shared.bytes() == 240);
        CHECK(halves.dtype() == fx::f16);
        CHECK(floats.dtype() == fx::f32);
        halves(1) = fx::Float16(1.0f);
        floats(1) = 1.0f;
      },
      {arrayArg(fx::f32, 4)}, false, {64, 1, 1}, {}, "gfx942");
  CHECK(countOf(ir, "allocBytes") == 1);
  CHECK_IR(ir, "allocAlign = 16 : i64, allocBytes = 240 : i64");
}

TEST_CASE("phases of an overlay allocate several tensors, structs and overlays") {
  struct Sums {
    fx::Array<fx::Float32, 64> a;
    fx::Array<fx::Float64, 8, 128> b;
  };
  const std::string ir = traceText(
      [](fx::Tensor) {
        fx::SharedAllocator shared;
        auto before = shared.tensor(fx::u8, line(3));
        auto [tiles, sums, inner] = shared.overlay(
            [](fx::SharedAllocator &s) {
              return std::pair(s.tensor(fx::f16, line(100)), s.tensor(fx::f16, line(20)));
            },
            [](fx::SharedAllocator &s) { return s.allocate<Sums>(); },
            [](fx::SharedAllocator &s) {
              auto first = s.tensor(fx::u8, line(5));
              auto [x, y] = s.overlay({{fx::u8, line(400)}, {fx::u8, line(7), 64}});
              auto last = s.tensor(fx::u8, line(1));
              CHECK(s.bytes() == 464 + 1);
              return last;
            });
        CHECK(shared.bytes() == 128 + 465);
        tiles.second(1) = fx::Float16(1.0f);
      },
      {arrayArg(fx::f32, 4)}, false, {64, 1, 1}, {}, "gfx942");
  CHECK(countOf(ir, "allocBytes") == 2);
  CHECK_IR(ir, "allocBytes = 3 : i64", "allocAlign = 128 : i64, allocBytes = 465 : i64");
}

TEST_CASE("an overlay of dynamic memory is at an offset of it") {
  const std::string ir = traceText(
      [](fx::Tensor) {
        fx::SharedAllocator shared(fx::SharedPlacement::dynamic);
        shared.tensor(fx::f32, line(16));
        auto [a, b] = shared.overlay({{fx::f16, line(100)}, {fx::f32, line(60)}});
        auto c = shared.tensor(fx::f32, line(4));
        CHECK(shared.bytes() == 64 + 240 + 16);
      },
      {arrayArg(fx::f32, 4)}, false, {64, 1, 1}, {}, "gfx942");
  CHECK(countOf(ir, "allocBytes") == 0);
}

TEST_CASE("a layout that only the launch knows makes no tensor of shared memory") {
  const std::string message = errorOf(
      [](fx::Tensor, fx::Int32 n) {
        fx::SharedAllocator().tensor(fx::f32, fx::make_layout(fx::IntTuple(n)));
      },
      {arrayArg(fx::f32, 4), scalarArg(fx::i32)});
  CHECK_THAT(message, Catch::Contains("a tensor of shared memory has a static layout, not ") &&
                          Catch::Contains("fx::get_dyn_shared"));
}

TEST_CASE("more shared memory than the target has is refused while tracing") {
  const auto body = [](fx::Tensor) {
    fx::SharedAllocator shared;
    shared.tensor(fx::f32, line(8192));
    shared.tensor(fx::f32, line(8192));
    shared.tensor(fx::f32, line(1));
  };
  const std::vector<ArgType> types = {arrayArg(fx::f32, 4)};
  CHECK_THAT(errorOf(body, types),
             Catch::Contains("65540 bytes of shared memory are over the 65536 that a workgroup may "
                             "have: 32768 bytes at ") &&
                 Catch::Contains("SharedAllocator::overlay"));
  CHECK(errorOf(body, types, {.target = "gfx950"}) == "no error");
}

TEST_CASE("phases of an overlay count once, dynamic memory beside static memory") {
  const std::vector<ArgType> types = {arrayArg(fx::f32, 4)};
  CHECK(errorOf(
            [](fx::Tensor) {
              fx::SharedAllocator().overlay({{fx::f32, line(16384)}, {fx::f16, line(32768)}});
            },
            types) == "no error");
  CHECK_THAT(errorOf(
                 [](fx::Tensor) {
                   fx::SharedAllocator().overlay(
                       [](fx::SharedAllocator &s) { return s.tensor(fx::f32, line(4)); },
                       [](fx::SharedAllocator &s) {
                         s.tensor(fx::f32, line(16384));
                         return s.tensor(fx::f32, line(4));
                       });
                 },
                 types),
             Catch::Contains("65552 bytes of shared memory are over the 65536"));
  CHECK_THAT(errorOf(
                 [](fx::Tensor) {
                   fx::SharedAllocator().tensor(fx::f32, line(8192));
                   fx::SharedAllocator(fx::SharedPlacement::dynamic).tensor(fx::f32, line(8193));
                 },
                 types),
             Catch::Contains("65540 bytes of shared memory are over the 65536") &&
                 Catch::Contains(", and 32772 bytes of dynamic shared memory"));
}

TEST_CASE("gaps that alignment leaves between allocations count") {
  // Each of the large ones ends 8 bytes before a multiple of its alignment: no gap has 16 bytes.
  const auto body = [](int small) {
    return [small](fx::Tensor) {
      fx::SharedAllocator shared;
      shared.tensor(fx::u8, line(32760), 16384);
      shared.tensor(fx::u8, line(32760), 16384);
      shared.tensor(fx::u8, line(small));
    };
  };
  const std::vector<ArgType> types = {arrayArg(fx::f32, 4)};
  CHECK_THAT(errorOf(body(16), types),
             Catch::Contains("65552 bytes of shared memory are over the 65536") &&
                 Catch::Contains(", and 16 bytes of gaps that their alignment leaves"));
  CHECK(errorOf(body(16), types, {.target = "gfx950"}) == "no error");
  // The compiler puts small allocations into gaps, whatever the order of the calls is.
  CHECK(errorOf(
            [](fx::Tensor) {
              fx::SharedAllocator shared;
              shared.tensor(fx::u8, line(1), 1);
              shared.tensor(fx::u8, line(65520), 16384);
              shared.tensor(fx::u8, line(8), 8);
            },
            types) == "no error");
}

TEST_CASE("views, loads and stores end where their allocation of shared memory ends") {
  const auto of64 = [](const std::function<void(fx::Pointer)> &use) {
    return errorOf([&] { use(fx::SharedAllocator().allocate(64).recast(fx::f32)); });
  };
  CHECK(of64([](fx::Pointer p) { fx::make_view(p, line(16)); }) == "no error");
  CHECK(of64([](fx::Pointer p) { (p + 12).store((p + 12).load(4)); }) == "no error");
  CHECK_THAT(of64([](fx::Pointer p) { fx::make_view(p, line(17)); }),
             Catch::Contains("the layout 17:1 reaches 17 elements of shared memory, the allocation "
                             "has 16"));
  CHECK_THAT(of64([](fx::Pointer p) {
               fx::make_view(p + 8, fx::make_composed_layout(fx::Swizzle(1, 0, 3), line(16)));
             }),
             Catch::Contains("from element 8 on, reaches 24 elements of shared memory"));
  CHECK_THAT(of64([](fx::Pointer p) { (p + 14).load(4); }),
             Catch::Contains("a load of 4 elements, from element 14 on, reaches 18 elements"));
  CHECK_THAT(of64([](fx::Pointer p) { (p.recast(fx::u8) + 64).store(fx::UInt8(1)); }),
             Catch::Contains("a store of an element, from element 64 on, reaches 65 elements"));
  CHECK_THAT(of64([](fx::Pointer p) { (p - 1).load(); }),
             Catch::Contains("a load of an element begins 1 elements before the allocation"));
  // Another view of the same bytes is as long, in its own elements.
  CHECK(of64([](fx::Pointer p) { fx::make_view(p.recast(fx::f16), line(32)); }) == "no error");
  // What a phase of an overlay holds is known when the overlay is.
  CHECK(errorOf([] {
          fx::SharedAllocator shared;
          auto [a, b] = shared.overlay({{fx::f32, line(16)}, {fx::f32, line(32)}});
          (a.iter() + 12).load(4);
          (b.iter() + 28).load(4);
        }) == "no error");
  // Nothing is known of dynamic memory and of offsets that only the launch knows.
  CHECK(errorOf([] { (fx::get_dyn_shared(fx::f32) + 400).load(4); }) == "no error");
  CHECK(of64([](fx::Pointer p) { (p + fx::thread_idx().x).load(4); }) == "no error");
}

TEST_CASE("what a tensor of shared memory cannot have, and what a phase may not do, is refused") {
  CHECK_THAT(errorOf([] { fx::SharedAllocator().tensor(fx::f32, fx::make_layout(4, -1)); }),
             Catch::Contains("the layout 4:-1 of a tensor of shared memory has strides that are "
                             "negative or along coordinates"));
  CHECK_THAT(
      errorOf([] { fx::SharedAllocator().tensor(fx::f32, fx::make_identity_layout({4, 4})); }),
      Catch::Contains("negative or along coordinates"));
  const auto phases = [](bool fromOwner) {
    return errorOf([fromOwner] {
      for (fx::SharedPlacement placement :
           {fx::SharedPlacement::static_, fx::SharedPlacement::dynamic}) {
        fx::SharedAllocator s(placement);
        s.overlay(
            [&](fx::SharedAllocator &p) { return (fromOwner ? s : p).tensor(fx::f32, line(4)); },
            [](fx::SharedAllocator &p) { return p.tensor(fx::f32, line(64)); });
        s.tensor(fx::f32, line(4));
      }
    });
  };
  CHECK(phases(false) == "no error");
  CHECK_THAT(phases(true), Catch::Contains("a phase of an overlay allocates from the overlay's "
                                           "owner; it allocates from the allocator that it is "
                                           "called with"));
  // After a phase that failed, the owner is free again.
  CHECK(errorOf([] {
          fx::SharedAllocator s;
          CHECK_THROWS_AS(s.overlay([](fx::SharedAllocator &) -> int { throw 1; },
                                    [](fx::SharedAllocator &) { return 2; }),
                          int);
          s.tensor(fx::f32, line(4));
        }) == "no error");
}
