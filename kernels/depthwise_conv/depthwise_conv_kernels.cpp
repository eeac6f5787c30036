// The kernel of depthwise convolutions. A thread has V neighbouring channels, with all of their
// filters, of a run of neighbours along the width of y. The threads of a run lie along its channels,
// so that a wave reads and writes whole lines. Taps go line by line: of each the thread loads the
// elements that its windows have, and adds their products to sums in f32.
//
// There is no product of matrices here: each element of x meets the filters of its own channel alone,
// so an instruction of matrices would multiply zeros for the most part.
#include "blocks/common/as_index.h"
#include "blocks/products/activation.h"
#include "conv/images.h"
#include "depthwise_conv/depthwise_conv_family.h"
#include "frame/compile.h"

#include <map>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Traced = DepthwiseConvParams<OnDevice>;
using Pieces = std::vector<Vector>; ///< V filters each, of the thread's V channels

class DepthwiseThread {
public:
  DepthwiseThread(const DepthwiseConvProblem &problem, const DepthwiseConvConfig &config,
                  const Traced &p)
      : problem_(problem), config_(config), p_(p), work_(workOf(problem)),
        threads_(problem, config), runsOfLine_(quotientUp(counted(p.out[2]), config.outputs)),
        firstRun_(block_idx().x / threads_.ofRun * threads_.runs),
        run_(firstRun_ + thread_idx().x / threads_.across),
        piece_(block_idx().x % threads_.ofRun * threads_.across + thread_idx().x % threads_.across),
        load_(make_copy_atom(BoundedCopy(size() * problem.x.memory_bits()), problem.x)),
        images_(p, problem.x,
                Int32(counted(firstRun_) / counted(Int32(p.out[0] * p.out[1] * runsOfLine_))),
                Int32(0), problem.channels, size()) {}

  void run() const {
    const auto [image, at] = ImageElement::numbered(run_, {p_.out[0], p_.out[1], runsOfLine_});
    std::vector<Boolean> exists{Boolean(image < p_.images)};
    if (threads_.runs * threads_.across != config_.block)
      exists.push_back(Boolean(exists.back() & (thread_idx().x < threads_.runs * threads_.across)));
    if (threads_.pieces % threads_.across)
      exists.push_back(Boolean(exists.back() & (piece_ < threads_.pieces)));
    if_(exists.back(), [&] {
      const Int32 width = at[2] * config_.outputs;
      std::vector<Var<Vector>> sums;
      for (int i = 0; i < config_.outputs * filters(); ++i)
        sums.emplace_back(Vector::splat(0.0f, size(), f32));
      addLines({image, {at[0], at[1], width}}, sums);
      store(Int32((image * p_.out[0] + at[0]) * p_.out[1] + at[1]), width, sums);
    });
  }

private:
  int size() const { return config_.channels; }
  /// Pieces of the filters of the thread's channels.
  int filters() const { return problem_.multiplier; }

  /// Where tap `tap` of an element of y lies along an axis, and whether there is an element of x.
  struct Source {
    Int32 at;
    std::optional<Boolean> exists; ///< none: it does
  };
  Source sourceOf(int mode, const Int32 &element, const Int32 &tap, bool tested) const {
    const ConvAxis &axis = work_.axes[asIndex(mode)];
    if (!problem_.transposed) {
      const Int32 at = element * axis.stride + tap * axis.dilation - axis.before;
      if (!tested)
        return {at, {}};
      return {at, images_.has(mode, at)};
    }
    // What goes to the element goes there from x at i, if element + before is i stride + tap dilation.
    const Int32 from = element + axis.before - tap * axis.dilation, at = from / axis.stride;
    const Boolean inside = images_.has(mode, at) & (from >= 0);
    if (axis.stride == 1)
      return {at, inside};
    return {at, Boolean(inside & (at * axis.stride == from))};
  }
  static Boolean both(const Boolean &a, const std::optional<Boolean> &b) {
    return b ? Boolean(a & *b) : a;
  }

  /// The thread's filters of a tap.
  Pieces filtersOf(const Int32 &tap) const {
    const Tensor all = p_.weight.view(problem_.weight, {problem_.taps(), problem_.filters()},
                                      size() * problem_.weight.bytes()); // (taps, filters)
    return piecesOf(all(tap, _));                                        // (filters)
  }
  /// The thread's numbers of a vector (filters), in f32.
  Pieces piecesOf(const Tensor &vector) const {
    const Tensor pieces = logical_divide(vector, size()); // (V, filters / V)
    Pieces own;
    for (int i = 0; i < filters(); ++i)
      own.push_back(pieces(_, piece_ * filters() + i).load().to(f32)); // (V)
    return own;
  }
  /// Channels, each as often as it has filters.
  Pieces repeated(const Vector &channels) const {
    if (filters() == 1)
      return {channels};
    Pieces all;
    for (int i = 0; i < filters(); ++i) {
      const Tensor piece = make_rmem_tensor(IntTuple(size()), f32); // (size)
      for (int v = 0; v < size(); ++v)
        piece(v) = channels.at((i * size() + v) / filters());
      all.push_back(piece.load());
    }
    return all;
  }

