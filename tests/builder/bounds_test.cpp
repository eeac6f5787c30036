// Coordinates, tiles, threads and values that do not fit are refused at the line that gives them.
#include "errors_at.h"

namespace fx = flydsl;
using fx::_;
using namespace trace_test;
using Catch::Contains;

TEST_CASE("a known coordinate past a known extent is refused") {
  struct Row {
    std::function<void()> body;
    const char *part;
  };
  auto array = [] { return fx::make_rmem_tensor(4, fx::f32); };
  auto tile = [] { return fx::make_rmem_tensor({4, 4}, fx::f32); };
  auto identity = [] { return fx::make_identity_tensor({4, 4}); };
  const Row rows[] = {
      {[&] { array()(4) = 1.0f; }, "4 is not below the extent 4"},
      {[&] { fx::Numeric x = array()(-1); }, "-1 is negative"},
      {[&] { tile()(0, 5) = 1.0f; }, "(0,5) is outside of the shape (4,4): 5 of mode 1"},
      {[&] { fx::Numeric x = tile()(4, 0); }, "4 of mode 0"},
      {[&] { fx::Numeric x = tile()(16); }, "16 is not below the extent 16"},
      {[&] { tile()(_, 4); }, "4 of mode 1"},
      {[&] { tile()(7, _); }, "7 of mode 0"},
      {[&] { fx::slice(tile(), fx::make_coord(_, -2)); }, "-2 of mode 1 is negative"},
      {[&] { identity()(0, 4); }, "4 of mode 1"},
      {[&] { identity()(4, _); }, "4 of mode 0"},
      {[&] {
         fx::make_layout({4, 8}, {8, 1})(4, 0);
       },
       "4 of mode 0"},
      {[&] {
         fx::make_layout({4, 8}, {8, 1})(_, 8);
       },
       "8 of mode 1"},
      {[&] {
         fx::make_layout({4, 8}, {8, 1})(32);
       },
       "32 is not below the extent 32"},
      // a nested mode, as one number and as a tuple
      {[&] {
         fx::make_layout({{2, 4}, 8})(8, 0);
       },
       "8 of mode 0 is not below the extent 8"},
      {[&] {
         fx::make_layout({{2, 4}, 8})(fx::make_coord(2, 0), 0);
       },
       "2 of mode 0.0"},
      {[&] {
         fx::make_composed_layout(fx::Swizzle(2, 0, 3), fx::make_layout({8, 8}))(8, 0);
       },
       "8 of mode 0"},
      {[&] {
         fx::crd2idx(fx::make_coord(0, 9), fx::make_layout({4, 8}));
       },
       "9 of mode 1"},
      // the other way round
      {[&] {
         fx::idx2crd(32, fx::make_layout({4, 8}));
       },
       "the index 32 is none of"},
      {[&] {
         fx::get_1d_coord(-1, fx::make_layout({4, 8}));
       },
       "the index -1 is none of"},
      // other memories, and vectors
      {[&] { fx::SharedAllocator().allocate<fx::Array<fx::Float32, 64>>().view()(64) = 1.0f; },
       "64 is not below the extent 64"},
      {[&] { (void)array().load()[4]; }, "element 4 of a vector of 4"},
      {[&] { (void)array().load()[-1]; }, "element -1 of a vector of 4"},
      {[&] { fx::make_view(array().iter(), fx::make_layout(8, 1)); },
       "reaches 8 elements of registers, the fragment has 4"},
  };
  for (const Row &row : rows)
    CHECK_THAT(errorOf([&] { row.body(); }), Contains(row.part));
}

TEST_CASE("coordinates with one dynamic part are looked at as far as they are known") {
  auto at = [](int column) {
    return [column](fx::Tensor a, fx::Int32 n) { fx::Numeric x = a(n, column); };
  };
  const std::vector<ArgType> types{tensorArg(fx::f32, {dyn(), fix(8)}, {fix(8), fix(1)}),
                                   scalarArg(fx::i32)};
  CHECK(errorOf(at(7), types) == "no error");
  CHECK_THAT(errorOf(at(8), types), Contains("8 of mode 1"));
  // Of a dynamic extent nothing is known.
  CHECK(errorOf(at(8), {matrixArg(fx::f32), scalarArg(fx::i32)}) == "no error");
}

