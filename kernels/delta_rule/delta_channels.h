// Decays of channels in chunks of the delta rule (Kimi Delta Attention, arXiv 2510.26692, section
// 3.2). With G[i, r] the sum of g[., r] up to token i of a chunk, all of delta_chunks.h has e^G inside
// of its sums over r. So it stands in their operands:
//
//   transposed(S) k[i], transposed(S) q[i]   take k[i, r] e^G[i, r] and q[i, r] e^G[i, r],
//   S                                        takes k[j, r] e^(G[last, r] - G[j, r]),
//   k[i] . k[j] and q[i] . k[j], j <= i      are sums of q[i, r] k[j, r] e^(G[i, r] - G[j, r]).
//
// The powers of the first two are at most 1. Those of the third are a product of e^(G[i] - R) and
// e^(R - G[j]), which are at most 1 too if R is a sum at a token between both. (With R = 0, a
// chunk of tokens that forget much has an overflow. flash-linear-attention takes an R for 16 tokens,
// and what is nearer to one another without matrix instructions.) Pairs are told apart here by the
// highest bit in which i and j differ, their level: of level b, R is that of the last token below the
// bit, and of all of its pairs both factors are e^-|G - R|. So each level is a product of matrices
// whose rows are scaled by that, and the pairs of the level are kept of it.
#pragma once

#include "blocks/common/exponential.h"
#include "delta_rule/chunk_shape.h"
#include "delta_rule/delta_gates.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The sums of the logarithms of a chunk's decays, by channel, in shared memory.
class ChannelSums {
public:
  ChannelSums(int tokens, int key)
      : tokens_(tokens), key_(key), distance_(key + ChunkShape::kPadOfSums),
        sums_(SharedAllocator().tensor(f32, make_layout({tokens, distance_}, {distance_, 1}))),
        decays_(SharedAllocator().tensor(f32, make_layout(key))) {}

  /// Adds up the logarithms of a chunk's tokens, each thread those of channels: 0 of tokens that are
  /// past the last. `batch`: loads that are on their way together.
  void make(const DeltaMemory &memory, const DeltaGates &gates, const Int32 &base, const Int32 &end,
            int block, int batch) const {
    const Tensor g = memory.channelsOfG(); // (m, key)
    for (int first = 0; first < key_; first += block) {
      const Int32 channel = thread_idx().x + first;
      const auto sum = [&] { sumOf(memory, gates, g, base, end, channel, batch); };
      if (first + block <= key_)
        sum();
      else
        if_(channel < key_, sum);
    }
  }
  /// Neighbouring sums of a token.
  Vector load(const Int32 &token, const Int32 &channel, int count) const {
    return (sums_.iter() + (token * distance_ + channel)).load(count);
  }
  Vector loadLast(const Int32 &channel, int count) const {
    return load(Int32(tokens_ - 1), channel, count);
  }
  /// The decays of neighbouring channels over all of the chunk.
  Vector decays(const Int32 &channel, int count) const {
    return (decays_.iter() + channel).load(count);
  }

  /// The factors of neighbouring channels of a token, in products of pairs of a level.
  Vector factors(const Int32 &token, const Int32 &channel, int count, const Int32 &level) const {
    const Int32 block = token >> level << level, half = (Int32(1) << level) / 2,
                between = block + max(half - 1, 0);
    return exponential(
        Vector(-math::abs(load(token, channel, count) - load(between, channel, count))));
  }
  /// Whether the level of two tokens is this one.
  static Boolean areOfLevel(const Int32 &first, const Int32 &second, const Int32 &level) {
    return Boolean((((first ^ second) * 2) >> level) == min(level, 1));
  }

private:
  void sumOf(const DeltaMemory &memory, const DeltaGates &gates, const Tensor &g, const Int32 &base,
             const Int32 &end, const Int32 &channel, int batch) const {
    std::optional<Numeric> bias;
    if (gates.makesSteps())
      bias.emplace(memory.channelsOfDtBias()(channel));
    const Var<Float32> sum(Float32(0.0f));
    for (Int32 first : range(0, tokens_, batch)) {
      std::vector<Numeric> loaded;
      for (int i = 0; i < batch; ++i)
        loaded.push_back(g(min(base + first + i, end - 1), channel).to(f32));
      for (int i = 0; i < batch; ++i) {
        const Numeric decay = boundedDecay(gates.ofChannel(loaded[std::size_t(i)], bias));
        sum += select(base + first + i < end, decay, 0.0f);
        sums_(first + i, channel) = sum.get();
      }
    }
    decays_(channel) = exponential(Numeric(sum.get()));
  }

  int tokens_, key_, distance_;
  Tensor sums_;   ///< (tokens, key)
  Tensor decays_; ///< (key): those of the whole chunk
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
