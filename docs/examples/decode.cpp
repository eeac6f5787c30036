// Examples of docs/kernels/decode.md.
#include "example.h"

#include <flydsl/kernels/decode.h>
#include <flydsl/kernels/attention/merge_states.h>

#include <cmath>
#include <limits>

namespace fk = flydsl::kernels;

TEST_CASE("a step of decoding: queries over the keys of a paged cache") {
  const std::int64_t sequences = 2, blocks = 6, page = 16;
  // region: problem
  // A layer with 16 heads of q and 2 of k and v; the cache is the one that rope fills.
  const fk::DecodeProblem problem{.q = fx::bf16,
                                  .kv = fx::bf16,
                                  .y = fx::bf16,
                                  .q_heads = 16,
                                  .kv_heads = 2,
                                  .head = 128,
                                  .cache = fk::KvCache::pages,
                                  .page = 16,
                                  .context = 512}; // about so many tokens a sequence
  const fk::DecodeConfig config = fk::choose(problem, sequences * problem.queries); // tokens of q
  const fk::DecodePlan plan(problem, config); // once, for any number of sequences and any lengths
  // endregion

  const auto q = fx::DeviceArray<fx::bfloat16_t>::random({sequences, 16, 128}, 1),
             keys = fx::DeviceArray<fx::bfloat16_t>::random({blocks, page, 2, 128}, 2),
             values = fx::DeviceArray<fx::bfloat16_t>::random({blocks, page, 2, 128}, 3);
  fx::DeviceArray<fx::bfloat16_t> o({sequences, 16, 128});
  fx::DeviceArray<int> block_table({sequences, 3}), seq_lens({sequences});
  const std::vector<int> numbers{4, 1, 3, 5, -1, -1}, tokens{40, 7};
  block_table.copy_from(numbers);
  seq_lens.copy_from(tokens);
  const fx::Stream stream;

  // region: call
  // The rows of a call are tokens of q: `queries` of each sequence.
  const std::int64_t m = sequences * problem.queries;
  fx::DeviceArray<std::uint8_t> workspace({std::int64_t(plan.workspace_bytes(m))});
  plan({.q = q,
        .k = keys,
        .v = values,
        .o = o,
        .seq_lens = seq_lens,       // tokens of each sequence, its query among them
        .block_table = block_table, // (sequences, 3): numbers of blocks
        .workspace = workspace},    // one that the call does not need is taken, too
       stream);
  // endregion
  stream.synchronize();

  const auto hostO = o.to_host();
  // region: worklist
  const fk::DecodeConfig shared{.block = 256, .rows = 16, .workers = 8, .unit = 32};
  const fk::WorklistProblem lists = fk::worklist_of(problem, shared);
  const fk::WorklistPlan makeList(lists, fk::choose(lists, sequences));
  fx::DeviceArray<int> worklist({sequences + 1 + shared.workers});
  makeList({.seq_lens = seq_lens, .worklist = worklist}, stream); // once a step
  // endregion
  stream.synchronize();
  CHECK(worklist.to_host() == fk::make_worklist(lists, tokens));
  const fk::DecodePlan sharing(problem, shared);
  fx::DeviceArray<std::uint8_t> parts({std::int64_t(sharing.workspace_bytes(m))});
  sharing({.q = q,
           .k = keys,
           .v = values,
           .o = o,
           .seq_lens = seq_lens,
           .block_table = block_table,
           .worklist = worklist,
           .workspace = parts},
          stream);
  stream.synchronize();
  const auto byWorkers = o.to_host();
  for (std::size_t i = 0; i < hostO.size(); ++i)
    CHECK(std::fabs(float(hostO[i]) - float(byWorkers[i])) < 0.01f);

  // region: varlen
  // Sequences with 1, 3 and 12 queries, in one call.
  const fk::DecodeProblem mixed{.q_heads = 16,
                                .kv_heads = 2,
                                .queries = 3, // about as many have most of the sequences
                                .varlen = true,
                                .context = 512};
  const fk::DecodePlan step(mixed, fk::choose(mixed, 16)); // for 16 tokens or about as many
  // endregion
  // Here the two sequences have one query each, as above: the results are the same.
  fx::DeviceArray<int> starts({3});
  starts.copy_from(std::vector<int>{0, 1, 2});
  fx::DeviceArray<std::uint8_t> room({std::int64_t(step.workspace_bytes(2))});
  step({.q = q,
        .k = keys,
        .v = values,
        .o = o,
        .cu_seqlens_q = starts,
        .seq_lens = seq_lens,
        .block_table = block_table,
        .workspace = room},
       stream);
  stream.synchronize();
  const auto byStarts = o.to_host();
  for (std::size_t i = 0; i < hostO.size(); ++i)
    CHECK(std::fabs(float(hostO[i]) - float(byStarts[i])) < 0.01f);

  // region: tree_mask
  // A root with two children, and the first of these has a child: 0, 1 and 2 after it, 3 after 1.
  const std::vector<int> rows{0b0001, 0b0011, 0b0101, 0b1011};
  const fk::DecodeProblem tree{
      .q_heads = 16, .kv_heads = 2, .queries = 4, .tree_mask = true, .context = 512};
  // endregion
  CHECK(fk::supported(tree, fx::Target::parse("gfx942")));
  CHECK(std::ssize(rows) == tree.queries);

  // region: latent
  const fk::DecodeProblem latent{.q_heads = 16,
                                 .kv_heads = 1,
                                 .head = 576,
                                 .page = 64,
                                 .scale = 1 / std::sqrt(192.0), // of the heads before absorption
                                 .latent = 512};
  // endregion
  CHECK(fk::supported(latent, fx::Target::parse("gfx942")));

  // region: float8
  // Each head of q is rounded to the type of the cache, which gfx942 multiplies; gfx950 and gfx1201
  // multiply f8E4M3FN.
  const fk::DecodeProblem rounded{.q = fx::bf16,
                                  .kv = fx::f8E4M3FNUZ,
                                  .float8_products = true,
                                  .q_heads = 16,
                                  .kv_heads = 2,
                                  .head = 128,
                                  .scales = fk::KvScales::tensor};
  // endregion
  CHECK(fk::supported(rounded, fx::Target::parse("gfx942")));

  const auto hostQ = q.to_host(), hostK = keys.to_host(), hostV = values.to_host(),
             got = o.to_host();
  for (std::size_t s = 0; s < 2; ++s)
    for (std::size_t head : {0u, 7u, 8u, 15u}) {
      const auto at = [&](std::size_t token, std::size_t element) {
        const std::size_t block = std::size_t(numbers[s * 3 + token / 16]);
        return ((block * 16 + token % 16) * 2 + head / 8) * 128 + element;
      };
      std::vector<double> sums(128);
      double total = 0;
      for (std::size_t t = 0; t < std::size_t(tokens[s]); ++t) {
        double score = 0;
        for (std::size_t e = 0; e < 128; ++e)
          score += double(float(hostQ[(s * 16 + head) * 128 + e])) * double(float(hostK[at(t, e)]));
        const double weight = std::exp(score / std::sqrt(128.0));
        total += weight;
        for (std::size_t e = 0; e < 128; ++e)
          sums[e] += weight * double(float(hostV[at(t, e)]));
      }
      for (std::size_t e = 0; e < 128; ++e)
        CHECK(std::fabs(double(float(got[(s * 16 + head) * 128 + e])) - sums[e] / total) < 0.02);
    }
}

