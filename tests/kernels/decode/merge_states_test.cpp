// Results of parts of the keys against those of all keys, in double precision.
#include "reference/reference.h"
#include "support/attention_case.h"
#include "support/decode_case.h"

#include <flydsl/kernels/attention/merge_states.h>

using namespace kernel_tests;

namespace {

using fk::MergeStatesProblem;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Logarithms of states: near one another, far apart, and of states without keys. Every seventh row
/// has none at all.
std::vector<double> logarithms(std::int64_t rows, std::int64_t states, std::int64_t heads) {
  std::vector<double> all = uniform(fx::f32, rows * states * heads, 7, 30);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < states; ++i)
      for (std::int64_t h = 0; h < heads; ++h) {
        double &own = all[std::size_t((row * states + i) * heads + h)];
        if ((row * heads + h) % 7 == 6)
          own = -kInfinity;
        else if ((row + i + h) % 5 == 4)
          own = (row + h) % 2 ? -kInfinity : kInfinity; // as FlashAttention 3 and 2 have it
        else if ((row + h) % 3 == 0)
          own = 40 + own / 64;
      }
  return decode(fx::f32, encode(fx::f32, all));
}

/// A call over rows with gaps. Rows of states without keys hold NaNs.
void expectMerge(const MergeStatesProblem &problem, std::int64_t m,
                 std::optional<fk::MergeStatesConfig> given = {}, bool inPlace = false) {
  const fk::MergeStatesConfig config = given ? *given : fk::choose(problem, m);
  INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
  const std::int64_t heads = problem.heads, head = problem.head, many = problem.states,
                     states = many ? many : 1;
  const int gap = 16;
  fk::reference::Inputs inputs;
  const auto fill = [&](const std::string &name, std::uint64_t seed) {
    std::vector<double> lse = logarithms(m, many ? states : 2, heads);
    if (!many) { // of the two operands, one each
      std::vector<double> own;
      for (std::int64_t row = 0; row < m; ++row)
        for (std::int64_t h = 0; h < heads; ++h)
          own.push_back(lse[std::size_t((row * 2 + (name == "b")) * heads + h)]);
      lse = own;
    }
    std::vector<double> values = uniform(problem.x, m * states * heads * head, seed, 3);
    for (std::size_t row = 0; row < lse.size(); ++row)
      if (std::isinf(lse[row]))
        std::fill_n(values.begin() + std::ptrdiff_t(row) * head, head, std::nan(""));
    inputs[name] = values;
    inputs[name + "_lse"] = lse;
  };
  fill("a", 1);
  if (!many)
    fill("b", 2);
  inputs["sink"] = uniform(fx::f32, heads, 3, 20);

  const std::int64_t rows = m * states * heads;
  const Operand A = Operand::both(problem.x, rows, head, inputs["a"], gap),
                ALse = Operand::input(fx::f32, m * states, heads, inputs["a_lse"], 3),
                B = many ? A : Operand::input(problem.x, rows, head, inputs["b"], gap),
                BLse = many ? ALse : Operand::input(fx::f32, m, heads, inputs["b_lse"]),
                sink = Operand::input(fx::f32, 1, heads, inputs["sink"]),
                Y = Operand::output(problem.y, m * heads, head, gap),
                // (heads, m): as attention's sequences one after another have it
      lse = Operand::output(fx::f32, heads, m, 5);
  const auto results = [&](const Operand &operand, bool ofStates) {
    const std::int64_t row = head + gap;
    return ofStates ? fx::tensor(operand.tensor().data(), operand.dtype(), {m, states, heads, head},
                                 {states * heads * row, heads * row, row, 1})
                    : fx::tensor(operand.tensor().data(), operand.dtype(), {m, heads, head},
                                 {states * heads * row, row, 1});
  };
  const auto ofLse = [&](const Operand &operand, bool ofStates) {
    const std::int64_t row = operand.tensor().strides()[0];
    return ofStates ? fx::tensor(operand.tensor().data(), fx::f32, {m, states, heads},
                                 {states * row, row, 1})
                    : operand.tensor();
  };
  const auto maybe = [](bool has, const fx::TensorArg &tensor) {
    return has ? std::optional<fx::TensorArg>(tensor) : std::nullopt;
  };
  const fx::TensorArg y = inPlace ? results(A, false)
                                  : fx::tensor(Y.tensor().data(), problem.y, {m, heads, head},
                                               {heads * (head + gap), head + gap, 1});
  const fx::Stream stream;
  fk::MergeStatesPlan(problem, config)(
      {.a = results(A, many != 0),
       .a_lse = ofLse(ALse, many != 0),
       .b = maybe(!many, results(B, false)),
       .b_lse = maybe(!many, ofLse(BLse, false)),
       .sink = maybe(problem.sink, sink.vector()),
       .y = y,
       .lse = maybe(problem.lse, fx::tensor(lse.tensor().data(), fx::f32, {m, heads},
                                            {1, lse.tensor().strides()[0]}))},
      stream);
  stream.synchronize();
  fk::reference::Outputs expected = fk::reference::expected(problem, config, m, inputs);
  if (inPlace) { // the first states are y, and the others are as before
    std::vector<double> got, all = A.values();
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t e = 0; e < head; ++e) {
        const std::size_t at = std::size_t(row * head + e);
        if (row / heads % states == 0)
          got.push_back(all[at]);
        else
          CHECK((all[at] == inputs["a"][at] || std::isnan(inputs["a"][at])));
      }
    expectWithin(got, expected.at("y").values, expected.at("y").bound);
  } else {
    expectWithin(Y.values(), expected.at("y").values, expected.at("y").bound);
  }
  if (!problem.lse)
    return;
  const std::vector<double> turned = lse.values(); // [head][token]
  std::vector<double> got;
  for (std::int64_t row = 0; row < m; ++row)
    for (std::int64_t h = 0; h < heads; ++h)
      got.push_back(turned[std::size_t(h * m + row)]);
  expectWithin(got, expected.at("lse").values, expected.at("lse").bound);
}

} // namespace

