// Logits of an indexer over keys in pages of a cache.
#include "support/size_sweep.h"
#include "support/structure.h"

#include <flydsl/kernels/mqa_logits.h>

using namespace kernel_tests;

namespace {

using fk::MqaLogitsProblem;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A sequence: its keys, and the tokens of the call, which are its last ones.
struct Sequence {
  int context, queries;
};

/// Bounds are those of mqa_logits_test.cpp.
void expectLogits(const MqaLogitsProblem &problem, const std::vector<Sequence> &sequences,
                  std::int64_t most, std::int64_t longest,
                  std::optional<fk::MqaLogitsConfig> config = {}) {
  const std::int64_t page = problem.page, columns = (most + page - 1) / page,
                     s = std::ssize(sequences), heads = problem.heads, head = problem.head;
  // Blocks in an order of their own. Entries past a sequence's keys name none, which is never read.
  std::vector<double> tables(std::size_t(s * columns), 0x7ffffff0), contexts, starts{0};
  std::int64_t blocks = 0, m = 0;
  for (const Sequence &of : sequences)
    blocks += (of.context + page - 1) / page;
  std::int64_t next = blocks;
  for (std::int64_t i = 0; i < s; ++i) {
    const Sequence &of = sequences[std::size_t(i)];
    for (std::int64_t b = 0; b < (of.context + page - 1) / page; ++b)
      tables[std::size_t(i * columns + b)] = double(--next);
    m += of.queries;
    contexts.push_back(of.context);
    starts.push_back(double(m));
  }
  const auto qs = uniform(problem.x, m * heads * head, 1),
             ks = uniform(problem.x, blocks * page * head, 2),
             scales = uniform(fx::f32, blocks * page, 3), ws = uniform(fx::f32, m * heads, 4),
             biases = uniform(problem.bias_type, problem.bias ? m * most : 0, 5);
  const Operand q = Operand::input(problem.x, m, heads * head, qs, 16),
                k = Operand::input(problem.x, blocks * page, head, ks, 16),
                scale = Operand::input(fx::f32, blocks, page, scales, 3),
                weights = Operand::input(fx::f32, m, heads, ws, 2),
                table = Operand::input(fx::i32, s, columns, tables, 1),
                lengths = Operand::input(fx::i32, 1, s, contexts),
                begins = Operand::input(fx::i32, 1, s + 1, starts),
                bias = Operand::input(problem.bias_type, m, problem.bias ? most : 0, biases, 5),
                logits = Operand::output(fx::f32, m, most, 3);
  const std::int64_t row = k.tensor().strides()[0];
  fk::MqaLogitsArgs args{
      .q = fx::tensor(q.tensor().data(), problem.x, {m, heads, head},
                      {q.tensor().strides()[0], head, 1}),
      .k = fx::tensor(k.tensor().data(), problem.x, {blocks, page, head}, {page * row, row, 1}),
      .weights = weights.tensor(),
      .logits = logits.tensor(),
      .cu_seqlens_q = begins.vector(),
      .max_seqlen_q = longest,
      .seq_lens = lengths.vector(),
      .block_table = table.tensor()};
  if (problem.k_scale)
    args.k_scale = scale.tensor();
  if (problem.bias)
    args.bias = bias.tensor();
  const fx::Stream stream;
  fk::MqaLogitsPlan(problem, config ? *config : fk::choose(problem, m))(args, stream);
  stream.synchronize();

  std::vector<double> expected, bound;
  for (std::int64_t i = 0, token = 0; i < s; ++i)
    for (int query = 0; query < sequences[std::size_t(i)].queries; ++query, ++token)
      for (std::int64_t j = 0; j < most; ++j) {
        const Sequence &of = sequences[std::size_t(i)];
        if (j > of.context - of.queries + query) {
          expected.push_back(-kInfinity);
          bound.push_back(0);
          continue;
        }
        const std::int64_t place =
            std::int64_t(tables[std::size_t(i * columns + j / page)]) * page + j % page;
        double sum = 0, magnitude = 0;
        for (std::int64_t h = 0; h < heads; ++h) {
          double score = 0, size = 0;
          for (std::int64_t d = 0; d < head; ++d) {
            const double term =
                qs[std::size_t((token * heads + h) * head + d)] * ks[std::size_t(place * head + d)];
            score += term;
            size += std::fabs(term);
          }
          const double weight = ws[std::size_t(token * heads + h)];
          sum += weight * (score < 0 ? 0 : score);
          magnitude += std::fabs(weight) * size;
        }
        const double factor = problem.k_scale ? scales[std::size_t(place)] : 1;
        const double added = problem.bias ? biases[std::size_t(token * most + j)] : 0;
        expected.push_back(sum * factor + added);
        bound.push_back(double(head + heads + 4) * 0x1p-23 * magnitude * std::fabs(factor) +
                        0x1p-24 * std::fabs(added) + underflow(fx::f32));
      }
  expectWithin(logits.values(), expected, bound);
}

} // namespace

TEST_CASE("logits over pages, of sequences of any lengths", "[run]") {
  const int wave = fx::Device::current().target().wave_size();
  const MqaLogitsProblem problem{.x = fx::bf16, .heads = 16, .head = 64, .paged = true, .page = 16};
  // One without tokens in the call, one without keys, one that is all prompt, and drafts.
  expectLogits(problem, {{83, 1}, {20, 0}, {0, 0}, {9, 9}, {70, 3}}, 96, 9,
               fk::MqaLogitsConfig{.keys = 2 * 16, .block = 2 * wave, .rows = 4});
  MqaLogitsProblem other = problem;
  other.k_scale = false;
  other.page = 1;
  expectLogits(other, {{17, 1}, {40, 2}}, 41, 2);
  other.bias = true;
  other.bias_type = fx::f16;
  expectLogits(other, {{17, 1}, {40, 2}}, 41, 2);
  other.bias = false;
  other.page = 100;
  expectLogits(other, {{3, 3}}, 3, 0);
  // More tokens than blocks are made for.
  expectLogits(other, {{30, 1}, {25, 23}}, 30, 1,
               fk::MqaLogitsConfig{.keys = 2 * 16, .block = 2 * wave, .rows = 4});
}

TEST_CASE("paged logits: another run, a graph, a file", "[run]") {
  const int wave = fx::Device::current().target().wave_size();
  expectStructure<MqaLogitsProblem>(
      {.x = fx::bf16, .heads = 16, .head = 64, .paged = true, .page = 8},
      {.keys = 64, .block = 2 * wave, .rows = 8}, 40);
}

TEST_CASE("paged logits say what they do not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  CHECK(fk::supported(MqaLogitsProblem{.x = fx::bf16, .paged = true, .page = 0}, target).why ==
        "page is 0; a block has 1 to 65536 tokens");
  const MqaLogitsProblem problem{.x = fx::bf16, .heads = 16, .head = 64, .paged = true, .page = 4};
  const fk::MqaLogitsPlan plan(problem, fk::choose(problem, 8));
  const Operands<MqaLogitsProblem> operands(problem, plan.config(), 8);
  fk::MqaLogitsArgs args = operands.args();
  args.max_seqlen_q = 9;
  CHECK(messageOf([&] { plan(args); }).find("max_seqlen_q is 9; q has 8 tokens") !=
        std::string::npos);
  args = operands.args();
  args.first = args.seq_lens;
  CHECK(messageOf([&] { plan(args); }).find("first is given, and the problem does not have it") !=
        std::string::npos);
  args = operands.args();
  args.block_table.reset();
  CHECK(messageOf([&] { plan(args); }).find("block_table is missing; the problem has it") !=
        std::string::npos);
}
