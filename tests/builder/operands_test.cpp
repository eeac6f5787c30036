// A copy or a matrix product refuses, at the call, operands that it can't take.
#include "errors_at.h"

namespace fx = flydsl;
using fx::_;
using namespace trace_test;
using Catch::Contains;

namespace {

fx::CopyAtom copyOf(int bits, fx::DType type) {
  return fx::make_copy_atom(fx::UniversalCopy(bits), type);
}
fx::CopyAtom bufferCopyOf(int bits, fx::DType type) {
  return fx::make_copy_atom(fx::rocdl::BufferCopy(bits), type);
}
/// A matrix whose strides are all run-time numbers.
ArgType stridedArg(fx::DType dtype) { return tensorArg(dtype, {dyn(), dyn()}, {dyn(64), dyn(64)}); }

} // namespace

TEST_CASE("a wide atom over a stride that only the launch knows is refused, whatever the way") {
  struct Row {
    const char *what;
    std::function<void(const fx::Tensor &)> body;
  };
  auto part = [](const fx::Tensor &a) { return fx::flat_divide(a, {1, 4})(0, _, 0, 0); };
  auto fragment = [] { return fx::make_rmem_tensor(4, fx::f32); };
  const Row rows[] = {
      {"source", [&](const fx::Tensor &a) { fx::copy(copyOf(128, fx::f32), part(a), fragment()); }},
      {"destination",
       [&](const fx::Tensor &a) { fx::copy(copyOf(128, fx::f32), fragment(), part(a)); }},
      {"source", [&](const fx::Tensor &a) { fx::copy(copyOf(64, fx::f32), part(a), fragment()); }},
      {"source",
       [&](const fx::Tensor &a) { fx::copy_atom_call(copyOf(128, fx::f32), part(a), fragment()); }},
      {"source",
       [&](const fx::Tensor &a) {
         fx::copy(bufferCopyOf(128, fx::f32), part(fx::rocdl::make_buffer_tensor(a)), fragment());
       }},
      {"destination",
       [&](const fx::Tensor &a) {
         fx::copy(bufferCopyOf(128, fx::f32), fragment(), part(fx::rocdl::make_buffer_tensor(a)));
       }},
      {"source",
       [&](const fx::Tensor &a) { // both sides in memory, one of them known
         auto lds = fx::SharedAllocator().allocate<fx::Array<fx::Float32, 4>>().view();
         fx::copy(copyOf(128, fx::f32), part(a), lds);
       }},
      {"source",
       [&](const fx::Tensor &a) {
         auto tiled = fx::make_tiled_copy_tv(copyOf(128, fx::f32), fx::make_layout({8, 8}, {8, 1}),
                                             fx::make_layout({1, 4}));
         auto tile = fx::flat_divide(a, tiled.tile_mn())(_, _, 0, 0);
         auto from = tiled.get_slice(fx::thread_idx().x).partition_S(tile);
         fx::copy(tiled, from, fx::make_fragment_like(from));
       }},
      {"source",
       [&](const fx::Tensor &a) { // the operand of a matrix product
         auto mma = fx::make_tiled_mma(fx::make_mma_atom(fx::rocdl::MFMA(16, 16, 16, fx::f16)),
                                       fx::make_layout({1, 1, 1}));
         auto halves = fx::make_view(a.iter().recast(fx::f16), a.layout());
         auto thr = fx::make_tiled_copy_B(copyOf(64, fx::f16), mma).get_slice(fx::thread_idx().x);
         auto tile = fx::flat_divide(halves, {16, 16})(_, _, 0, 0);
         fx::copy(copyOf(64, fx::f16), thr.partition_S(tile),
                  thr.retile(mma.make_fragment_B(tile)));
       }},
      {"destination",
       [&](const fx::Tensor &a) {
         auto offsets = fx::make_rmem_tensor(1, fx::i32);
         fx::gather(copyOf(128, fx::f32), a.iter(), offsets,
                    fx::make_view(a.iter(), fx::make_layout(fx::make_shape(4, 1),
                                                            fx::make_stride(a.stride()[0], 0))));
       }},
  };
  for (const Row &row : rows) {
    std::string e = errorOf([&](fx::Tensor a) { row.body(a); }, {stridedArg(fx::f32)});
    CHECK_THAT(e, Contains("takes neighbours") &&
                      Contains("those of the " + std::string(row.what) + "'s mode 0") &&
                      Contains(":?{i64}") && Contains("mark_layout_dynamic(leading_dim)") &&
                      Contains("a narrower atom"));
  }
}

