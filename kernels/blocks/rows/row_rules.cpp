#include "blocks/rows/row_rules.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <tuple>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

/// Up to so many accesses of a row, so many threads share it. Up to a wave each thread has one
/// access, so that the lanes of a wave read neighbouring memory and the reduction stays inside the
/// wave; then a wave has four, and larger blocks eight, before a wider one pays for its barriers.
/// RDNA's waves of 32 take the same blocks. (FlyDSL: 128 to 512 threads for rows past 2048
/// elements, several rows a block below.)
struct RowRule {
  std::int64_t accesses;
  int threads;
};
constexpr RowRule kRowRules[] = {
    {1, 1},   {2, 2},    {4, 4},      {8, 8},      {16, 16},
    {32, 32}, {256, 64}, {2048, 256}, {4096, 512}, {INT64_MAX, 1024},
};
/// Threads of a block whose rows have fewer.
constexpr int kSharedBlock = 256;

} // namespace

RowShape RowShape::of(std::int64_t n, int align, int bytes) {
  const int rows = align ? align : naturalAlign(n);
  return {n, std::min(rows, 16 / bytes)};
}

int naturalAlign(std::int64_t n) {
  return n ? static_cast<int>(std::min<std::uint64_t>(
                 16, 1ull << std::countr_zero(static_cast<std::uint64_t>(n))))
           : 1;
}

Support lengthSupported(std::int64_t n) {
  if (n < 1 || n > kLongestRow)
    return Support::no("n is " + std::to_string(n) + "; a row has 1 to " +
                       std::to_string(kLongestRow) + " elements");
  return {};
}

Support alignSupported(int align) {
  if (align != 0 && (align < 0 || align > 16 || !std::has_single_bit(static_cast<unsigned>(align))))
    return Support::no("row_align is " + std::to_string(align) +
                       "; it is a power of two up to 16, or 0 for what n gives");
  return {};
}

Support powerBlockSupported(int block, const Target &target) {
  const int most = target.max_block_size();
  if (block < 64 || !std::has_single_bit(static_cast<unsigned>(block)) || block > most)
    return Support::no("block is " + std::to_string(block) + "; it is a power of two from 64 to " +
                       std::to_string(most));
  return {};
}

Support rowsSupported(const RowShape &row, const RowConfig &config, const RowLimits &limits,
                      const Target &target) {
  const auto power = [](int x) { return x > 0 && std::has_single_bit(static_cast<unsigned>(x)); };
  const int wave = target.wave_size(), most = target.max_block_size();
  if (!power(config.threads) || !power(config.block) || config.block > most || config.block % wave)
    return Support::no("threads=" + std::to_string(config.threads) +
                       " block=" + std::to_string(config.block) +
                       ": both are powers of two, and a block is a number of waves of " +
                       std::to_string(wave) + " threads, at most " + std::to_string(most));
  if (config.threads != config.block && config.threads > wave)
    return Support::no(
        "threads=" + std::to_string(config.threads) + " block=" + std::to_string(config.block) +
        ": a row has a part of a wave of " + std::to_string(wave) + ", or the block");
  if (config.resident && row.perThread(config.threads) > limits.most)
    return Support::no("a row of " + std::to_string(row.n) + " gives each of " +
                       std::to_string(config.threads) + " threads " +
                       std::to_string(row.perThread(config.threads)) +
                       " elements, and their registers hold " + std::to_string(limits.most) +
                       "; take more threads or resident=false");
  return {};
}

RowConfig chooseRows(const RowShape &row, const RowLimits &limits, const Target &target) {
  const auto *rule = std::find_if(std::begin(kRowRules), std::end(kRowRules),
                                  [&](const RowRule &r) { return row.accesses() <= r.accesses; });
  RowConfig config;
  config.threads = std::min(rule->threads, target.max_block_size());
  // Rows of narrow accesses fill the registers of few threads.
  while (row.perThread(config.threads) > limits.most && config.threads < target.max_block_size())
    config.threads *= 2;
  config.block = config.threads > target.wave_size() ? config.threads : kSharedBlock;
  config.resident = row.perThread(config.threads) <= limits.most;
  return config;
}

std::vector<RowConfig> rowCandidates(const RowShape &row, const Target &target) {
  std::vector<RowConfig> all;
  for (bool resident : {true, false})
    for (int threads = 1; threads <= target.max_block_size(); threads *= 2) {
      if (threads > 1 && threads / 2 >= row.accesses())
        break; // half of the threads would have no work
      if (threads > target.wave_size())
        all.push_back({threads, threads, resident});
      else
        for (int block : {64, 128, 256, 512})
          all.push_back({threads, block, resident});
    }
  // What is most like the choice comes first.
  const RowConfig chosen = chooseRows(row, {}, target);
  const auto unlike = [&](const RowConfig &config) {
    const auto log2 = [](int x) {
      return static_cast<int>(std::bit_width(static_cast<unsigned>(x)));
    };
    return std::tuple(
        config.resident != chosen.resident, std::abs(log2(config.threads) - log2(chosen.threads)),
        std::abs(log2(config.block) - log2(chosen.block)), config.threads, config.block);
  };
  std::sort(all.begin(), all.end(),
            [&](const RowConfig &a, const RowConfig &b) { return unlike(a) < unlike(b); });
  return all;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
