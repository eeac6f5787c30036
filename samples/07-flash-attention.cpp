// O = softmax(Q * K^T / sqrt(D)) * V for each head, in half precision, without ever storing the
// scores: flash attention, forward.
//
// New here: an accumulator becomes the operand of the next product. A block computes the transposed
// scores S^T = K * Q^T, so that a lane's values lie along the keys. The matrix instructions of CDNA
// and of RDNA 4 want the operand B of the next product, O^T = V^T * P^T, in just these places: the
// probabilities go from one product to the next without leaving their registers. On gfx1250 one
// operand is two results, one after the other. On RDNA 3 a lane has every other one, and gets the
// rest from its neighbour. Options: --heads (2), --queries (70),
// --keys (97), --dim (64).
//
// The softmax runs along with the tiles of keys: each query keeps the largest score so far and the
// sum of the exponentials relative to it. Where a tile raises the largest score, what was summed
// before is scaled down.
#include "common/options.h"
#include "common/products.h"
#include "common/report.h"

#include <flydsl/flydsl.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <vector>

namespace fx = flydsl;
using fx::_;

struct Config {
  int dim = 64;       // of a head
  int tile_keys = 32; // keys at a time
};
constexpr int waves = 4, tile_queries = 16 * waves;

// region: operand
/// Whether a lane holds of one or more results C (M, N), one below the other, what the operand
/// B (N, K) of the next instruction takes, with their rows as K.
static bool resultsAreOperand(const fx::MmaAtom &atom) {
  auto C = atom.layout_C_tv(), B = atom.layout_B_tv(); // (lane, value) -> m + 16 n, n + 16 k
  const int ofResult = int(fx::size(C, 1).value());
  if (fx::size(B).value() % fx::size(C).value())
    return false;
  for (int lane = 0; lane < fx::size(B, 0).value(); ++lane)
    for (int value = 0; value < fx::size(B, 1).value(); ++value) {
      const auto c = C(lane, value % ofResult).value();
      const auto k = c % 16 + 16 * (value / ofResult);
      if (B(lane, value).value() != c / 16 + 16 * k)
        return false;
    }
  return true;
}
// endregion

/// Whether a lane holds every other row of C, its partner 16 lanes on the rows between, and B wants
/// all of them in both.
static bool resultIsHalfOfOperand(const fx::MmaAtom &atom) {
  auto C = atom.layout_C_tv(), B = atom.layout_B_tv();
  if (2 * fx::size(C).value() != fx::size(B).value())
    return false;
  for (int lane = 0; lane < fx::size(C, 0).value(); ++lane)
    for (int value = 0; value < fx::size(C, 1).value(); ++value)
      for (int odd : {0, 1})
        if (C(lane, value).value() != 16 * (lane % 16) + 2 * value + lane / 16 ||
            B(lane, 2 * value + odd).value() != lane % 16 + 16 * (2 * value + odd))
          return false;
  return true;
}

