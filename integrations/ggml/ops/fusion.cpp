// Which nodes follow one another, and whether they may be one kernel: results between them have one use,
// and no thread writes what another one has yet to read.
#include "ops/fusion.h"

#include "ops/elementwise.h"
#include "ops/expert_plans.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace flydsl_ggml {
namespace {

bool overlap(const ggml_tensor *a, const ggml_tensor *b) {
  const auto begin = [](const ggml_tensor *x) { return reinterpret_cast<std::uintptr_t>(x->data); };
  return begin(a) < begin(b) + ggml_nbytes(b) && begin(b) < begin(a) + ggml_nbytes(a);
}
/// Whether the result may be written while the source is read. ggml gives a result the memory of tensors
/// that no later node reads; where nodes are one kernel, it still reads them.
bool apart(const ggml_tensor *result, const ggml_tensor *source) {
  return !source || !overlap(result, source);
}
/// The same where a thread reads no element of the source but those that it writes.
bool apartOrSame(const ggml_tensor *result, const ggml_tensor *source) {
  return apart(result, source) ||
         (result->data == source->data && result->type == source->type &&
          ggml_are_same_shape(result, source) && ggml_are_same_stride(result, source));
}
const ggml_tensor *other(const ggml_tensor *op, const ggml_tensor *one) {
  return op->src[0] == one ? op->src[1] : op->src[0];
}

//===-- Chains of ops of elements --------------------------------------------===//

/// An op of a chain: where its sources come from.
struct Link {
  static constexpr int kBefore = -1;
  Formula formula;
  std::vector<int> from; ///< the number of a source of the kernel, or kBefore: the value before
  std::size_t firstNumber;
};
struct Chain {
  std::string name = "chain";
  std::vector<Link> links;
  std::vector<Element> sources;
  std::vector<const ggml_tensor *> tensors;
  std::vector<float> numbers;

