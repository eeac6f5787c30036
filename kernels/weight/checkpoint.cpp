// Narrow weights of checkpoints as rows.
#include <flydsl/kernels/checkpoint.h>

#include "weight/weight_family.h"

#include <flydsl/error.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {
namespace {

using std::to_string;

void expectSize(const char *of, const char *name, std::size_t found, std::int64_t expected,
                const char *modes) {
  if (static_cast<std::int64_t>(found) != expected)
    throw Error(std::string(of) + ": " + name + " has " + to_string(found) + " words; " + modes +
                " are " + to_string(expected));
}
/// A matrix that prepare_weight takes, in words of so many elements: 64 bits count what it has.
void expectExtents(const char *of, const WeightProblem &matrix, std::int64_t group,
                   std::int64_t inWord) {
  const std::int64_t n = matrix.n, k = matrix.k;
  if (n < 1 || n % inWord)
    throw Error(std::string(of) + ": n is " + to_string(n) + "; it is a multiple of " +
                to_string(inWord) + ", the elements of a word");
  if (group < 1)
    throw Error(std::string(of) + ": group is " + to_string(group) +
                "; it is the elements of K that share a scale, 1 or more");
  if (k < 1 || k % group || k % inWord)
    throw Error(std::string(of) + ": k is " + to_string(k) + "; it is a multiple of group, " +
                to_string(group) + ", and of " + to_string(inWord) + ", the elements of a word");
  if (const Support answer = impl::weightSupported(matrix); !answer)
    throw Error(std::string(of) + ": " + answer.why);
}

/// The elements of a matrix, which are set one after another.
class Rows {
public:
  Rows(const WeightProblem &matrix)
      : bits_(matrix.dtype.memory_bits()), k_(matrix.k),
        bytes_(static_cast<std::size_t>(matrix.n * matrix.k * bits_ / 8)) {}
  void set(std::int64_t row, std::int64_t column, std::uint32_t value) {
    const std::int64_t bit = (row * k_ + column) * bits_;
    bytes_[static_cast<std::size_t>(bit / 8)] |= static_cast<std::uint8_t>(value << bit % 8);
  }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

private:
  std::int64_t bits_, k_;
  std::vector<std::uint8_t> bytes_;
};

/// The columns of K in the order of their groups; none if they are in it.
std::vector<std::int32_t> orderOf(std::int64_t k, std::int64_t group,
                                  std::span<const std::int32_t> groups) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(k / group));
  for (std::int32_t number : groups) {
    if (number < 0 || number >= k / group)
      throw Error("weights_of_gptq: g_idx has a " + to_string(number) + "; there are " +
                  to_string(k / group) + " groups");
    ++counts[static_cast<std::size_t>(number)];
  }
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (!groups.empty() && counts[i] != group)
      throw Error("weights_of_gptq: g_idx gives group " + to_string(i) + " " +
                  to_string(counts[i]) + " columns of K; each has " + to_string(group));
  if (std::is_sorted(groups.begin(), groups.end()))
    return {};
  std::vector<std::int32_t> order(static_cast<std::size_t>(k));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const std::int32_t ofA = groups[static_cast<std::size_t>(a)],
                       ofB = groups[static_cast<std::size_t>(b)];
    return ofA != ofB ? ofA < ofB : a < b;
  });
  return order;
}

} // namespace