const fx::Kernel flash_attention{
    "flash_attention", [](fx::Tensor gQ, fx::Tensor gK, fx::Tensor gV, fx::Tensor gO,
                          fx::Float32 scale, fx::Constexpr<Config> config) {
      const int D = config->dim, BN = config->tile_keys;
      auto tid = fx::thread_idx().x;
      auto [block, head, unused] = fx::block_idx();
      const auto target = fx::target();
      const auto product = samples::shortestProduct(fx::f16); // 16 x 16 x K
      auto atom = fx::make_mma_atom(fx::rocdl::Mma(product));
      const bool direct = resultsAreOperand(atom);
      fx::require(direct || resultIsHalfOfOperand(atom),
                  "the result of a matrix instruction of {} is no operand of the next one",
                  target.name());
      fx::require(D % product.k == 0 && BN % product.k == 0,
                  "tiles are multiples of {}, not {} and {}", product.k, D, BN);
      // The waves lie side by side along the queries. A lane has `width` neighbours of an operand.
      auto mma = fx::make_tiled_mma(atom, fx::make_layout({1, waves, 1}));
      auto thr = mma.thr_slice(tid);
      const int width = direct ? int(fx::size(atom.layout_C_tv(), 1).value()) : 8;
      auto copy_128b = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f16);
      auto copy_wide = fx::make_copy_atom(fx::UniversalCopy(16 * width), fx::f16);
      auto copy_one = fx::make_copy_atom(fx::UniversalCopy16b(), fx::f16);

      auto Sq = gQ.shape()[1], Skv = gK.shape()[1];
      auto queries = fx::make_shape(Sq, D), keys = fx::make_shape(Skv, D);
      auto atQuery = fx::flat_divide(fx::make_identity_tensor(queries), {tile_queries, D});
      auto atKey = fx::flat_divide(fx::make_identity_tensor(keys), {BN, D})(_, _, _, 0);
      auto atScore = fx::flat_divide(fx::make_identity_tensor({Skv, Sq}),
                                     {BN, tile_queries})(_, _, _, block); // (BN, queries, tiles)
      auto Q = fx::flat_divide(gQ(head, _, _), {tile_queries, D})(_, _, block, 0); // (queries, D)
      auto K = fx::flat_divide(gK(head, _, _), {BN, D})(_, _, _, 0);               // (BN, D, tiles)
      auto V = fx::flat_divide(gV(head, _, _), {BN, D})(_, _, _, 0);               // (BN, D, tiles)
      auto O = fx::flat_divide(gO(head, _, _), {tile_queries, D})(_, _, block, 0); // (queries, D)
      auto transposed = [](const fx::Tensor &x) {
        return fx::make_view(x.iter(), fx::select(x.layout(), {1, 0}));
      };

      // Tiles of K and V in LDS. Rows are 16 bytes further apart than they are long, so that those
      // below each other begin in different banks.
      auto rows = fx::make_layout({BN, D}, {D + 8, 1});
      auto sK =
          fx::make_view(fx::SharedAllocator().allocate(2 * BN * (D + 8)).recast(fx::f16), rows);
      auto sV =
          fx::make_view(fx::SharedAllocator().allocate(2 * BN * (D + 8)).recast(fx::f16), rows);
      auto stage = fx::make_tiled_copy_tv(
                       copy_128b,
                       fx::make_ordered_layout({waves * target.wave_size() * 8 / D, D / 8}, {1, 0}),
                       fx::make_ordered_layout({1, 8}, {0, 1}))
                       .get_slice(tid);
      auto fetched = fx::make_fragment_like(stage.partition_D(sK)); // (V, keys, d)

      auto read_Q = fx::make_tiled_copy_B(copy_wide, mma).get_slice(tid);
      auto read_K = fx::make_tiled_copy_A(copy_wide, mma).get_slice(tid);
      auto read_V = fx::make_tiled_copy_A(copy_one, mma).get_slice(tid);
      auto copy_O = direct ? copy_wide : copy_one; // whether a lane's rows of O^T are neighbours
      auto write_O = fx::make_tiled_copy_C(copy_O, mma).get_slice(tid);
      auto rQ = thr.make_fragment_B({tile_queries, D});  // (V, 1, d)
      auto rK = thr.make_fragment_A(sK);                 // (V, keys, d)
      auto rV = thr.make_fragment_A(transposed(sV));     // (V, d, keys)
      auto rS = thr.make_fragment_C({BN, tile_queries}); // (V, keys, 1)
      auto rP = thr.make_fragment_B({tile_queries, BN}); // (V, 1, keys)
      auto rO = thr.make_fragment_C({D, tile_queries});  // (V, d, 1)
      const int values = int(fx::size(rS).value()), tiles = BN / 16;

      /// RDNA 3: lanes below 16 have the even keys, their partners the odd ones; both want all.
      auto exchange = [&](const fx::Float32 &own, const fx::Tensor &to, int v, int k) {
        auto other = fx::gpu::shuffle_xor(own, 16);
        auto isOdd = fx::gpu::lane_id() >= 16;
        to(2 * v, 0, k) = fx::select(isOdd, other, own).to(fx::f16);
        to(2 * v + 1, 0, k) = fx::select(isOdd, own, other).to(fx::f16);
      };

      /// Combines the lanes that share a query: they are 16 apart.
      auto overKeys = [&](const fx::Float32 &own, auto combine) {
        fx::Var<fx::Float32> all(own);
        for (int apart = 16; apart < target.wave_size(); apart *= 2)
          all = combine(all.get(), fx::Float32(fx::gpu::shuffle_xor(all.get(), apart)));
        return all.get();
      };

      fx::copy(copy_wide, read_Q.partition_S(Q), read_Q.retile(rQ),
               {.pred = read_Q.predicate(atQuery(_, _, block, 0), queries), .other = 0});
      rO.fill(0);
      fx::Var<fx::Float32> largest(-std::numeric_limits<float>::infinity()), sum(0.0f);
      for (fx::Int32 tile : fx::range(fx::ceildiv(fx::Int32(Skv), BN))) {
        fx::gpu::barrier(); // all waves are done with the tiles before
        for (const auto &[from, to] : {std::pair(K, sK), std::pair(V, sV)}) {
          fx::copy(copy_128b, stage.partition_S(from(_, _, tile)), fetched,
                   {.pred = stage.predicate(atKey(_, _, tile), keys), .other = 0});
          fx::copy(copy_128b, fetched, stage.partition_D(to));
        }
        fx::gpu::barrier();

        // region: scores
        fx::copy(copy_wide, read_K.partition_S(sK), read_K.retile(rK));
        rS.fill(0);
        fx::gemm(mma, rS, rK, rQ, rS); // S^T = K * Q^T
        // endregion

        // region: softmax
        auto place = thr.partition_C(atScore(_, _, tile)); // (V, keys, 1) of (key, query)
        for (int i = 0; i < values; ++i)
          rS(i) = fx::select(fx::elem_less(fx::IntTuple(place(i))[0], Skv), rS(i) * scale,
                             -std::numeric_limits<float>::infinity());
        fx::Float32 before = largest;
        largest = fx::max(before, overKeys(fx::Float32(rS.load().reduce(fx::Reduction::max)),
                                           [](auto a, auto b) { return fx::max(a, b); }));
        rS.store(fx::math::exp2(rS.load() - largest.get()));
        auto scaled = fx::math::exp2(before - largest.get());
        sum = sum * scaled + fx::Float32(rS.load().reduce(fx::Reduction::add));
        rO.store(rO.load() * scaled);
        // endregion

        // region: next
        // A lane has the probabilities where the next product wants its operand.
        const int ofTile = values / tiles, inOperand = product.k / 16; // results in an operand
        for (int k = 0; k < tiles; ++k)
          for (int v = 0; v < ofTile; ++v) {
            if (direct)
              rP(v + ofTile * (k % inOperand), 0, k / inOperand) = rS(v, k, 0).to(fx::f16);
            else
              exchange(rS(v, k, 0), rP, v, k);
          }
        fx::copy(copy_one, read_V.partition_S(transposed(sV)), read_V.retile(rV));
        fx::gemm(mma, rO, rV, rP, rO); // O^T += V^T * P^T
        // endregion
      }

      auto all = overKeys(sum.get(), [](auto a, auto b) { return a + b; });
      auto rO_f16 = fx::make_fragment_like(rO, fx::f16); // (V, d, 1)
      rO_f16.store((rO.load() / all).to(fx::f16));
      auto atOutput = fx::flat_divide(fx::make_identity_tensor({fx::IntTuple(D), Sq}),
                                      {D, tile_queries})(_, _, 0, block);
      fx::copy(copy_O, write_O.retile(rO_f16), write_O.partition_D(transposed(O)),
               {.pred = write_O.predicate(atOutput, {fx::IntTuple(D), Sq})});
    }};

