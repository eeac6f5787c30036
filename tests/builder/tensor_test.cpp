// Tensors and layouts with run-time parts, inside a kernel.
#include "errors_at.h"
#include "trace_text.h"

#include <flydsl/kernel/select.h>

#include <catch2/catch.hpp>

namespace fx = flydsl;
using fx::_;
using namespace trace_test;

TEST_CASE("static work leaves no operation") {
  std::string ir = traceText([] {
    fx::Layout l = fx::zipped_divide(fx::make_layout({64, 64}, {64, 1}), {8, 16});
    CHECK(l.str() == "((8,16),(8,4)):((64,1),(512,16))");
    CHECK(fx::size(l).value() == 4096);
  });
  CHECK(countOf(ir, "fly.") == 0);
}

TEST_CASE("shapes and layouts take run-time parts") {
  std::string ir = traceText(
      [](fx::Tensor a, fx::Int32 n, fx::Int64 w) {
        fx::Layout l = fx::make_layout({n, 8}, {8, 1});
        fx::IntTuple at = l(n - 1, 3);
        auto [rows, columns] = fx::unpack<2>(a.shape());
        fx::IntTuple blocks = fx::ceil_div(rows, 16) * 2;
        fx::Int32 m = rows;
        a(m - 1, columns - 1) = a(at, n);
        fx::Layout strided = fx::make_layout({rows, 8}, {w, 1});
        CHECK(strided.rank() == 2);
        CHECK(strided.str() == "!fly.layout<(?,8):(?{i64},1)>");
        CHECK(blocks.depth() == 0);
        CHECK(fx::get(strided, 1).str() == "8:1");
      },
      {matrixArg(fx::f32), scalarArg(fx::i32), scalarArg(fx::i64)});
  CHECK_IR(ir, "fly.make_int_tuple", "-> !fly.int_tuple<(?,8)>", "fly.make_layout",
           "-> !fly.layout<(?,8):(8,1)>", "fly.crd2idx", "fly.get_shape", "fly.ceil_div",
           "fly.int_tuple_mul", "fly.get_scalar", "fly.memref.load", "fly.memref.store");
}

TEST_CASE("views, fragments and pointers trace to their operations") {
  std::string ir = traceText(
      [](fx::Tensor a) {
        fx::Pointer p = a.iter() + 4;
        fx::Tensor v = fx::make_view(p, fx::make_layout({2, 2}, {2, 1}));
        fx::Tensor r = fx::make_rmem_tensor({2, 2}, fx::f32);
        CHECK(r.address_space() == fx::AddressSpace::register_);
        CHECK(a.address_space() == fx::AddressSpace::global);
        r.store(v.load());
        (p - 2).store(r(1, 1));
        p.recast(fx::i32).store(7);
        fx::Tensor f = fx::make_fragment_like(fx::make_layout({4, 2}, {8, 1}), fx::f16);
        f.fill(0);
        CHECK(f.layout().str() == "(4,2):(1,4)");
      },
      {arrayArg(fx::f32, 16)});
  CHECK_IR(ir, "fly.get_iter", "fly.add_offset", "fly.make_view", "fly.memref.alloca",
           "!fly.memref<f32, register, (2,2):(1,2)>", "fly.memref.load_vec", "fly.memref.store_vec",
           "fly.memref.load", "fly.ptr.store", "fly.recast_iter", "fly.ptr.store",
           "fly.make_fragment_like");
}

// What was inferred before is remembered with the context.
TEST_CASE("An operation on the same operands has the result of its own attributes, each time") {
  traceText(
      [](fx::Tensor a) {
        const fx::Layout layout = fx::make_layout({4, 2}, {8, 1});
        const fx::TiledMma mma =
            fx::make_tiled_mma(fx::make_mma_atom(fx::rocdl::MFMA(32, 32, 8, fx::f16)),
                               fx::make_layout({1, 1, 1}, {1, 1, 1}));
        for (int i = 0; i < 2; ++i) {
          CHECK(fx::make_fragment_like(layout, fx::f16).dtype() == fx::f16);
          CHECK(fx::make_fragment_like(layout, fx::f32).dtype() == fx::f32);
          CHECK(mma.make_fragment_A(a).dtype() == fx::f16);
          CHECK(mma.make_fragment_C(a).dtype() == fx::f32);
          CHECK_THROWS_WITH(fx::crd2idx(fx::make_coord(fx::thread_idx().x, 2, 3), layout),
                            Catch::Contains("their ranks differ"));
        }
      },
      {tensorArg(fx::f16, {fix(32), fix(32)}, {fix(32), fix(1)})});
}