TEST_CASE("what is inside stays allowed, and a larger shape goes on with the same strides") {
  CHECK(fx::make_layout({4, 8}, {8, 1})(3, 7) == 31);
  CHECK(fx::make_layout({4, 8}, {8, 1})(31) == 31);
  CHECK(fx::make_layout({{2, 4}, 8})(7, 7) == 63);
  CHECK(fx::make_layout({8, 8}, {8, 1})(4, 0) == 32);
  CHECK(fx::idx2crd(31, fx::make_layout({4, 8})) == fx::make_coord(3, 7));
  // Numbers that only mark modes are no coordinates.
  CHECK(fx::dice(fx::make_layout({4, 8}, {8, 1}), fx::make_coord(9, _)).str() == "4:8");
  CHECK(fx::slice(fx::make_shape(4, 8), fx::make_coord(9, _)) == 8);
  CHECK_THROWS_WITH(fx::make_layout({4, 8})(4, 0), Contains("4 of mode 0"));
}

namespace {
fx::TiledCopy copyBy(int rows, int columns) {
  return fx::make_tiled_copy_tv(fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32),
                                fx::make_layout({rows, columns}), fx::make_layout({1, 1}));
}
fx::TiledMma waves(int m, int n) {
  return fx::make_tiled_mma(fx::make_mma_atom(fx::rocdl::MFMA(16, 16, 4, fx::f32)),
                            fx::make_layout({m, n, 1}));
}
} // namespace

TEST_CASE("tiled operations say how many threads they are for") {
  CHECK(copyBy(8, 8).threads() == 64);
  CHECK(copyBy(12, 21).threads() == 252);
  CHECK(waves(2, 2).threads() == 256);
  CHECK(fx::make_tiled_copy_C(fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32), waves(2, 1))
            .threads() == 128);
}

TEST_CASE("a plain thread index is sliced in a block of as many threads") {
  using Slice = std::function<void(const fx::Int32 &)>;
  const Slice copy64 = [](const fx::Int32 &tid) { copyBy(8, 8).get_slice(tid); };
  const Slice copy252 = [](const fx::Int32 &tid) { copyBy(12, 21).thr_slice(tid); };
  const Slice four = [](const fx::Int32 &tid) { waves(2, 2).get_slice(tid); };
  const Slice one = [](const fx::Int32 &tid) { waves(1, 1).thr_slice(tid); };
  auto sliced = [](const Slice &slice, unsigned x, unsigned y = 1) {
    return errorOf([&] { slice(fx::thread_idx().x); }, {}, {{x, y, 1}, "gfx942"});
  };
  CHECK(sliced(copy64, 64) == "no error");
  CHECK(sliced(copy252, 252) == "no error");
  CHECK(sliced(four, 256) == "no error");
  CHECK(sliced(copy64, 64, 4) == "no error"); // each row of threads has a copy of its own
  CHECK(sliced(copy64, 0) == "no error");     // any block
  CHECK_THAT(
      sliced(copy252, 256),
      Contains("a tiled copy of 252 threads is sliced by thread_idx().x in a block of 256") &&
          Contains(".block = 252"));
  CHECK_THAT(sliced(copy64, 128), Contains("past the tile") && Contains("thread_idx().x % 64") &&
                                      Contains("fx::if_(thread_idx().x < 64"));
  CHECK_THAT(sliced(four, 128), Contains("a tiled mma of 256 threads") &&
                                    Contains("in a block of 128") && Contains("left out"));
  CHECK_THAT(sliced(one, 256), Contains("a tiled mma of 64 threads"));
  CHECK_THAT(sliced(copy64, 16, 4), Contains("in a block of 16"));
  // A branch that the whole block takes keeps no thread away.
  CHECK_THAT(errorOf(
                 [] {
                   fx::if_(fx::block_idx().x == 0,
                           [&] { copyBy(8, 8).get_slice(fx::thread_idx().x); });
                 },
                 {}, {{128, 1, 1}, "gfx942"}),
             Contains("a tiled copy of 64 threads") && Contains("in a block of 128"));
}