TEST_CASE("two states of attention become one", "[run]") {
  expectMerge({.heads = 3, .head = 64, .lse = true}, 11);
  expectMerge({.x = fx::f16, .y = fx::f32, .heads = 1, .head = 72, .sink = true, .lse = true}, 9);
  expectMerge({.x = fx::f32, .y = fx::f32, .heads = 5, .head = 128, .base2 = true, .lse = true}, 7);
  expectMerge({.x = fx::f32, .y = fx::bf16, .heads = 2, .head = 8}, 40, fk::MergeStatesConfig{64});
}

TEST_CASE("any number of states become one", "[run]") {
  expectMerge({.heads = 2, .head = 40, .states = 1, .lse = true}, 5);
  expectMerge({.x = fx::f32, .y = fx::f32, .heads = 3, .head = 64, .states = 3, .lse = true}, 8);
  expectMerge({.heads = 2, .head = 80, .states = 21, .base2 = true, .sink = true, .lse = true}, 6);
}

TEST_CASE("the merged states may take the place of the first", "[run]") {
  expectMerge({.heads = 3, .head = 64, .lse = true}, 6, {}, /*inPlace=*/true);
  expectMerge({.x = fx::f32, .y = fx::f32, .heads = 2, .head = 64, .states = 4}, 6, {},
              /*inPlace=*/true);
}

TEST_CASE("logarithms that are far from 0 keep their differences", "[run]") {
  // Of two states near 2^13 a third has 3 times the weight of the other: 2^-11 of a logarithm to
  // the base 2 would be a relative error of 2^-12, where natural ones have their difference alone.
  const MergeStatesProblem problem{.x = fx::f32, .y = fx::f32, .heads = 1, .head = 8};
  const float s = 8192, t = 8192 + 0x1p-10f;
  const Operand a = Operand::input(fx::f32, 1, 8, std::vector<double>(8, 1)),
                b = Operand::input(fx::f32, 1, 8, std::vector<double>(8, 0)),
                aLse = Operand::input(fx::f32, 1, 1, std::vector<double>{t}),
                bLse = Operand::input(fx::f32, 1, 1, std::vector<double>{s}),
                y = Operand::output(fx::f32, 1, 8);
  const auto heads = [](const Operand &of) {
    return fx::tensor(of.tensor().data(), fx::f32, {1, 1, 8});
  };
  const fx::Stream stream;
  fk::MergeStatesPlan(problem, fk::choose(problem, 1))(
      {.a = heads(a), .a_lse = aLse.tensor(), .b = heads(b), .b_lse = bLse.tensor(), .y = heads(y)},
      stream);
  stream.synchronize();
  const double weight = 1 / (1 + std::exp(-0x1p-10));
  expectWithin(y.values(), std::vector<double>(8, weight), std::vector<double>(8, 0x1p-21));
}

