// Copies rows by number: it gathers B[r, :] = A[index[r], :], then scatters C[index[r], :] = B[r,
// :], for any number of rows and columns.
//
// New here: offsets as data, a tensor of stride 0 that repeats a row's number along the row,
// coordinates in arithmetic, predicated gathers. Options: --rows of B (37), --of rows of A (50),
// --columns (100).
#include "common/options.h"
#include "common/report.h"

#include <flydsl/flydsl.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace fx = flydsl;
using fx::_;

constexpr int TM = 16, TN = 64, threads = 64; // a block's tile: each thread makes 4 copies

/// The part of a tile of rows that one thread copies, as both kernels need it.
struct Part {
  fx::Tensor rows;    // (V, m, n): the tile's elements
  fx::Tensor offsets; // (1, m, n): the place of each copy of 4 elements in the indexed tensor
  fx::Tensor pred;    // (1, m, n): true if there is something to copy
};

static Part part(const fx::Tensor &rows, const fx::Tensor &index, const fx::Tensor &indexed,
                 const fx::TiledCopy &copy) {
  auto [bid_m, bid_n, bid_z] = fx::block_idx();
  auto thr = copy.get_slice(fx::thread_idx().x);
  auto shape = rows.shape(); // (R, N)

  auto spread = fx::make_view(index.iter(), fx::make_layout(shape, {1, 0})); // (r, n) -> index[r]
  auto places = fx::make_identity_tensor(shape);                             // (r, n) -> (r, n)
  auto tile = fx::make_tile(TM, TN);
  auto gRows = fx::flat_divide(rows, tile)(_, _, bid_m, bid_n);    // (TM, TN)
  auto gIndex = fx::flat_divide(spread, tile)(_, _, bid_m, bid_n); // (TM, TN)
  auto cRows = fx::flat_divide(places, tile)(_, _, bid_m, bid_n);  // (TM, TN)

  auto first = fx::make_coord(0, _);                        // the first of a copy's values
  auto tRows = thr.partition_S(gRows);                      // (V, m, n)
  auto tIndex = thr.partition_S(gIndex)(first, _, _);       // (1, m, n)
  auto tPlaces = thr.partition_S(cRows)(first, _, _);       // (1, m, n)
  auto pred = fx::make_fragment_like(tPlaces, fx::boolean); // (1, m, n)
  auto number = fx::make_fragment_like(tPlaces, fx::i32);   // (1, m, n)
  auto offsets = fx::make_fragment_like(tPlaces, fx::i64);  // (1, m, n)
  const int copies = int(fx::size(pred).value());
  for (int i = 0; i < copies; ++i)
    pred(i) = fx::elem_less(tPlaces(i), shape);
  fx::copy(fx::make_copy_atom(fx::UniversalCopy32b(), fx::i32), tIndex, number, {.pred = pred});
  fx::Int64 row_stride(indexed.stride()[0]);
  for (int i = 0; i < copies; ++i) {
    fx::IntTuple place = tPlaces(i); // (r, n)
    offsets(i) = number(i) * row_stride + fx::Int32(place[1]);
  }
  return {tRows, offsets, pred};
}

const fx::Kernel gather_rows{"gather_rows",
                             [](fx::Tensor A, fx::Tensor B, fx::Tensor index, fx::TiledCopy copy) {
                               auto atom = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32);
                               auto [tB, offsets, pred] = part(B, index, A, copy);
                               auto rows = fx::make_fragment_like(tB); // (V, m, n)
                               fx::gather(atom, A.iter(), offsets, rows, {.pred = pred});
                               fx::copy(atom, rows, tB, {.pred = pred});
                             }};

const fx::Kernel scatter_rows{"scatter_rows",
                              [](fx::Tensor B, fx::Tensor C, fx::Tensor index, fx::TiledCopy copy) {
                                auto atom = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32);
                                auto [tB, offsets, pred] = part(B, index, C, copy);
                                auto rows = fx::make_fragment_like(tB); // (V, m, n)
                                fx::copy(atom, tB, rows, {.pred = pred});
                                fx::scatter(atom, rows, C.iter(), offsets, {.pred = pred});
                              }};