TEST_CASE("results of two parts of the keys become one") {
  const std::int64_t tokens = 3, heads = 16, head = 128;
  const auto prefix = fx::DeviceArray<fx::bfloat16_t>::random({tokens, heads, head}, 1),
             suffix = fx::DeviceArray<fx::bfloat16_t>::random({tokens, heads, head}, 2);
  fx::DeviceArray<float> prefixLse({tokens, heads}), suffixLse({tokens, heads});
  std::vector<float> of(std::size_t(tokens * heads), 2.0f);
  prefixLse.copy_from(of);
  of[0] = -std::numeric_limits<float>::infinity(); // no keys
  of[1] = 2 + std::log(3.0f);                      // three times the weight
  suffixLse.copy_from(of);
  fx::DeviceArray<fx::bfloat16_t> y({tokens, heads, head});
  const fx::Stream stream;

  // region: merge
  const fk::MergeStatesProblem two{.x = fx::bf16, .y = fx::bf16, .heads = 16, .head = 128};
  const fk::MergeStatesPlan merge(two, fk::choose(two, tokens));
  merge({.a = prefix,        // (tokens, heads, head): o of one call
         .a_lse = prefixLse, // (tokens, heads): its lse
         .b = suffix,
         .b_lse = suffixLse,
         .y = y},
        stream);
  // endregion
  stream.synchronize();
  const auto a = prefix.to_host(), b = suffix.to_host(), got = y.to_host();
  for (std::size_t e = 0; e < 128; ++e) {
    CHECK(float(got[e]) == float(a[e]));
    CHECK(std::fabs(float(got[128 + e]) - (float(a[128 + e]) + 3 * float(b[128 + e])) / 4) < 0.01f);
  }
}