TEST_CASE("threads that the kernel chooses are its own business") {
  const TraceFor block256{{256, 1, 1}, "gfx942"};
  CHECK(errorOf([] { copyBy(8, 8).get_slice(fx::thread_idx().x % 64); }, {}, block256) ==
        "no error");
  CHECK(errorOf([] { waves(1, 1).get_slice(fx::thread_idx().x - 64); }, {}, block256) ==
        "no error");
  CHECK(errorOf(
            [] {
              fx::if_(fx::thread_idx().x < 64, [&] { copyBy(8, 8).get_slice(fx::thread_idx().x); });
            },
            {}, block256) == "no error");
  // No condition makes threads that are not there.
  CHECK_THAT(errorOf(
                 [] {
                   fx::if_(fx::thread_idx().x < 512,
                           [&] { copyBy(16, 32).get_slice(fx::thread_idx().x); });
                 },
                 {}, block256),
             Contains("of 512 threads") && Contains("in a block of 256"));
}

TEST_CASE("a thread's number is one of the operation's") {
  CHECK_THAT(errorOf([] { copyBy(8, 8).get_slice(64); }),
             Contains("thread 64 of a tiled copy of 64 threads"));
  CHECK_THAT(errorOf([] { waves(2, 2).get_slice(-1); }),
             Contains("thread -1 of a tiled mma of 256 threads"));
  CHECK(errorOf([] { waves(2, 2).get_slice(255); }) == "no error");
}

TEST_CASE("a tile that reaches past shared memory or registers is refused") {
  struct Storage {
    fx::Array<fx::Float32, 8 * 12> tile;
  };
  auto partition = [](int rows, int columns) {
    return [=] {
      auto tile = fx::SharedAllocator().allocate<Storage>().tile.view(
          fx::make_ordered_layout({rows, columns}, {1, 0}));
      auto thr = copyBy(8, 8).get_slice(fx::thread_idx().x);
      thr.partition_D(tile);
      thr.partition_S(tile);
    };
  };
  CHECK(errorOf(partition(8, 8)) == "no error");
  CHECK_THAT(errorOf(partition(8, 4)), Contains("partition_dst") && Contains("tiles of (8,8)") &&
                                           Contains("mode 1 has 4 elements, no whole number of 8"));
  CHECK_THAT(errorOf(partition(8, 12)), Contains("mode 1 has 12 elements"));
  auto operands = [](int m, int k) {
    return [=] {
      auto tile = fx::make_view(fx::SharedAllocator().allocate(4096).recast(fx::f32),
                                fx::make_layout({m, k}));
      auto thr = waves(1, 1).get_slice(fx::thread_idx().x);
      thr.partition_A(tile);
      thr.partition_B(tile);
    };
  };
  CHECK(errorOf(operands(16, 8)) == "no error");
  CHECK_THAT(errorOf(operands(8, 8)), Contains("mode 0 has 8 elements, no whole number of 16"));
  CHECK_THAT(errorOf(operands(16, 6)), Contains("mode 1 has 6 elements, no whole number of 4"));
  // Divided by hand, it is the same.
  auto divided = [](const fx::Tile &tile) {
    return [=] {
      fx::flat_divide(fx::SharedAllocator().allocate<Storage>().tile.view(
                          fx::make_ordered_layout({8, 12}, {1, 0})),
                      tile);
    };
  };
  CHECK(errorOf(divided(fx::make_tile(8, 4))) == "no error");
  CHECK(errorOf(divided(fx::make_tile(2, 6))) == "no error");
  CHECK_THAT(errorOf(divided(fx::make_tile(8, 8))),
             Contains("flat_divide") && Contains("mode 1 has 12 elements, no whole number of 8"));
  CHECK_THAT(errorOf([] { fx::logical_divide(fx::make_rmem_tensor(10, fx::f32), 4); }),
             Contains("it has 10 elements, no whole number of 4"));
  // Of global memory the rest is for a predicate.
  CHECK(errorOf(
            [](fx::Tensor a) {
              auto thr = copyBy(8, 8).get_slice(fx::thread_idx().x);
              thr.partition_S(a);
              thr.partition_S(fx::make_identity_tensor(a.shape()));
            },
            {tensorArg(fx::f32, {fix(10), fix(10)}, {fix(10), fix(1)})}) == "no error");
}