  void addLines(const ImageElement &first, std::vector<Var<Vector>> &sums) const {
    const int across = work_.axes[1].kernel, lines = work_.axes[0].kernel * across;
    // A few lines are all under way together.
    if (lines <= 4) {
      for (int line = 0; line < lines; ++line)
        addLine(first, Int32(line / across), Int32(line % across), sums);
      return;
    }
    for (Int32 line : range(Int32(0), Int32(lines)))
      addLine(first, Int32(counted(line) / across), Int32(counted(line) % across), sums);
  }
  /// Adds the products of a line of taps.
  void addLine(const ImageElement &first, const Int32 &r, const Int32 &s,
               std::vector<Var<Vector>> &sums) const {
    const auto &axes = work_.axes;
    const auto tested = [&](std::size_t mode) {
      return axes[mode].before > 0 || axes[mode].after > 0;
    };
    const Source depth = sourceOf(0, first.at[0], r, tested(0)),
                 height = sourceOf(1, first.at[1], s, tested(1));
    const Int32 line = (first.image - images_.first()) * images_.stride(0) +
                       images_.offset({depth.at, height.at, Int32(0)}) + piece_ * size();
    const Boolean inLine = both(both(Boolean(true), depth.exists), height.exists);
    const Int32 lineOfTaps = (r * axes[1].kernel + s) * axes[2].kernel;

    struct Loaded {
      Pieces values;
      Boolean exists;
    };
    std::map<int, Loaded>
        loaded; // by the distance from the run's first window, which windows share
    for (int tap = 0; tap < axes[2].kernel; ++tap) {
      const Pieces weights = filtersOf(Int32(lineOfTaps + tap));
      for (int output = 0; output < config_.outputs; ++output) {
        const int key = problem_.transposed ? tap * config_.outputs + output
                                            : output * axes[2].stride + tap * axes[2].dilation;
        auto found = loaded.find(key);
        if (found == loaded.end()) {
          // A run may go past the end of the line, so that the width is always tested.
          const Source width = sourceOf(2, Int32(first.at[2] + output), Int32(tap), true);
          const Boolean exists = both(inLine, width.exists);
          found = loaded
                      .emplace(key, Loaded{repeated(elementsAt(
                                               exists, Int32(line + width.at * images_.stride(3)))),
                                           exists})
                      .first;
        }
        for (int i = 0; i < filters(); ++i) {
          Var<Vector> &sum = sums[asIndex(output * filters() + i)];
          const Vector product =
              math::fma(found->second.values[asIndex(i)], weights[asIndex(i)], sum.get());
          // Where a transposed convolution has no element of x, it has no product either.
          sum = problem_.transposed
                    ? select(Vector::splat(found->second.exists, size()), product, sum.get())
                    : product;
        }
      }
    }
  }
  /// The thread's channels at a place of x, in f32; zeros if they are not to be read.
  Vector elementsAt(const Boolean &exists, const Int32 &place) const {
    const Tensor to = make_rmem_tensor(IntTuple(size()), problem_.x); // (size)
    copy(load_,
         make_view(images_.elements().iter() + insideOf(images_.elements(), exists, place),
                   make_layout(size())),
         to); // (size)
    return to.load().to(f32);
  }

  void store(const Int32 &line, const Int32 &width, const std::vector<Var<Vector>> &sums) const {
    const Pieces bias = problem_.bias
                            ? piecesOf(p_.bias.view(problem_.y, problem_.filters(),
                                                    size() * problem_.y.bytes())) // (filters)
                            : Pieces{};
    const Strided<OnDevice, 1> rows{.address = p_.y.address,
                                    .stride = {Int64(std::int64_t{problem_.filters()})}};
    const Tensor y = rows.view(problem_.y, {p_.m, problem_.filters()},
                               size() * problem_.y.bytes()); // (m, filters)
    for (int output = 0; output < config_.outputs; ++output)
      if_(width + output < p_.out[2], [&] {
        const Tensor own = logical_divide(y(Int32(line * p_.out[2] + width + output), _),
                                          size()); // (V, filters / V)
        for (int i = 0; i < filters(); ++i) {
          const Vector sum = sums[asIndex(output * filters() + i)].get();
          own(_, piece_ * filters() + i)
              .store(activate(problem_.activation,
                              problem_.bias ? Vector(sum + bias[asIndex(i)]) : sum)
                         .to(problem_.y)); // (V)
        }
      });
  }

  const DepthwiseConvProblem &problem_;
  const DepthwiseConvConfig &config_;
  const Traced &p_;
  ImageWork work_;
  DepthwiseThreads threads_;
  Int32 runsOfLine_;
  Int32 firstRun_; ///< of the block
  Int32 run_;
  Int32 piece_; ///< the thread's among the pieces of V channels
  CopyAtom load_;
  BlockImages images_;
};

const FamilyKernel depthwiseConv{
    kDepthwiseConv, [](const Traced &params, const Constexpr<Spec<DepthwiseConvProblem>> &spec) {
      const DepthwiseConvProblem problem = spec->problem;
      const DepthwiseConvConfig config = spec->config;
      DepthwiseThread(problem, config, params).run();
    }};

} // namespace

void Family<DepthwiseConvProblem>::compile(const Compiler<DepthwiseConvProblem> &compiler) {
  compiler(depthwiseConv, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(DepthwiseConvProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