TEST_CASE("parts of a cache that are decoded apart give what all of it gives", "[run]") {
  using namespace kernel_tests::decoding;
  // Blocks of 16 tokens; of each sequence the first call has some of the blocks, or none.
  const DecodeProblem problem{.y = fx::f32,
                              .q_heads = 6,
                              .kv_heads = 2,
                              .head = 64,
                              .page = 16,
                              .lse = true,
                              .context = 64};
  const std::vector<int> contexts{33, 70, 5, 16}, cut{1, 3, 0, 1}; // blocks of the first call
  const Inputs inputs = random(problem, contexts);
  const std::int64_t n = std::ssize(contexts), heads = problem.q_heads, head = problem.head;
  const BlockTables tables(contexts, problem.page);
  const CacheShape shape{
      .dtype = problem.kv, .page = problem.page, .heads = problem.kv_heads, .head = head};
  const PagedCache k(shape, tables, inputs.k, true), v(shape, tables, inputs.v, false);
  const Operand q = Operand::input(problem.q, n * heads, head, inputs.q);
  const auto config = fk::choose(problem, n);
  const fk::DecodePlan plan(problem, config);
  const fx::Stream stream;
  const Operand values = Operand::output(fx::f32, 2 * n * heads, head),
                lse = Operand::output(fx::f32, 2 * n, heads);
  const auto ofPart = [&](const Operand &all, int part, const fx::Extents &shape) {
    const std::int64_t row =
        all.tensor().shape()[1] * n * (all.tensor().shape()[1] == head ? heads : 1);
    return fx::tensor(static_cast<float *>(all.tensor().data()) + part * row, shape);
  };
  for (int part = 0; part < 2; ++part) {
    std::vector<double> numbers, lengths;
    for (std::size_t s = 0; s < contexts.size(); ++s) {
      const int before = cut[s] * int(problem.page);
      lengths.push_back(part ? contexts[s] - before : before);
      for (std::int64_t i = 0; i < tables.columns; ++i) {
        const std::int64_t block = part ? i + cut[s] : i;
        numbers.push_back(block < std::ssize(tables.ofSequence[s])
                              ? tables.ofSequence[s][std::size_t(block)]
                              : 0x40000000);
      }
    }
    const Operand table = Operand::input(fx::i32, n, tables.columns, numbers),
                  length = Operand::input(fx::i32, 1, n, lengths);
    const Operand workspace = Operand::output(
        fx::u8, 1,
        std::max<std::int64_t>(1, std::int64_t(fk::workspace_bytes(problem, config, n))));
    plan({.q = fx::tensor(q.tensor().data(), problem.q, {n, heads, head}),
          .k = k.tensor(true),
          .v = v.tensor(false),
          .o = ofPart(values, part, {n, heads, head}),
          .seq_lens = length.vector(),
          .block_table = table.tensor(),
          .lse = ofPart(lse, part, {n, heads}),
          .workspace = workspace.vector()},
         stream);
    stream.synchronize();
  }
  // Both parts as two states of a token, which lie n tokens apart.
  const MergeStatesProblem merge{.x = fx::f32,
                                 .y = fx::f32,
                                 .heads = problem.q_heads,
                                 .head = problem.head,
                                 .states = 2,
                                 .lse = true};
  const Operand y = Operand::output(fx::f32, n * heads, head),
                all = Operand::output(fx::f32, n, heads);
  fk::MergeStatesPlan(merge, fk::choose(merge, n))(
      {.a = fx::tensor(values.tensor().data(), fx::f32, {n, 2, heads, head},
                       {heads * head, n * heads * head, head, 1}),
       .a_lse = fx::tensor(lse.tensor().data(), fx::f32, {n, 2, heads}, {heads, n * heads, 1}),
       .y = fx::tensor(y.tensor().data(), fx::f32, {n, heads, head}),
       .lse = all.tensor()},
      stream);
  stream.synchronize();
  // A state's rounding is that of decode over as many keys; the merge adds a few of f32.
  Expected expected = reference(problem, inputs);
  for (std::size_t i = 0; i < expected.y.size(); ++i)
    expected.yBound[i] += expected.yBound[i] + 0x1p-18;
  for (std::size_t i = 0; i < expected.lse.size(); ++i)
    expected.lseBound[i] += 0x1p-19;
  expectWithin(y.values(), expected.y, expected.yBound);
  expectWithin(all.values(), expected.lse, expected.lseBound);
}