TEST_CASE("a tiler that is a layout covers shared memory and registers in whole tiles") {
  auto divided = [](const fx::IntTuple &shape, const fx::Tiler &tiler) {
    return errorOf([&] { fx::logical_divide(fx::make_rmem_tensor(shape, fx::f32), tiler); });
  };
  CHECK(divided(8, fx::make_layout(2, 4)) == "no error");
  CHECK(divided(8, fx::make_layout(4, 1)) == "no error");
  CHECK_THAT(divided(10, fx::make_layout(4, 1)),
             Contains("logical_divide of ") && Contains("by tiles of 4:1: it has 10 elements, and "
                                                        "the last tile of 4:1 reaches element 11"));
  CHECK_THAT(divided(12, fx::make_layout(2, 4)),
             Contains("the last tile of 2:4 reaches element 15"));
  const fx::Tile byRows = fx::make_tile(fx::make_layout(2, 2), 4);
  CHECK(divided({8, 8}, byRows) == "no error");
  CHECK_THAT(divided({6, 8}, byRows), Contains("mode 0 has 6 elements, and the last tile of 2:2 "
                                               "reaches element 7"));
  CHECK_THAT(divided({8, 6}, byRows), Contains("mode 1 has 6 elements, no whole number of 4"));
}

TEST_CASE("views, loads and stores of a part of a fragment end in the fragment") {
  auto of8 = [](const std::function<void(fx::Tensor)> &use) {
    return errorOf([&] { use(fx::make_rmem_tensor({2, 4}, fx::f32)); });
  };
  auto view = [](const fx::Pointer &from, const fx::Layout &layout) {
    fx::make_view(from, layout);
  };
  CHECK(of8([&](fx::Tensor r) { view(r.iter() + 4, fx::make_layout(4)); }) == "no error");
  CHECK_THAT(of8([&](fx::Tensor r) { view(r.iter() + 4, fx::make_layout(8)); }),
             Contains("the layout 8:1, from element 4 on, reaches 12 elements of registers, the "
                      "fragment has 8"));
  CHECK_THAT(of8([&](fx::Tensor r) { view(r(_, 3).iter(), fx::make_layout(3)); }),
             Contains("from element 6 on, reaches 9 elements"));
  CHECK_THAT(of8([&](fx::Tensor r) {
               view(fx::logical_divide(r, fx::make_tile(2, 2))(_, fx::make_coord(0, 1)).iter(),
                    fx::make_layout({2, 2}, {1, 4}));
             }),
             Contains("from element 4 on, reaches 10 elements"));
  CHECK_THAT(of8([&](fx::Tensor r) { (r(_, 2).iter() + 2).load(4); }),
             Contains("a load of 4 elements, from element 6 on, reaches 10 elements of registers"));
  CHECK_THAT(of8([&](fx::Tensor r) { (r.iter() + 8).store(fx::Float32(1.0f)); }),
             Contains("a store of an element, from element 8 on, reaches 9 elements"));
  CHECK(of8([&](fx::Tensor r) { r(_, 2).iter().load(4); }) == "no error");
}