CheckpointWeights weights_of_awq(std::int64_t n, std::int64_t k, std::int64_t group,
                                 std::span<const std::uint32_t> qweight,
                                 std::span<const std::uint32_t> qzeros) {
  constexpr int kInWord = 8, kColumns[kInWord] = {0, 2, 4, 6, 1, 3, 5, 7};
  CheckpointWeights weights{.matrix = {u4, n, k, true}, .rows = {}, .zeros = {}, .order = {}};
  expectExtents("weights_of_awq", weights.matrix, group, kInWord);
  const std::int64_t words = n / kInWord;
  expectSize("weights_of_awq", "qweight", qweight.size(), k * words, "(k, n / 8)");
  expectSize("weights_of_awq", "qzeros", qzeros.size(), k / group * words, "(k / group, n / 8)");
  Rows rows(weights.matrix);
  weights.zeros.resize(static_cast<std::size_t>(k / group * n));
  for (std::int64_t j = 0; j < words; ++j)
    for (int i = 0; i < kInWord; ++i) {
      const std::int64_t column = kInWord * j + kColumns[i];
      const auto of = [&](std::span<const std::uint32_t> all, std::int64_t row) {
        return all[static_cast<std::size_t>(row * words + j)] >> (4 * i) & 15u;
      };
      for (std::int64_t row = 0; row < k; ++row)
        rows.set(column, row, of(qweight, row));
      for (std::int64_t row = 0; row < k / group; ++row)
        weights.zeros[static_cast<std::size_t>(row * n + column)] =
            static_cast<std::uint8_t>(of(qzeros, row));
    }
  weights.rows = rows.take();
  return weights;
}

CheckpointWeights weights_of_gptq(std::int64_t n, std::int64_t k, std::int64_t group, int bits,
                                  std::span<const std::uint32_t> qweight,
                                  std::span<const std::uint32_t> qzeros,
                                  std::span<const std::int32_t> g_idx, GptqZeros zeros) {
  if (bits != 4 && bits != 8)
    throw Error("weights_of_gptq: bits is " + to_string(bits) + "; 4 and 8 are supported");
  const std::int64_t inWord = 32 / bits;
  CheckpointWeights weights{
      .matrix = {bits == 4 ? u4 : u8, n, k, true}, .rows = {}, .zeros = {}, .order = {}};
  expectExtents("weights_of_gptq", weights.matrix, group, inWord);
  expectSize("weights_of_gptq", "qweight", qweight.size(), k / inWord * n, "(k / p, n)");
  expectSize("weights_of_gptq", "qzeros", qzeros.size(), k / group * (n / inWord),
             "(k / group, n / p)");
  if (!g_idx.empty())
    expectSize("weights_of_gptq", "g_idx", g_idx.size(), k, "(k)");
  weights.order = orderOf(k, group, g_idx);
  const std::uint32_t most = (1u << bits) - 1;
  Rows rows(weights.matrix);
  for (std::int64_t column = 0; column < k; ++column) {
    const std::int64_t from =
        weights.order.empty() ? column : weights.order[static_cast<std::size_t>(column)];
    for (std::int64_t row = 0; row < n; ++row)
      rows.set(row, column,
               qweight[static_cast<std::size_t>(from / inWord * n + row)] >>
                       (from % inWord * bits) &
                   most);
  }
  for (std::int64_t g = 0; g < k / group; ++g)
    for (std::int64_t row = 0; row < n; ++row) {
      const std::uint32_t stored =
          qzeros[static_cast<std::size_t>(g * (n / inWord) + row / inWord)] >>
              (row % inWord * bits) &
          most;
      weights.zeros.push_back(
          static_cast<std::uint8_t>(stored + (zeros == GptqZeros::less_one ? 1 : 0) & most));
    }
  weights.rows = rows.take();
  return weights;
}

std::vector<std::uint8_t> groups_by_columns(std::int64_t experts, std::int64_t n,
                                            std::int64_t groups,
                                            std::span<const std::uint8_t> rows) {
  // By division: a product may have more than 64 bits.
  const auto size = static_cast<std::int64_t>(rows.size());
  if (experts < 1 || n < 1 || groups < 1 || size % experts || size / experts % n ||
      size / experts / n != groups)
    throw Error("groups_by_columns: there are " + to_string(rows.size()) +
                " numbers; (experts, n, groups) is (" + to_string(experts) + ", " + to_string(n) +
                ", " + to_string(groups) + ")");
  std::vector<std::uint8_t> columns(rows.size());
  for (std::int64_t e = 0; e < experts; ++e)
    for (std::int64_t row = 0; row < n; ++row)
      for (std::int64_t g = 0; g < groups; ++g)
        columns[static_cast<std::size_t>((e * groups + g) * n + row)] =
            rows[static_cast<std::size_t>((e * n + row) * groups + g)];
  return columns;
}

} // namespace kernels
FLYDSL_NAMESPACE_END