static int run(const samples::Options &options) {
  const std::int64_t R = options.get("rows", 37), M = options.get("of", 50),
                     N = options.get("columns", 100);
  if (R > M)
    throw std::invalid_argument("rows are taken once each: --rows is at most --of");
  // Each row starts at a multiple of 128 bits, so that the last copy of a row stays inside its row.
  const std::int64_t ld = (N + 3) / 4 * 4;
  auto copy = fx::make_tiled_copy_tv(fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32),
                                     fx::make_ordered_layout({8, 8}, {1, 0}),
                                     fx::make_ordered_layout({1, 4}, {0, 1}));
  auto matrix = [&](float *data, std::int64_t rows) {
    return fx::TensorArg(fx::tensor(data, {rows, N}, {ld, 1}).mark_layout_dynamic(1, 4));
  };
  auto numbers = [&](int *data) {
    return fx::TensorArg(fx::tensor(data, {R}).mark_layout_dynamic(0));
  };

  if (fx::compile_only()) { // needs no device
    auto none = matrix(nullptr, R);
    auto gather = gather_rows(none, none, numbers(nullptr), copy).compile({.block = threads});
    auto scatter = scatter_rows(none, none, numbers(nullptr), copy).compile({.block = threads});
    std::printf("%s%s", gather.summary().c_str(), scatter.summary().c_str());
    return 0;
  }

  samples::reportDevice();
  fx::Stream stream;
  std::vector<int> rows(
      static_cast<std::size_t>(M)); // a shuffle of the rows; the first R are taken
  std::iota(rows.begin(), rows.end(), 0);
  std::uint32_t state = 1;
  for (std::size_t i = rows.size(); i > 1; --i)
    std::swap(rows[i - 1], rows[(state = state * 1664525u + 1013904223u) % i]);
  rows.resize(static_cast<std::size_t>(R));

  auto A = fx::DeviceArray<float>::random({M, ld}, /*seed=*/1);
  auto index = fx::DeviceArray<int>::from_host(rows, {R});
  fx::DeviceArray<float> B({R, ld}), C({M, ld});
  B.poison();
  const float untouched = 7;
  C.fill(untouched);

  auto gather = gather_rows(matrix(A.data(), M), matrix(B.data(), R), numbers(index.data()), copy)
                    .compile({.block = threads});
  auto scatter = scatter_rows(matrix(B.data(), R), matrix(C.data(), M), numbers(index.data()), copy)
                     .compile({.block = threads});
  samples::report(gather);
  samples::report(scatter);
  const std::int64_t gm = (R + TM - 1) / TM, gn = (N + TN - 1) / TN;
  gather(matrix(A.data(), M), matrix(B.data(), R), numbers(index.data()), copy)
      .launch({.grid = {gm, gn}, .block = threads, .stream = stream});
  scatter(matrix(B.data(), R), matrix(C.data(), M), numbers(index.data()), copy)
      .launch({.grid = {gm, gn}, .block = threads, .stream = stream});
  stream.synchronize();

  const auto a = A.to_host(), b = B.to_host(), c = C.to_host();
  std::vector<bool> taken(static_cast<std::size_t>(M), false);
  samples::Worst worst;
  for (std::int64_t r = 0; r < R; ++r) {
    taken[std::size_t(rows[std::size_t(r)])] = true;
    for (std::int64_t n = 0; n < N; ++n)
      worst.add(double(b[std::size_t(r * ld + n)]) -
                double(a[std::size_t(rows[std::size_t(r)] * ld + n)]));
  }
  for (std::int64_t m = 0; m < M; ++m)
    for (std::int64_t n = 0; n < N; ++n) {
      const std::size_t i = std::size_t(m * ld + n);
      worst.add(double(c[i]) - double(taken[std::size_t(m)] ? a[i] : untouched));
    }
  return samples::verdict("largest error", samples::dims(R, N) + ", rows of " + std::to_string(M),
                          worst, 0);
}

int main(int argc, char **argv) {
  return samples::main(argc, argv, {"rows", "of", "columns"}, run);
}