TEST_CASE("parts of a byte have no address in memory") {
  auto with = [](const std::function<void(fx::Tensor, fx::Int32)> &use) {
    return errorOf([&](fx::Tensor a, fx::Int32 n) { use(a, n); },
                   {arrayArg(fx::f4E2M1FN, 64), scalarArg(fx::i32)});
  };
  CHECK(with([](fx::Tensor a, fx::Int32 n) { (a.iter() + n * 8).load(8); }) == "no error");
  CHECK(with([](fx::Tensor a, fx::Int32) { (a.iter() + 2).load(2); }) == "no error");
  CHECK_THAT(with([](fx::Tensor a, fx::Int32 n) { fx::Numeric x = a(n); }),
             Contains("an element of f4E2M1FN in memory has 4 bits, and no address for parts of a "
                      "byte") &&
                 Contains("loads and stores 2 of them or a multiple at once") &&
                 Contains("recast(fx::u8)"));
  CHECK_THAT(with([](fx::Tensor a, fx::Int32) { a.iter().load(); }), Contains("an element of f4"));
  CHECK_THAT(with([](fx::Tensor a, fx::Int32) { a.iter().load(3); }),
             Contains("a load of 3 elements of f4E2M1FN in memory has 12 bits"));
  CHECK_THAT(with([](fx::Tensor a, fx::Int32) { (a.iter() + 3).load(2); }),
             Contains("moved by 3 elements, which are not known to be whole bytes") &&
                 Contains("n * 2"));
  CHECK_THAT(with([](fx::Tensor a, fx::Int32 n) { (a.iter() + n).load(2); }),
             Contains("not known to be whole bytes"));
  // Registers have no addresses.
  CHECK(with([](fx::Tensor a, fx::Int32) {
          auto r = fx::make_rmem_tensor(8, fx::f4E2M1FN);
          r.store(a.iter().load(8));
          fx::Numeric x = r(3);
        }) == "no error");
}

TEST_CASE("threads and values of a tiled copy make whole calls of its atom, and a whole tile") {
  auto atom = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32);
  auto tv = [&](const fx::Layout &threads, const fx::Layout &values) {
    fx::make_tiled_copy_tv(atom, threads, values);
  };
  CHECK_THROWS_WITH(tv(fx::make_layout({8, 8}), fx::make_layout({1, 1})),
                    Contains("gives 1 values to a thread, no whole number of 4"));
  CHECK_THROWS_WITH(tv(fx::make_layout({8, 8}), fx::make_layout({1, 6})),
                    Contains("no whole number of 4"));
  CHECK_THROWS_WITH(tv(fx::make_layout({8, 8}, {1, 1}), fx::make_layout({1, 4})),
                    Contains("the threads of a tiled copy are counted from 0 without gaps") &&
                        Contains("(8,8):(1,1)"));
  CHECK_THROWS_WITH(tv(fx::make_layout({8, 8}, {16, 1}), fx::make_layout({1, 4})),
                    Contains("without gaps"));
  CHECK_THROWS_WITH(tv(fx::make_layout({8, 8}), fx::make_layout({1, 4}, {0, 0})),
                    Contains("the values of a tiled copy"));
  CHECK_NOTHROW(tv(fx::make_layout({8, 8}, {8, 1}), fx::make_layout({2, 4}, {4, 1})));
  auto over = [&](const fx::Layout &tvLayout, const fx::Tile &tile) {
    fx::make_tiled_copy(atom, tvLayout, tile);
  };
  CHECK_THROWS_WITH(over(fx::make_layout({64, 4}, {4, 1}), fx::make_tile(8, 16)),
                    Contains("reach element 255 of the tile [8|16], which has 128"));
  CHECK_NOTHROW(over(fx::make_layout({64, 4}, {4, 1}), fx::make_tile(16, 16)));
  // Threads that share elements are fine: the waves of a matrix product read the same operand.
  CHECK_NOTHROW(over(fx::make_layout({{16, 4}, 4}, {{4, 0}, 1}), fx::make_tile(4, 16)));
}

TEST_CASE("a tiled mma has threads for each of its atoms, and whole atoms in each mode") {
  auto atom = fx::make_mma_atom(fx::rocdl::MFMA(16, 16, 4, fx::f32));
  CHECK_THROWS_WITH(fx::make_tiled_mma(atom, fx::make_layout({2, 2, 1}, {1, 0, 0})),
                    Contains("(2,2,1):(1,0,0)") && Contains("two atoms to the same threads"));
  CHECK_THROWS_WITH(fx::make_tiled_mma(atom, fx::make_layout({2, 1, 1}), fx::make_tile(40, _, _)),
                    Contains("mode M of the permutation") && Contains("40 elements") &&
                        Contains("no whole number of 32"));
  CHECK_NOTHROW(
      fx::make_tiled_mma(atom, fx::make_layout({2, 2, 1}, {1, 2, 0}), fx::make_tile(64, _, 8)));
}