TEST_CASE("unsigned element types keep their sign through views") {
  std::string ir = traceText(
      [](fx::Tensor a) {
        CHECK(a.dtype() == fx::u8);
        CHECK(fx::flat_divide(a, 4)(_, 0).dtype() == fx::u8);
        fx::Numeric x = a(0);
        a(1) = x / 3;
      },
      {arrayArg(fx::u8, 16)});
  CHECK_IR(ir, "arith.divui");
}

TEST_CASE("a selected tensor is one of two of the same type, in memory") {
  const std::vector<ArgType> two = {arrayArg(fx::f32, 16), arrayArg(fx::f32, 16)};
  std::string ir = traceText(
      [](fx::Tensor a, fx::Tensor b) {
        const fx::Boolean first(fx::thread_idx().x < 5);
        const fx::Tensor c = fx::select(first, a, b);
        CHECK(c.dtype() == fx::f32);
        CHECK(c.layout().str() == a.layout().str());
        const fx::Pointer p = fx::select(first, a.iter() + 4, b.iter() + 4);
        CHECK(p.dtype() == fx::f32);
        p.store(c(1));
      },
      two);
  CHECK_IR(ir, "arith.select", "!fly.memref<f32", "arith.select", "!fly.ptr<f32");
  const auto refused = [&](auto body) {
    return errorOf([&](fx::Tensor a, fx::Tensor b) { body(a, b); }, two);
  };
  CHECK_THAT(refused([](const fx::Tensor &a, const fx::Tensor &b) {
               (void)fx::select(fx::thread_idx().x < 5, a, fx::logical_divide(b, 4)(_, 0));
             }),
             Catch::Contains("select takes two memories of one type, not") &&
                 Catch::Contains("slices of one shape"));
  CHECK_THAT(refused([](const fx::Tensor &a, const fx::Tensor &b) {
               (void)fx::select(fx::thread_idx().x < 5, a.iter(), b.iter().recast(fx::i32));
             }),
             Catch::Contains("select takes two memories of one type, not"));
  CHECK_THAT(refused([](const fx::Tensor &a, const fx::Tensor &) {
               const fx::Tensor r = fx::make_fragment_like(a);
               (void)fx::select(fx::thread_idx().x < 5, r, r);
             }),
             Catch::Contains("registers have no address to choose by"));
  CHECK_THAT(refused([](const fx::Tensor &a, const fx::Tensor &) {
               const fx::Tensor places = fx::make_identity_tensor(a.shape());
               (void)fx::select(fx::thread_idx().x < 5, places, places);
             }),
             Catch::Contains("select takes numbers, vectors, or tensors and pointers of memory"));
}