TEST_CASE("the same program copies where the stride is known or the atom is one element wide") {
  auto copies = [](int bits) {
    return [bits](fx::Tensor a) {
      auto r = fx::make_rmem_tensor(4, fx::f32);
      fx::copy(copyOf(bits, fx::f32), fx::flat_divide(a, {1, 4})(0, _, 0, 0), r);
      a.iter().store(r(0));
    };
  };
  CHECK(errorOf(copies(128), {stridedArg(fx::f32)}) != "no error");
  CHECK(errorOf(copies(32), {stridedArg(fx::f32)}) == "no error");
  CHECK(errorOf(copies(128), {matrixArg(fx::f32)}) == "no error");
  CHECK(errorOf(copies(128), {tensorArg(fx::f32, {fix(8), fix(8)}, {fix(8), fix(1)})}) ==
        "no error");
}

TEST_CASE("a wide atom over a known stride other than 1 is refused alike, through buffers too") {
  for (std::int64_t stride : {64, 0, 2})
    for (bool buffer : {false, true}) {
      CAPTURE(stride, buffer);
      std::string e = errorOf(
          [=](fx::Tensor a) {
            auto from = fx::make_view(buffer ? fx::rocdl::make_buffer_tensor(a).iter() : a.iter(),
                                      fx::make_layout(4, stride));
            fx::copy(buffer ? bufferCopyOf(128, fx::f32) : copyOf(128, fx::f32), from,
                     fx::make_rmem_tensor(4, fx::f32));
          },
          {arrayArg(fx::f32, 256)});
      CHECK_THAT(e, Contains("takes neighbours") && Contains("4:" + std::to_string(stride)) &&
                        Contains("not contiguous") && Contains("a narrower atom"));
    }
}

TEST_CASE("the tensor mover takes rows whose elements are known to be neighbours") {
  auto moves = [](fx::Tensor a) {
    fx::rocdl::TdmOptions options;
    options.rank = 2;
    auto atom = fx::make_copy_atom(fx::rocdl::TDM(options), 0);
    auto lds = fx::SharedAllocator().allocate<fx::Array<fx::Float16, 64>>().view(
        fx::make_layout({8, 8}, {8, 1}));
    fx::copy(atom, fx::flat_divide(a, {8, 8})(_, _, 0, 0), lds);
  };
  const TraceFor how{{32, 1, 1}, "gfx1250"};
  CHECK_THAT(errorOf(moves, {stridedArg(fx::f16)}, how),
             Contains("rows of neighbours") && Contains("last mode, 8:?{i64}"));
  CHECK(errorOf(moves, {matrixArg(fx::f16)}, how) == "no error");
}

