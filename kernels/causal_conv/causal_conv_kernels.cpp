// The kernel of the causal convolution. A thread has V neighbouring channels of a run of tokens of one
// sequence; the threads of a block have neighbouring channels of the same run. Where sequences start
// is in device memory, so there are as many blocks as runs there may be, and a block finds its run:
// the runs of sequence i begin at number starts[i] / tokens + i, which leaves each sequence as many
// numbers as it needs, because
//
//   ceil((b - a) / t) <= floor(b / t) - floor(a / t) + 1.
//
// The thread of a sequence's first run alone reads the state, and writes it: what other runs need of
// the tokens before them is in x. So no thread writes a state that another one reads.
#include "blocks/products/activation.h"
#include "causal_conv/causal_conv_family.h"
#include "frame/compile.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Traced = CausalConvParams<OnDevice>;
using Columns = std::vector<Vector>; ///< V elements of each of some tokens

/// A run of tokens: those from `begin` to below `end`, which is the sequence's.
struct Run {
  Int32 sequence, number, begin, end;
};

class ConvThread {
public:
  ConvThread(const CausalConvProblem &problem, const CausalConvConfig &config, const Traced &params)
      : problem_(problem), config_(config), p_(params),
        block_(block_idx().x % blocksOfRun(problem, config)),
        piece_(block_ * config.block + thread_idx().x) {}

  void run() {
    const Run run = found(block_idx().x / blocksOfRun(problem_, config_));
    const Boolean some(run.begin < run.end),
        inChannels(piece_ * config_.channels < problem_.channels);
    const bool ragged = problem_.channels % (config_.block * config_.channels) != 0;
    const Boolean wanted = ragged ? Boolean(some & inChannels) : some;
    if (problem_.stateless)
      return if_(wanted, [&] { tokens(run); });
    const Numeric slot = slotOf(run);
    if_(wanted & (slot >= 0) & (slot < p_.slots), [&] { tokens(run); });
  }

private:
  int taps() const { return problem_.width; }
  int size() const { return config_.channels; }
  int before() const { return problem_.width - 1; }

  /// The run with a number among those of all sequences.
  Run found(const Int32 &number) const {
    const Tensor starts = p_.starts.view(i32, p_.sequences + 1); // (n + 1)
    const int each = config_.tokens;
    const auto first = [&](const Int32 &i) { return Int32(Int32(starts(i)) / each + i); };
    // The last sequence whose runs do not begin after the number is from `low` to below `high`.
    const auto [low, high] = while_(
        carry(Int32(0), p_.sequences), [](Int32 low, Int32 high) { return high - low > 1; },
        [&](Int32 low, Int32 high) {
          const Int32 middle = (low + high) / 2;
          const Boolean after(first(middle) > number);
          return yield(select(after, low, middle), select(after, middle, high));
        });
    const Int32 sequence = gpu::uniform(low).to<Int32>();
    const Int32 begin = gpu::uniform(Int32(starts(sequence))).to<Int32>(),
                end = gpu::uniform(Int32(starts(sequence + 1))).to<Int32>();
    const Int32 own = number - (begin / each + sequence);
    return {sequence, own, Int32(begin + own * each), end};
  }

  /// The thread's of all channels: (V).
  Tensor own(const Tensor &channels) const {
    return logical_divide(channels, size())(_, piece_); // (V)
  }
  /// The thread's channels of a token.
  Vector load(const Int32 &token) const {
    const Tensor x = p_.x.view(problem_.x, {p_.tokens, problem_.channels},
                               problem_.x.bytes() * size()); // (m, channels)
    return own(x(token, _)).load();                          // (V)
  }
  /// The elements of numbers first, first + step, ... among those of pieces of V.
  Vector picked(const Columns &pieces, int first, int step) const {
    const Tensor all = make_rmem_tensor(IntTuple(size()), pieces.front().dtype()); // (size)
    for (int v = 0; v < size(); ++v) {
      const int at = first + v * step;
      all(v) = pieces[std::size_t(at / size())].at(at % size());
    }
    return all.load();
  }
  /// Pieces in which each channel has `count` neighbours, as `count` columns; and back, if `step` is
  /// 1 where `count` was.
  Columns turned(const Columns &pieces, int count) const {
    Columns columns;
    for (int j = 0; j < count; ++j)
      columns.push_back(picked(pieces, j, count));
    return columns;
  }