TEST_CASE("a view that begins before its memory is refused") {
  auto array = [] { return fx::make_rmem_tensor(8, fx::f32); };
  auto shared = [] { return fx::SharedAllocator().allocate<fx::Array<fx::Float32, 8>>(); };
  const auto backwards = fx::make_layout(4, -1);
  CHECK_THAT(errorOf([&] { fx::make_rmem_tensor(backwards, fx::f32); }),
             Contains("the layout 4:-1 of a fragment in registers has places before the first"));
  CHECK_THAT(errorOf([&] { fx::make_view(array().iter(), backwards); }),
             Contains("the layout 4:-1 begins 3 elements before the fragment in registers"));
  CHECK_THAT(errorOf([&] { shared().view(backwards); }),
             Contains("begins 3 elements before the allocation in shared memory"));
  CHECK_THAT(errorOf([&] { fx::make_view(shared().ptr() + 2, backwards); }),
             Contains("begins 1 elements before the allocation"));
  // From its last element on, memory may be seen backwards.
  CHECK(errorOf([&] { fx::make_view(array().iter() + 3, backwards); }) == "no error");
  CHECK(errorOf([&] { fx::make_view(shared().ptr() + 7, fx::make_layout(8, -1)); }) == "no error");
}

TEST_CASE("elem_less takes tuples of one form") {
  auto less = [](const fx::IntTuple &a, const fx::IntTuple &b) {
    return errorOf([&] { fx::elem_less(a, b); });
  };
  CHECK(less({1, 2}, {3, 4}) == "no error");
  CHECK(less(1, fx::make_shape(3)) == "no error");
  CHECK_THAT(less({1, 2}, {3, 4, 5}), Contains("some leaf has no counterpart"));
  CHECK_THAT(less({1, 2}, 3), Contains("some leaf has no counterpart"));
  CHECK_THAT(less({{1, 2}, 5}, {3, 4}), Contains("(1,2) and 3 are nested in other ways"));
  // A predicate for a shape of fewer modes would leave a border out.
  auto predicate = [](fx::Tensor a, fx::Tensor b) {
    auto copy = fx::make_tiled_copy_tv(fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32),
                                       fx::make_layout({8, 8}), fx::make_layout({1, 1}));
    auto places = fx::flat_divide(fx::make_identity_tensor(a.shape()), {8, 8})(_, _, 0, 0);
    copy.get_slice(fx::thread_idx().x).predicate(places, b.shape());
  };
  CHECK(errorOf(predicate, {matrixArg(fx::f32), matrixArg(fx::f32)}) == "no error");
  CHECK_THAT(errorOf(predicate, {matrixArg(fx::f32), tensorArg(fx::f32, {dyn()}, {fix(1)})}),
             Contains("elem_less(") && Contains("some leaf has no counterpart"));
}

TEST_CASE("a tensor's elements are not counted in 32 bits that do not hold their number") {
  ArgType many = matrixArg(fx::f32);
  many.large = many.many = true;
  CHECK_THAT(errorOf([](fx::Tensor a) { fx::size(a); }, {many}),
             Contains("size of") && Contains("parameter 0 of kernel") &&
                 Contains("the 2^31 elements or more of this launch") && Contains("in 64 bits"));
  CHECK_THAT(errorOf([](fx::Tensor a) { fx::size(a.layout()); }, {many}), Contains("2^31"));
  CHECK_THAT(errorOf([](fx::Tensor a) { fx::product(a.shape()); }, {many}), Contains("2^31"));
  auto rows = [](fx::Tensor a) {
    fx::size(a, 0);
    fx::size(fx::flat_divide(a, {8, 8})(_, _, 0, 0));
  };
  CHECK(errorOf(rows, {many}) == "no error");
  CHECK(errorOf([](fx::Tensor a) { fx::size(a); }, {matrixArg(fx::f32)}) == "no error");
}