TEST_CASE("wrong copies are refused at the call, with what was found and expected") {
  struct Row {
    std::function<void(const fx::Tensor &)> body; // of 64 floats
    std::vector<const char *> parts;
  };
  auto fragment = [](int size, fx::DType type = fx::f32) {
    return fx::make_rmem_tensor(size, type);
  };
  auto view = [](const fx::Tensor &a, const fx::Layout &layout) {
    return fx::make_view(a.iter(), layout);
  };
  const Row rows[] = {
      // sizes
      {[&](const fx::Tensor &a) { fx::copy(copyOf(32, fx::f32), a, fragment(8)); },
       {"differ in elements, 64 and 8"}},
      {[&](const fx::Tensor &a) {
         fx::copy(copyOf(128, fx::f32), view(a, fx::make_layout(6, 1)), fragment(6));
       },
       {"an atom that copies 4 elements does not fit into 6:1 a whole number of times"}},
      {[&](const fx::Tensor &a) {
         fx::copy(bufferCopyOf(128, fx::f32),
                  view(fx::rocdl::make_buffer_tensor(a), fx::make_layout(2, 1)), fragment(2));
       },
       {"does not fit into 2:1"}},
      {[&](const fx::Tensor &a) {
         fx::copy(copyOf(32, fx::f32), view(a, fx::make_layout({2, 4})),
                  fx::make_rmem_tensor({4, 2}, fx::f32));
       },
       {"have different sizes past the first mode"}},
      {[&](const fx::Tensor &a) {
         fx::copy_atom_call(copyOf(128, fx::f32), view(a, fx::make_layout(8, 1)), fragment(8));
       },
       {"one call of the atom moves 4 elements, the source has 8", "fx::copy"}},
      {[&](const fx::Tensor &a) { fx::copy(copyOf(32, fx::f32), a, fx::make_identity_tensor(64)); },
       {"the destination of a copy is memory, not !fly.coord_tensor"}},
      // types
      {[&](const fx::Tensor &a) {
         fx::copy(copyOf(128, fx::f16), view(a, fx::make_layout(4, 1)), fragment(4));
       },
       {"the atom was made for f16", "16 bits is not that of f32", "make_copy_atom(op, fx::f32)"}},
      {[&](const fx::Tensor &a) {
         auto atom = fx::make_copy_atom(fx::UniversalAtomic(fx::AtomicOp::add, fx::i32), fx::i32);
         fx::copy(atom, fragment(1), view(a, fx::make_layout(1, 1)));
       },
       {"the atomic of the atom is one of i32, not of f32"}},
      {[&](const fx::Tensor &a) {
         auto atom = fx::make_copy_atom(fx::UniversalAtomic(fx::AtomicOp::max, fx::i32), fx::i32);
         fx::copy(atom, fragment(1, fx::u32),
                  fx::make_view(a.iter().recast(fx::u32), fx::make_layout(1, 1)));
       },
       {"compares integers as signed ones, not as u32"}},
      // places
      {[&](const fx::Tensor &a) {
         auto buffer = fx::rocdl::make_buffer_tensor(a);
         auto lds = fx::SharedAllocator().allocate<fx::Array<fx::Float32, 64>>().view();
         fx::copy(bufferCopyOf(32, fx::f32), buffer, lds);
       },
       {"copies from a buffer", "to registers, or from registers"}},
      {[&](const fx::Tensor &a) {
         fx::copy(fx::make_copy_atom(fx::rocdl::BufferCopyLDS(32), fx::f32),
                  fx::rocdl::make_buffer_tensor(a), fragment(64));
       },
       {"copies from a buffer", "to shared memory"}},
      {[&](const fx::Tensor &a) {
         auto atom = fx::make_copy_atom(fx::UniversalAtomic(fx::AtomicOp::add, fx::f32), fx::f32);
         fx::copy(atom, a, fragment(64));
       },
       {"copies from registers to shared memory or global memory"}},
      // predicates
      {[&](const fx::Tensor &a) {
         fx::copy(copyOf(128, fx::f32), view(a, fx::make_layout(4, 1)), fragment(4),
                  {.pred = fragment(4, fx::boolean)});
       },
       {"4 values for 1 call of an atom that copies 4 elements at once", "one value a call"}},
      {[&](const fx::Tensor &a) {
         fx::copy(copyOf(128, fx::f32), view(a, fx::make_layout(8, 1)), fragment(8),
                  {.pred = fragment(8, fx::boolean)});
       },
       {"8 values for 2 calls"}},
      {[&](const fx::Tensor &a) {
         fx::copy(copyOf(32, fx::f32), a, fragment(64), {.pred = fragment(64, fx::i32)});
       },
       {"a predicate is of fx::boolean, not of i32"}},
      {[&](const fx::Tensor &a) {
         fx::copy(copyOf(32, fx::f32), view(a, fx::make_layout({1, 4})),
                  fx::make_rmem_tensor({1, 4}, fx::f32), {.pred = fragment(3, fx::boolean)});
       },
       {"the predicate 3:1 has 3 values for the 4 parts", "its shape is (1,4)",
        "the first mode may be left out"}},
      // ((values of a call, calls), repeats) of a partition
      {[&](const fx::Tensor &a) {
         fx::copy(copyOf(128, fx::f32), view(a, fx::make_layout({{4, 2}, 3})),
                  fx::make_rmem_tensor({{4, 2}, 3}, fx::f32), {.pred = fragment(6, fx::boolean)});
       },
       {"the predicate 6:1 has 6 values for the 3 parts", "its shape is ((1,2),3)"}},
      {[&](const fx::Tensor &a) {
         fx::copy(copyOf(128, fx::f32), view(a, fx::make_layout({{4, 2}, 3})),
                  fx::make_rmem_tensor({{4, 2}, 3}, fx::f32),
                  {.pred = fx::make_rmem_tensor({4, 2, 3}, fx::boolean)});
       },
       {"the predicate (4,2,3):(1,4,8) has neither as many modes as the source", "((1,2),3)"}},
      {[&](const fx::Tensor &a) {
         fx::copy(copyOf(128, fx::f32), view(a, fx::make_layout({{4, 2}, 3})),
                  fx::make_rmem_tensor({{4, 2}, 3}, fx::f32),
                  {.pred = fx::make_rmem_tensor({{4, 2}, 3}, fx::boolean)});
       },
       {"4 values for 1 call of an atom", "((1,2),3)"}},
      {[&](const fx::Tensor &a) {
         fx::copy_atom_call(copyOf(64, fx::f32), view(a, fx::make_layout(2, 1)), fragment(2),
                            {.pred = fragment(2, fx::boolean)});
       },
       {"one call takes one predicate"}},
      // registers that hold one another's values
      {[&](const fx::Tensor &a) {
         fx::copy(copyOf(64, fx::f32), view(a, fx::make_layout(2, 1)),
                  fx::make_rmem_tensor(fx::make_layout(2, 0), fx::f32));
       },
       {"one register in the destination's mode 0, 2:0"}},
  };
  for (const Row &row : rows) {
    std::string e = errorOf([&](fx::Tensor a) { row.body(a); }, {arrayArg(fx::f32, 64)});
    for (const char *part : row.parts)
      CHECK_THAT(e, Contains(part));
  }
}