TEST_CASE("a tensor is recast to elements of another type, with all of its modes") {
  traceText(
      [](fx::Tensor records, fx::Tensor rows) {
        // Records of 34 bytes: a number of 2 bytes and 32 of one byte each.
        const fx::Tensor record = records(3, _);                                        // (34)
        const fx::Tensor bytes = fx::make_view(record.iter() + 2, fx::make_layout(32)); // (32)
        CHECK(bytes.recast(fx::u32).layout().str() == "8:1");
        CHECK(bytes.recast(fx::u32).dtype() == fx::u32);
        CHECK(bytes.recast(fx::u32).alignment() == 2);
        // A dword of them stays where dwords are not aligned.
        const fx::Pointer dword = bytes.recast(fx::u32).iter() + 4;
        CHECK(fx::make_view(dword, fx::make_layout(2)).alignment() == 2);
        CHECK(records.recast(fx::u16).layout().str() == "(4,17):(17,1)");
        CHECK(records.recast(fx::u16).recast(fx::u8).layout().str() == records.layout().str());
        CHECK(bytes.recast(fx::f4E2M1FN).layout().str() == "64:1");
        CHECK(bytes.recast(fx::i8).layout().str() == "32:1");
        const fx::Tensor parts = fx::logical_divide(bytes, 2); // (2, 16)
        CHECK(parts.recast(fx::u32).layout().str() == "(1,8):(1,1)");
        // The stride of rows is promised to be a multiple of 16 bytes.
        CHECK(rows.recast(fx::u64).layout().str() == "!fly.layout<(?,4):(?{i64},1)>");
        const fx::Tensor swizzled = fx::make_view(
            fx::SharedAllocator().allocate(1024, 16).recast(fx::f16),
            fx::make_composed_layout(fx::Swizzle(3, 3, 3), fx::make_layout({8, 64}, {64, 1})));
        CHECK(swizzled.recast(fx::u32).layout().str() == "S<3,2,3> o 0 o (8,32):(32,1)");
      },
      {tensorArg(fx::u8, {fix(4), fix(34)}, {fix(34), fix(1)}, 16),
       tensorArg(fx::u8, {dyn(), fix(32)}, {dyn(64, 16), fix(1)}, 16)});
}

TEST_CASE("a tensor is not recast to elements with bytes that it does not have") {
  const auto refused = [](const auto &body) {
    return errorOf([&](fx::Tensor a, fx::Tensor b, fx::Tensor c) { body(a, b, c); },
                   {arrayArg(fx::u8, 34), matrixArg(fx::u8),
                    tensorArg(fx::u8, {dyn(), fix(32)}, {fix(32), fix(1)})});
  };
  CHECK_THAT(refused([](const fx::Tensor &a, auto &, auto &) { (void)a.recast(fx::u32); }),
             Catch::Contains("(34):(1) of elements of 8 bits is recast to elements of 32 bits: the "
                             "extent 34 is not known to be a multiple of 4"));
  CHECK_THAT(refused([](auto &, const fx::Tensor &b, auto &) { (void)b.recast(fx::u32); }),
             Catch::Contains("the stride ?{i64} is not known to be a multiple of 4"));
  CHECK_THAT(refused([](const fx::Tensor &a, auto &, auto &) {
               (void)fx::make_view(a.iter(), fx::make_layout({4, 4}, {6, 1})).recast(fx::u32);
             }),
             Catch::Contains("a stride of 6 is no multiple of 4; recast a slice of it"));
  CHECK_THAT(refused([](const fx::Tensor &a, auto &, auto &) {
               (void)fx::make_view(a.iter(), fx::make_layout(8, 4)).recast(fx::u32);
             }),
             Catch::Contains("an element is 4 neighbours, and 1 of them are the tensor's"));
  CHECK_THAT(refused([](const fx::Tensor &a, auto &, auto &) {
               (void)fx::make_view(a.iter() + 33, fx::make_layout(32, -1)).recast(fx::u32);
             }),
             Catch::Contains("neighbours lie from the last to the first"));
  CHECK_THAT(refused([](auto &, auto &, const fx::Tensor &c) { // its columns are no neighbours
               (void)fx::make_view(c.iter(), fx::make_layout(8, 32)).recast(fx::u16);
             }),
             Catch::Contains("an element is 2 neighbours, and 1 of them are the tensor's"));
  CHECK_THAT(refused([](auto &, auto &, const fx::Tensor &c) {
               (void)fx::make_view(c.iter().recast(fx::u32), fx::make_layout(2, 8)).recast(fx::u8);
             }),
             Catch::Contains("known to have stride 1"));
  CHECK_THAT(refused([](const fx::Tensor &a, auto &, auto &) {
               (void)fx::make_identity_tensor(a.shape()).recast(fx::u32);
             }),
             Catch::Contains("tensor of coordinates") || Catch::Contains("element"));
}