  /// The taps of the thread's filters, in f32: a column each.
  Columns filters() const {
    const Tensor weight = logical_divide(p_.weight.view(problem_.weight, problem_.channels * taps(),
                                                        problem_.weight.bytes() * size()),
                                         size()); // (V, channels width / V)
    Columns pieces;
    for (int i = 0; i < taps(); ++i)
      pieces.push_back(weight(_, piece_ * taps() + i).load().to(f32)); // (V)
    return turned(pieces, taps());
  }

  /// The V channels of a column of a sequence's state, or a piece of its channels' columns: (V).
  Tensor statePiece(const Numeric &slot, int number) const {
    const int count = columnsOf(problem_), bytes = problem_.state.bytes() * size();
    if (problem_.order == ConvStateOrder::channels_last) {
      const Tensor all = p_.state.view(problem_.state, {p_.slots, count, problem_.channels},
                                       bytes); // (slots, columns, channels)
      return own(all(slot, number, _));        // (V)
    }
    const Strided<OnDevice, 1> bySlot{.address = p_.state.address, .stride = {p_.state.stride[0]}};
    const Tensor all = bySlot.view(problem_.state, {p_.slots, problem_.channels * count},
                                   bytes); // (slots, channels columns)
    return logical_divide(all(slot, _), size())(_, piece_ * count + number); // (V)
  }
  Columns loadState(const Numeric &slot) const {
    const int count = columnsOf(problem_);
    Columns pieces;
    for (int i = 0; i < count; ++i)
      pieces.push_back(statePiece(slot, i).load().to(f32));
    return problem_.order == ConvStateOrder::channels_last ? pieces : turned(pieces, count);
  }
  void storeState(const Numeric &slot, const Columns &columns) const {
    const int count = columnsOf(problem_);
    for (int i = 0; i < count; ++i) {
      if (problem_.order == ConvStateOrder::channels_last) {
        statePiece(slot, i).store(columns[std::size_t(i)].to(problem_.state));
        continue;
      }
      const Tensor piece = make_rmem_tensor(IntTuple(size()), f32); // (size)
      for (int v = 0; v < size(); ++v) {
        const int at = i * size() + v; // channel at / count, column at % count
        piece(v) = columns[std::size_t(at % count)].at(at / count);
      }
      statePiece(slot, i).store(piece.load().to(problem_.state));
    }
  }

  Numeric slotOf(const Run &run) const {
    return p_.stateSlots.view(i32, p_.sequences)(run.sequence); // (n)
  }
  static Columns valuesOf(const std::vector<Var<Vector>> &columns) {
    Columns values;
    for (const Var<Vector> &column : columns)
      values.push_back(column.get());
    return values;
  }
  Columns zeros(int count) const {
    return Columns(std::size_t(count), Vector::splat(0.0f, size(), f32));
  }
  /// All columns of the sequence's state, zeros if it has none yet.
  Columns stateOf(const Run &run) const {
    const int count = columnsOf(problem_);
    if (!problem_.fresh)
      return loadState(slotOf(run));
    std::vector<Var<Vector>> columns;
    for (const Vector &zero : zeros(count))
      columns.emplace_back(zero);
    if_(p_.fresh.view(u8, p_.sequences)(run.sequence) == UInt8(0), [&] { // (n)
      const Columns loaded = loadState(slotOf(run));
      for (std::size_t i = 0; i < loaded.size(); ++i)
        columns[i] = loaded[i];
    });
    return valuesOf(columns);
  }