TEST_CASE("a predicate may have a value for each call of one mode") {
  std::string ir = traceText(
      [](fx::Tensor a) {
        auto r = fx::make_rmem_tensor(8, fx::f32);
        fx::copy(copyOf(128, fx::f32), fx::make_view(a.iter(), fx::make_layout(8, 1)), r,
                 {.pred = fx::make_rmem_tensor(2, fx::boolean)});
      },
      {arrayArg(fx::f32, 64)});
  CHECK_IR(ir, "fly.copy(");
}

TEST_CASE("gathers and scatters have a place for each offset") {
  auto gathers = [](int count, fx::IntTuple values, fx::DType offsets, int preds) {
    return [=](fx::Tensor a) {
      auto places = fx::make_rmem_tensor(count, offsets);
      auto r = fx::make_rmem_tensor(values, fx::f32);
      fx::CopyOptions options;
      if (preds)
        options.pred.emplace(fx::make_rmem_tensor(preds, fx::boolean));
      fx::gather(copyOf(32, fx::f32), a.iter(), places, r, options);
    };
  };
  const std::vector<ArgType> types{arrayArg(fx::f32, 64)};
  CHECK(errorOf(gathers(2, {1, 2}, fx::i32, 0), types) == "no error");
  CHECK(errorOf(gathers(2, {1, 2}, fx::i32, 2), types) == "no error");
  CHECK_THAT(errorOf(gathers(2, {1, 4}, fx::i32, 0), types), Contains("(values of a call, V)"));
  CHECK_THAT(errorOf(gathers(4, {1, 2}, fx::i32, 0), types), Contains("(values of a call, V)"));
  CHECK_THAT(errorOf(gathers(2, {1, 2}, fx::i32, 3), types), Contains("one value for each offset"));
  CHECK_THAT(errorOf(gathers(2, {1, 2}, fx::f32, 0), types),
             Contains("offsets are integers, not f32"));
}

namespace {
/// D = A * B + C of one MFMA 16x16x16 of f16, with fragments of these types and sizes.
struct Fragments {
  fx::DType a = fx::f16, b = fx::f16, c = fx::f32, d = fx::f32;
  int values = 4, sums = 4;
};
void multiply(const Fragments &f) {
  auto fragment = [](int size, fx::DType type) { return fx::make_rmem_tensor(size, type); };
  auto c = fragment(f.sums, f.c), d = f.c == f.d ? c : fragment(f.sums, f.d);
  fx::gemm(fx::make_mma_atom(fx::rocdl::MFMA(16, 16, 16, fx::f16)), d, fragment(f.values, f.a),
           fragment(f.values, f.b), c);
}
} // namespace

TEST_CASE("fragments have the element types of the atom") {
  CHECK(errorOf([] { multiply({}); }) == "no error");
  const std::pair<Fragments, std::array<const char *, 3>> rows[] = {
      {{.a = fx::bf16, .b = fx::bf16}, {"takes A of f16, not of bf16", "mfma<16x16x16", ".to("}},
      {{.b = fx::i16}, {"takes B of f16, not of i16", "", ""}},
      {{.c = fx::i32, .d = fx::i32}, {"takes D of f32, not of i32", "", ""}},
      {{.c = fx::i32}, {"takes C of f32, not of i32", "", ""}},
      {{.a = fx::f32}, {"takes A of f16, not of f32", "", ""}},
  };
  for (const auto &[fragments, parts] : rows) {
    std::string e = errorOf([&] { multiply(fragments); });
    for (const char *part : parts)
      CHECK_THAT(e, Contains(part));
  }
}