static int run(const samples::Options &options) {
  const std::int64_t H = options.get("heads", 2), Sq = options.get("queries", 70),
                     Skv = options.get("keys", 97), D = options.get("dim", 64);
  // All threads take part in copying a tile of keys, each with 8 elements at a time.
  const Config config{.dim = int(D), .tile_keys = int(std::max<std::int64_t>(32, 2048 / D))};
  auto rows = [&](fx::half_t *data, std::int64_t count) {
    return fx::TensorArg(fx::tensor(data, {H, count, D}).mark_layout_dynamic(2, 8));
  };
  // The exponentials are those of 2.
  const float scale = float(1.4426950408889634 / std::sqrt(double(D)));
  auto attend = [&](fx::half_t *q, fx::half_t *k, fx::half_t *v, fx::half_t *o) {
    return flash_attention(rows(q, Sq), rows(k, Skv), rows(v, Skv), rows(o, Sq), scale, config);
  };
  if (fx::compile_only()) { // needs no device
    std::printf("%s", attend(nullptr, nullptr, nullptr, nullptr).compile().summary().c_str());
    return 0;
  }

  samples::reportDevice();
  const int block = waves * fx::Device::current().target().wave_size();
  auto Q = fx::DeviceArray<fx::half_t>::random({H, Sq, D}, /*seed=*/1);
  auto K = fx::DeviceArray<fx::half_t>::random({H, Skv, D}, /*seed=*/2);
  auto V = fx::DeviceArray<fx::half_t>::random({H, Skv, D}, /*seed=*/3);
  fx::DeviceArray<fx::half_t> O({H, Sq, D});
  O.poison();
  fx::Stream stream;
  auto compiled = attend(Q.data(), K.data(), V.data(), O.data()).compile({.block = block});
  samples::report(compiled);
  attend(Q.data(), K.data(), V.data(), O.data())
      .launch(
          {.grid = {(Sq + tile_queries - 1) / tile_queries, H}, .block = block, .stream = stream});
  stream.synchronize();

  // What rounding allows, relative to the sum of |p v|: a score has D products in instructions of
  // 16 or 32, whose errors of 2^-23 of the magnitudes count twice, in the numerator and in the sum;
  // the scaled score is rounded, and an exponential of it, by 2^-24 of up to the largest score, and
  // 2^-22. A probability is rounded to half precision; each tile rounds the scale, the sum, and the
  // products of 16 keys. The result is rounded once.
  const auto q = Q.to_host(), k = K.to_host(), v = V.to_host(), o = O.to_host();
  samples::Worst worst;
  std::vector<double> p(static_cast<std::size_t>(Skv));
  for (std::int64_t row = 0; row < H * Sq; ++row) {
    const std::int64_t first = row / Sq * Skv; // of the head's keys
    double largest = -std::numeric_limits<double>::infinity(), total = 0, magnitude = 0;
    for (std::int64_t j = 0; j < Skv; ++j) {
      double score = 0, size = 0;
      for (std::int64_t d = 0; d < D; ++d) {
        const double product =
            double(q[std::size_t(row * D + d)]) * double(k[std::size_t((first + j) * D + d)]);
        score += product;
        size += std::fabs(product);
      }
      p[std::size_t(j)] = score / std::sqrt(double(D));
      largest = std::max(largest, p[std::size_t(j)]);
      magnitude = std::max(magnitude, size / std::sqrt(double(D)));
    }
    for (double &x : p)
      total += x = std::exp(x - largest);
    const double ofScores =
        2 * ((double(D) / 16 + 5) * 0x1p-23 + 4 * 0x1p-24) * magnitude + 2 * 0x1p-22;
    const double ofTiles =
        2 * 0x1p-23 * (double(Skv) / config.tile_keys + 8) + 0x1p-23 * double(Skv) / 16;
    for (std::int64_t d = 0; d < D; ++d) {
      double sum = 0, size = 0;
      for (std::int64_t j = 0; j < Skv; ++j) {
        const double term = p[std::size_t(j)] / total * double(v[std::size_t((first + j) * D + d)]);
        sum += term;
        size += std::fabs(term);
      }
      const double allowed =
          (ofScores + 0x1p-11 + ofTiles) * size + 0x1p-11 * std::fabs(sum) + 0x1p-25;
      worst.add((double(o[std::size_t(row * D + d)]) - sum) / allowed);
    }
  }
  return samples::verdict("largest error, of what rounding allows,", samples::dims(H, Sq, Skv, D),
                          worst, 1);
}

int main(int argc, char **argv) {
  return samples::main(argc, argv, {"heads", "queries", "keys", "dim"}, run);
}