TEST_CASE("a prefix and what comes after it are merged as attention of both", "[run]") {
  // vLLM's chunked prompts: all of the prefix is seen, and of the new tokens those before.
  const fk::AttentionProblem suffix{.q = fx::bf16,
                                    .kv = fx::bf16,
                                    .y = fx::bf16,
                                    .q_heads = 4,
                                    .kv_heads = 2,
                                    .head = 64,
                                    .causal = true,
                                    .lse = true};
  fk::AttentionProblem prefix = suffix;
  prefix.causal = false;
  const std::int64_t queries = 37, before = 70, all = before + queries, heads = 4, kv = 2,
                     head = 64;
  const std::vector<double> q = uniform(fx::bf16, queries * heads * head, 1, 2),
                            k = uniform(fx::bf16, all * kv * head, 2, 2),
                            v = uniform(fx::bf16, all * kv * head, 3, 2);
  const Operand Q = Operand::input(fx::bf16, queries, heads * head, q),
                K = Operand::input(fx::bf16, all, kv * head, k),
                V = Operand::input(fx::bf16, all, kv * head, v);
  const auto keys = [&](const Operand &of, std::int64_t first, std::int64_t count) {
    auto *start = static_cast<std::uint16_t *>(of.tensor().data()) + first * kv * head;
    return fx::tensor(static_cast<void *>(start), fx::bf16, {1, count, kv, head});
  };
  const fx::Stream stream;
  std::vector<Operand> values, lse;
  for (const bool ofPrefix : {true, false}) {
    values.push_back(Operand::output(fx::bf16, queries, heads * head));
    lse.push_back(Operand::output(fx::f32, queries, heads));
    const fk::AttentionProblem &problem = ofPrefix ? prefix : suffix;
    const std::int64_t first = ofPrefix ? 0 : before, count = ofPrefix ? before : queries;
    fk::AttentionPlan(problem, fk::choose(problem, queries))(
        {.q = fx::tensor(Q.tensor().data(), fx::bf16, {1, queries, heads, head}),
         .k = keys(K, first, count),
         .v = keys(V, first, count),
         .o = fx::tensor(values.back().tensor().data(), fx::bf16, {1, queries, heads, head}),
         .lse = fx::tensor(lse.back().tensor().data(), fx::f32, {1, queries, heads})},
        stream);
    stream.synchronize();
  }
  const MergeStatesProblem merge{.heads = 4, .head = 64, .lse = true};
  const Operand y = Operand::output(fx::bf16, queries, heads * head),
                ofAll = Operand::output(fx::f32, queries, heads);
  const auto rows = [&](const Operand &of) {
    return fx::tensor(of.tensor().data(), fx::bf16, {queries, heads, head});
  };
  const auto byTokens = [&](const Operand &of) {
    return fx::tensor(of.tensor().data(), fx::f32, {queries, heads});
  };
  fk::MergeStatesPlan(merge, fk::choose(merge, queries))({.a = rows(values[0]),
                                                          .a_lse = byTokens(lse[0]),
                                                          .b = rows(values[1]),
                                                          .b_lse = byTokens(lse[1]),
                                                          .y = rows(y),
                                                          .lse = byTokens(ofAll)},
                                                         stream);
  stream.synchronize();
  const std::vector<std::int64_t> queriesOf{queries}, keysOf{all};
  const std::vector<double> none;
  fk::reference::Attended expected = fk::reference::attended(
      suffix, fk::choose(suffix, queries), {queriesOf, keysOf, -1, -1, q, k, v, none, none, none});
  // The two results are rounded to bf16 before they are merged: by 2^-9 of at most the largest |v|.
  for (std::size_t i = 0; i < expected.o.bound.size(); ++i)
    expected.o.bound[i] += 2 * 0x1p-9;
  for (double &bound : expected.lse.bound)
    bound += 0x1p-19;
  expectWithin(y.values(), expected.o.values, expected.o.bound);
  expectWithin(ofAll.values(), expected.lse.values, expected.lse.bound);
}