TEST_CASE("the element types of every family of matrix instructions are its own") {
  struct Row {
    const char *target;
    std::function<fx::MmaOp()> op;
    fx::DType right, wrong; // of A
    fx::DType b, sum;
  };
  using fx::rocdl::MFMA, fx::rocdl::MFMAScale, fx::rocdl::WMMA;
  const Row rows[] = {
      {"gfx942", [] { return MFMA(16, 16, 32, fx::f8E4M3FNUZ); }, fx::f8E4M3FNUZ, fx::f8E5M2FNUZ,
       fx::f8E4M3FNUZ, fx::f32},
      {"gfx942", [] { return MFMA(16, 16, 32, fx::i8); }, fx::u8, fx::f8E4M3FNUZ, fx::i8, fx::i32},
      {"gfx950", [] { return MFMAScale(16, 16, 128, fx::f8E4M3FN, fx::f8E4M3FN, fx::f32); },
       fx::f8E4M3FN, fx::f8E5M2, fx::f8E4M3FN, fx::f32},
      {"gfx950", [] { return MFMAScale(16, 16, 128, fx::f4E2M1FN, fx::f4E2M1FN, fx::f32); },
       fx::f4E2M1FN, fx::i4, fx::f4E2M1FN, fx::f32},
      {"gfx950", [] { return MFMAScale(16, 16, 128, fx::f6E2M3FN, fx::f6E3M2FN, fx::f32); },
       fx::f6E2M3FN, fx::f6E3M2FN, fx::f6E3M2FN, fx::f32},
      {"gfx1100", [] { return WMMA(16, 16, 16, fx::f16); }, fx::f16, fx::bf16, fx::f16, fx::f32},
      {"gfx1201", [] { return WMMA(16, 16, 16, fx::bf16); }, fx::bf16, fx::f16, fx::bf16, fx::f32},
  };
  for (const Row &row : rows) {
    CAPTURE(row.target, row.right.name());
    auto body = [&](fx::DType a) {
      auto atom = fx::make_mma_atom(row.op());
      auto fragment = [](const fx::Layout &tv, fx::DType type) {
        return fx::make_rmem_tensor(int(fx::size(tv, 1).value()), type);
      };
      auto d = fragment(atom.layout_C_tv(), row.sum);
      const bool scaled = std::string(row.target) == "gfx950";
      fx::GemmOptions options;
      if (scaled) {
        options.scale_a.emplace(fx::Int32(0x7f7f7f7f));
        options.scale_b.emplace(fx::Int32(0x7f7f7f7f));
      }
      auto ra = fragment(atom.layout_A_tv(), a), rb = fragment(atom.layout_B_tv(), row.b);
      fx::gemm(atom, d, ra, rb, d, options);
      if (!scaled)
        fx::mma_atom_call(atom, d, ra, rb, d);
    };
    const TraceFor how{{64, 1, 1}, row.target};
    CHECK(errorOf([&] { body(row.right); }, {}, how) == "no error");
    CHECK_THAT(errorOf([&] { body(row.wrong); }, {}, how), Contains("takes A of"));
  }
}

TEST_CASE("a scaled product says its scales") {
  std::string e = errorOf(
      [] {
        auto atom = fx::make_mma_atom(
            fx::rocdl::MFMAScale(16, 16, 128, fx::f8E4M3FN, fx::f8E4M3FN, fx::f32));
        auto d = fx::make_rmem_tensor(4, fx::f32), a = fx::make_rmem_tensor(32, fx::f8E4M3FN);
        fx::gemm(atom, d, a, a, d);
      },
      {}, {{64, 1, 1}, "gfx950"});
  CHECK_THAT(e, Contains(".scale_a and .scale_b") && Contains("0x7f7f7f7f"));
}