  /// Adds an op whose value before is `before`; false if a launch does not take so much.
  bool add(const ggml_tensor *op, const ggml_tensor *before) {
    const auto own = elementOpOf(op);
    if (!own || sources.size() + own->sources.size() >= kOperands ||
        numbers.size() + own->numbers.size() > kFloats)
      return false;
    Link link{own->formula, {}, numbers.size()};
    name += "_" + own->name;
    for (std::size_t s = 0; s < own->sources.size(); ++s) {
      if (own->tensors[s] == before) {
        link.from.push_back(Link::kBefore);
        name += "_p";
        continue;
      }
      link.from.push_back(static_cast<int>(sources.size()));
      sources.push_back(own->sources[s]);
      tensors.push_back(own->tensors[s]);
      name += "_s";
    }
    numbers.insert(numbers.end(), own->numbers.begin(), own->numbers.end());
    links.push_back(std::move(link));
    return true;
  }
  fx::Numeric value(std::span<const fx::Numeric> x, const fx::Float32 *f) const {
    std::vector<fx::Numeric> values;
    for (const Link &link : links) {
      std::vector<fx::Numeric> in;
      for (const int from : link.from)
        in.push_back(from == Link::kBefore ? values.back() : x[static_cast<std::size_t>(from)]);
      values.push_back(link.formula(in, f + link.firstNumber));
    }
    return values.back();
  }
};

int chainFrom(const Run &run, const ggml_cgraph *graph, int first) {
  constexpr int most = 16;
  Chain chain, longest;
  std::vector<ggml_op> ops;
  int length = 0;
  const ggml_tensor *before = nullptr;
  for (int n = 1; n <= most && first + n <= graph->n_nodes; ++n) {
    const ggml_tensor *node = graph->nodes[first + n - 1];
    ops.push_back(node->op);
    // Values between the ops are in f32.
    if (!chain.add(node, before) || (before && !isF32(before)) ||
        !ggml_can_fuse(graph, first, ops.data(), n))
      break;
    before = node;
    if (n > 1 && std::ranges::all_of(chain.tensors, [&](const ggml_tensor *source) {
          return apartOrSame(node, source);
        })) {
      longest = chain;
      length = n;
    }
  }
  if (!length)
    return 0;
  const ggml_tensor *result = graph->nodes[first + length - 1];
  elementwise(
      run, longest.name, elementOf(result), longest.sources,
      [longest](std::span<const fx::Numeric> x, const fx::Float32 *f) {
        return longest.value(x, f);
      },
      longest.numbers);
  return length;
}

//===-- Patterns -------------------------------------------------------------===//

int normFrom(const Run &run, const ggml_cgraph *graph, int first) {
  const ggml_tensor *norm = graph->nodes[first];
  for (const bool biased : {true, false}) {
    const ggml_op ops[] = {norm->op, GGML_OP_MUL, GGML_OP_ADD};
    const int length = biased ? 3 : 2;
    if (!ggml_can_fuse(graph, first, ops, length))
      continue;
    const ggml_tensor *mul = graph->nodes[first + 1], *result = graph->nodes[first + length - 1];
    const ggml_tensor *weight = other(mul, norm), *bias = biased ? other(result, mul) : nullptr;
    if (apartOrSame(result, norm->src[0]) && apart(result, weight) && apart(result, bias) &&
        normThen(run, norm, weight, bias, result))
      return length;
  }
  return 0;
}

/// Two products of one kind, and GLU of them, if `compute` has computed it.
int gluFrom(const ggml_cgraph *graph, int first,
            const std::function<bool(const ggml_tensor *glu)> &compute) {
  const ggml_tensor *product = graph->nodes[first];
  if (first + 2 >= graph->n_nodes ||
      !ggml_can_fuse_subgraph(graph, first, {product->op, product->op, GGML_OP_GLU}, {first + 2}))
    return 0;
  const ggml_tensor *second = graph->nodes[first + 1], *glu = graph->nodes[first + 2];
  const bool order = glu->src[0] == product && glu->src[1] == second,
             turned = glu->src[0] == second && glu->src[1] == product;
  const auto apartFromAll = [&](const ggml_tensor *of) {
    return apart(glu, of->src[0]) && apart(glu, of->src[1]) && apart(glu, of->src[2]);
  };
  return (order || turned) && apartFromAll(product) && apartFromAll(second) && compute(glu) ? 3 : 0;
}

int mulMatFrom(const Run &run, const ggml_cgraph *graph, int first) {
  const ggml_tensor *product = graph->nodes[first];
  if (ggml_can_fuse(graph, first, {GGML_OP_MUL_MAT, GGML_OP_ADD})) {
    const ggml_tensor *result = graph->nodes[first + 1], *addend = other(result, product);
    if (apart(result, product->src[0]) && apart(result, product->src[1]) &&
        apartOrSame(result, addend) && mulMatThenAdd(run, product, addend, result))
      return 2;
  }
  return gluFrom(graph, first, [&](const ggml_tensor *glu) {
    return mulMatsThenGlu(run, glu->src[0], glu->src[1], glu);
  });
}

int ropeFrom(const Run &run, const ggml_cgraph *graph, int first) {
  if (first + 2 >= graph->n_nodes ||
      !ggml_can_fuse_subgraph(graph, first, {GGML_OP_ROPE, GGML_OP_VIEW, GGML_OP_SET_ROWS},
                              {first + 2}))
    return 0;
  const ggml_tensor *rope = graph->nodes[first], *view = graph->nodes[first + 1],
                    *rows = graph->nodes[first + 2];
  const bool follows = view->src[0] == rope && rows->src[0] == view && view->data == rope->data &&
                       ggml_is_contiguous(view) && ggml_is_contiguous(rope) &&
                       ggml_nelements(view) == ggml_nelements(rope);
  return follows && apart(rows, rope->src[0]) && ropeThenSetRows(run, rope, rows) ? 3 : 0;
}

} // namespace

int runFused(const Run &run, const ggml_cgraph *graph, int first) {
  switch (graph->nodes[first]->op) {
  case GGML_OP_NORM:
  case GGML_OP_RMS_NORM:
    return normFrom(run, graph, first);
  case GGML_OP_MUL_MAT:
    return mulMatFrom(run, graph, first);
  case GGML_OP_MUL_MAT_ID:
    return gluFrom(graph, first, [&](const ggml_tensor *glu) {
      return mulMatIdsThenGlu(run, glu->src[0], glu->src[1], glu);
    });
  case GGML_OP_ROPE:
    return ropeFrom(run, graph, first);
  default:
    return chainFrom(run, graph, first);
  }
}

} // namespace flydsl_ggml