  /// Of a sequence with drafts: the columns that were accepted, and the state after this call.
  Columns withDrafts(const Run &run, const Columns &columns) const {
    const Numeric accepted = p_.accepted.view(i32, p_.sequences)(run.sequence); // (n)
    Columns history(columns.begin(), columns.begin() + before());
    for (int right = 2; right <= problem_.drafts + 1; ++right) {
      Columns later;
      for (int j = 0; j < before(); ++j)
        later.push_back(if_(
            accepted >= right, [&] { return columns[std::size_t(j + right - 1)]; },
            [&] { return history[std::size_t(j)]; }));
      history = std::move(later);
    }
    Columns after(history.begin() + 1, history.end());
    for (int k = 0; k <= problem_.drafts; ++k)
      after.push_back(if_(
          run.begin + k < run.end, [&] { return load(run.begin + k).to(f32); },
          [&] { return columns[after.size()]; }));
    storeState(slotOf(run), after);
    return history;
  }

  void store(const Int32 &token, const Vector &sum) const {
    const Tensor y = p_.y.view(problem_.y, {p_.tokens, problem_.channels},
                               problem_.y.bytes() * size());                   // (m, channels)
    own(y(token, _)).store(activate(problem_.activation, sum).to(problem_.y)); // (V)
  }

  void tokens(const Run &run) const {
    const Boolean first(run.number == 0);
    std::vector<Var<Vector>> window;
    for (const Vector &zero : zeros(before()))
      window.emplace_back(zero);
    const auto set = [&](const Columns &columns) {
      for (std::size_t j = 0; j < window.size(); ++j)
        window[j] = columns[j];
    };
    if_(
        first,
        [&] {
          if (problem_.stateless)
            return;
          const Columns columns = stateOf(run);
          set(problem_.drafts ? withDrafts(run, columns) : columns);
        },
        [&] {
          Columns columns;
          for (int j = 0; j < before(); ++j)
            columns.push_back(load(run.begin - before() + j).to(f32));
          set(columns);
        });
    const Columns weights = filters();
    const Vector start = problem_.bias ? own(p_.bias.view(problem_.weight, problem_.channels,
                                                          problem_.weight.bytes() * size()))
                                             .load()
                                             .to(f32)
                                       : Vector::splat(0.0f, size(), f32); // (V)
    /// The sum over the taps of the last `width` of some tokens.
    const auto summed = [&](const Columns &of) {
      Columns sums{start};
      for (int j = 0; j < taps(); ++j)
        sums.push_back(math::fma(of[of.size() - std::size_t(taps() - j)], weights[std::size_t(j)],
                                 sums.back()));
      return sums.back();
    };
    const bool writes = !problem_.stateless && !problem_.drafts;
    const Columns known = valuesOf(window);
    if_(
        run.begin + config_.tokens <= run.end,
        [&] {
          // All tokens of the run are on their way before the first is taken.
          Columns raw;
          for (int t = 0; t < config_.tokens; ++t)
            raw.push_back(load(run.begin + t));
          Columns all = known;
          for (int t = 0; t < config_.tokens; ++t) {
            all.push_back(raw[std::size_t(t)].to(f32));
            store(run.begin + t, summed(all));
          }
          // The sequence has at least width - 1 tokens, as a run has.
          if (writes)
            if_(first, [&] {
              Columns last;
              for (int j = 0; j < before(); ++j)
                last.push_back(load(run.end - before() + j).to(f32));
              storeState(slotOf(run), last);
            });
        },
        [&] {
          for (Int32 t : range(run.begin, run.end)) {
            Columns all = valuesOf(window);
            all.push_back(load(t).to(f32));
            store(t, summed(all));
            for (std::size_t j = 0; j < window.size(); ++j)
              window[j] = all[j + 1];
          }
          // The first run, if it ends here, is the only one: the window has the last tokens.
          if (writes)
            if_(first, [&] { storeState(slotOf(run), valuesOf(window)); });
        });
  }

  const CausalConvProblem &problem_;
  const CausalConvConfig &config_;
  const Traced &p_;
  Int32 block_; ///< among those of a run
  Int32 piece_; ///< the thread's among pieces of V channels
};

const FamilyKernel causalConv{
    kCausalConv, [](const Traced &params, const Constexpr<Spec<CausalConvProblem>> &spec) {
      const CausalConvProblem problem = spec->problem;
      const CausalConvConfig config = spec->config;
      ConvThread(problem, config, params).run();
    }};

} // namespace

void Family<CausalConvProblem>::compile(const Compiler<CausalConvProblem> &compiler) {
  compiler(causalConv, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(CausalConvProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