TEST_CASE("merge_states: another run, a graph, a file", "[run]") {
  expectStructure<MergeStatesProblem>({.heads = 3, .head = 64, .sink = true, .lse = true},
                                      {.block = 64}, 5);
  expectStructure<MergeStatesProblem>({.x = fx::f32, .heads = 3, .head = 64, .states = 9},
                                      {.block = 128}, 5);
}

TEST_CASE("merge_states has a configuration for every problem that it supports") {
  expectTotal<MergeStatesProblem>({{}, {.heads = 65536, .head = 8, .states = 1024}, {.head = 72}});
}

TEST_CASE("merge_states says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  CHECK(fk::supported(MergeStatesProblem{.head = 68}, target).why ==
        "head is 68; it is a multiple of 8 from 8 to 65536");
  CHECK(fk::supported(MergeStatesProblem{.states = 1025}, target).why ==
        "states is 1025; it is 0 to 1024");
  CHECK(fk::supported(MergeStatesProblem{.heads = 0}, target).why ==
        "heads is 0; it is 1 to 65536");
  CHECK(fk::supported(MergeStatesProblem{.x = fx::i8}, target).why ==
        "x is of type i8; f32, f16 and bf16 are supported");
  CHECK(fk::supported(MergeStatesProblem{}, fk::MergeStatesConfig{.block = 100}, target).why ==
        "block is 100; it is a multiple of 64 up to 1024");

  const MergeStatesProblem problem{.heads = 2, .head = 8, .lse = true};
  const fk::MergeStatesPlan plan(problem, fk::choose(problem, 4));
  const Operand a = Operand::both(fx::bf16, 4, 16, std::vector<double>(64)),
                b = Operand::both(fx::bf16, 4, 16, std::vector<double>(64)),
                lse = Operand::both(fx::f32, 4, 2, std::vector<double>(8)),
                out = Operand::output(fx::f32, 4, 2), y = Operand::output(fx::bf16, 4, 16);
  const auto rows = [](const Operand &of) {
    return fx::tensor(of.tensor().data(), fx::bf16, {4, 2, 8});
  };
  const auto message = [&](auto change) {
    fk::MergeStatesArgs args{.a = rows(a),
                             .a_lse = lse.tensor(),
                             .b = rows(b),
                             .b_lse = lse.tensor(),
                             .y = rows(y),
                             .lse = out.tensor()};
    change(args);
    return messageOf([&] { plan(args); });
  };
  const auto says = [&](auto change, const char *text) {
    const std::string found = message(change);
    INFO(found);
    CHECK(found.find(text) != std::string::npos);
  };
  says([](auto &args) { args.b.reset(); }, "merge_states: b is missing; the problem has it");
  says([&](auto &args) { args.sink = lse.vector(); },
       "merge_states: sink is given, and the problem does not have it");
  says([&](auto &args) { args.y = rows(b); },
       "merge_states: y shares memory with b, which is read while it is written");
  says([&](auto &args) { args.lse = lse.tensor(); },
       "merge_states: lse shares memory with a_lse, which is read while it is written");
  // The first state's memory in another order: rows of other threads.
  says(
      [&](auto &args) {
        args.y = fx::tensor(a.tensor().data(), fx::bf16, {4, 2, 8}, {8, 32, 1});
      },
      "merge_states: y shares memory with a, which is read while it is written");
}