TEST_CASE("wrong gemms are refused at the call, with what was found and expected") {
  struct Row {
    std::function<void(const fx::TiledMma &, const fx::Tensor &)> body;
    std::vector<const char *> parts;
  };
  auto registers = [](fx::IntTuple shape, fx::DType type) {
    return fx::make_rmem_tensor(shape, type);
  };
  const Row rows[] = {
      {[&](const fx::TiledMma &mma, const fx::Tensor &c) { // the sum in memory
         auto a = registers({4, 1, 1}, fx::f16), r = registers({4, 1, 1}, fx::f32);
         fx::gemm(mma, fx::make_view(c.iter(), fx::make_layout({4, 1, 1})), a, a, r);
       },
       {"D is no fragment in registers", "make_fragment_C"}},
      {[&](const fx::TiledMma &mma, const fx::Tensor &c) { // an operand in shared memory
         auto lds = fx::SharedAllocator().allocate<fx::Array<fx::Float16, 4>>();
         auto a = registers({4, 1, 1}, fx::f16), r = registers({4, 1, 1}, fx::f32);
         fx::gemm(mma, r, lds.view(fx::make_layout({4, 1, 1})), a, r);
       },
       {"A is no fragment in registers", "make_fragment_A"}},
      {[&](const fx::TiledMma &mma, const fx::Tensor &c) { // a coordinate tensor
         auto a = registers({4, 1, 1}, fx::f16), r = registers({4, 1, 1}, fx::f32);
         fx::gemm(mma, r, fx::make_identity_tensor({4, 1, 1}), a, r);
       },
       {"A is no fragment in registers"}},
      {[&](const fx::TiledMma &mma, const fx::Tensor &c) { // M differs
         auto r = registers({4, 2, 1}, fx::f32);
         fx::gemm(mma, r, registers({4, 1, 1}, fx::f16), registers({4, 1, 1}, fx::f16), r);
       },
       {"operands do not agree in (M, N, K)", "A (4,1,1)"}},
      {[&](const fx::TiledMma &mma, const fx::Tensor &c) { // A and B swapped
         auto r = registers({4, 2, 1}, fx::f32);
         fx::gemm(mma, r, registers({4, 1, 1}, fx::f16), registers({4, 2, 1}, fx::f16), r);
       },
       {"operands do not agree in (M, N, K)"}},
      {[&](const fx::TiledMma &mma, const fx::Tensor &c) { // K differs
         auto r = registers({4, 1, 1}, fx::f32);
         fx::gemm(mma, r, registers({4, 1, 2}, fx::f16), registers({4, 1, 1}, fx::f16), r);
       },
       {"operands do not agree in (M, N, K)"}},
      {[&](const fx::TiledMma &mma, const fx::Tensor &c) { // ranks
         auto r = registers({4, 1, 1}, fx::f32);
         fx::gemm(mma, r, registers(4, fx::f16), registers({4, 1, 1}, fx::f16), r);
       },
       {"operands are not (value, M, K), (value, N, K) and (value, M, N)"}},
      {[&](const fx::TiledMma &mma, const fx::Tensor &c) { // values of another instruction
         auto r = registers({4, 1, 1}, fx::f32), a = registers({8, 1, 1}, fx::f16);
         fx::gemm(mma, r, a, a, r);
       },
       {"a thread has 4 values of A in one call", "but A has 8 in its mode 0"}},
      {[&](const fx::TiledMma &mma, const fx::Tensor &c) {
         auto r = registers({16, 1, 1}, fx::f32), a = registers({4, 1, 1}, fx::f16);
         fx::gemm(mma, r, a, a, r);
       },
       {"a thread has 4 values of D in one call", "but D has 16"}},
      {[&](const fx::TiledMma &mma, const fx::Tensor &c) {
         auto r = registers({4, 1, 1}, fx::f32), a = registers({4, 1, 1}, fx::f16);
         fx::mma_atom_call(mma.mma_atom(), r, registers(8, fx::f16), a, r);
       },
       {"a thread has 4 values of A"}},
      {[&](const fx::TiledMma &mma, const fx::Tensor &c) {
         auto r = registers({4, 1, 1}, fx::f32), a = registers({4, 1, 1}, fx::f16);
         fx::gemm(mma, r, a, a, r, {.traversal_layout = fx::make_layout(2)});
       },
       {"does not order the 1 atom calls"}},
  };
  for (const Row &row : rows) {
    std::string e = errorOf(
        [&](fx::Tensor c) {
          auto mma = fx::make_tiled_mma(fx::make_mma_atom(fx::rocdl::MFMA(16, 16, 16, fx::f16)),
                                        fx::make_layout({1, 1, 1}));
          row.body(mma, c);
        },
        {arrayArg(fx::f32, 64)});
    for (const char *part : row.parts)
      CHECK_THAT(e, Contains(part));
  }
}
