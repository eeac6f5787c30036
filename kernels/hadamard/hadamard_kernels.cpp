// The kernel of Hadamard transforms. Element e of a row takes a step with element e ^ 2^b for each bit b
// of its number: of the two, the one without the bit becomes their sum, the other their difference. Bits
// are those of
//
//   an element in its access   registers
//   a lane                     shuffles
//   a wave of a row            none: waves exchange what they have, so that these bits, too, are those
//                              of registers. They are exchanged once, for bits of slots
//   a slot of a thread         registers
#include "blocks/quant/quant.h"
#include "frame/compile.h"
#include "hadamard/hadamard_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

class HadamardRow {
public:
  HadamardRow(const HadamardProblem &problem, const RowConfig &config,
              const HadamardParams<OnDevice> &p, const Int32 &m)
      : problem_(problem), row_(rowShape(problem)), config_(config),
        shape_(row_, config, gpu::num_warp_threads()), p_(p), m_(m), thread_(row_, config, m),
        lane_(thread_.inRow() % shape_.lanes), wave_(thread_.inRow() / shape_.lanes) {}

  void run() {
    for (const Vector &values : thread_.load(rowsOf(p_.x, problem_.x, p_.m, row_), 0)) {
      const Vector numbers = values.to(f32);
      for (int v = 0; v < shape_.vector; ++v)
        elements_.push_back(numbers.at(v));
    }
    const int count = shape_.vector * shape_.slots;
    stepRegisters(1, count);
    for (int bit = 1; bit < shape_.lanes; bit *= 2)
      stepLanes(bit);
    if (shape_.waves > 1) {
      exchange();
      stepRegisters(shape_.vector, shape_.vector * shape_.waves);
    }
    store();
  }

private:
  /// The steps of the bits of registers from `first` on, which is one, to below `end`.
  void stepRegisters(int first, int end) {
    for (int bit = first; bit < end; bit *= 2) {
      std::vector<Numeric> next;
      for (int i = 0; i < static_cast<int>(elements_.size()); ++i) {
        const Numeric &own = at(i), &other = at(i ^ bit);
        next.push_back(i & bit ? Numeric(other - own) : Numeric(own + other));
      }
      elements_.swap(next);
    }
  }
  /// The step of a bit of lanes.
  void stepLanes(int bit) {
    const Numeric sign = select((lane_ & bit) == 0, Float32(1.0f), Float32(-1.0f));
    std::vector<Numeric> next;
    for (const Numeric &own : elements_)
      next.push_back(Numeric(gpu::shuffle_xor(own, bit) + own * sign));
    elements_.swap(next);
  }
  /// Slot (high, low) of wave w becomes slot (high, w) of wave `low`.
  void exchange() {
    const int waves = shape_.waves, lanes = shape_.lanes, part = shape_.exchanged();
    SharedAllocator shared;
    const Tensor all = shared.tensor(
        f32,
        make_layout({part, lanes, waves, waves}, {1, part, part * lanes, part * lanes * waves}),
        16); // (part of an access, lane, low, w)
    std::vector<std::optional<Numeric>> next(elements_.size());
    bool isFirst = true;
    for (int high = 0; high < shape_.slots / waves; ++high)
      for (int first = 0; first < shape_.vector; first += part) {
        if (!std::exchange(isFirst, false))
          gpu::barrier(AddressSpace::shared);
        const auto number = [&](int slot, int v) {
          return (high * waves + slot) * shape_.vector + first + v;
        };
        for (int low = 0; low < waves; ++low) {
          const Tensor own = make_rmem_tensor(IntTuple(part), f32); // (part)
          for (int v = 0; v < part; ++v)
            own(v) = at(number(low, v));
          all(_, lane_, low, wave_).store(own.load()); // (part)
        }
        gpu::barrier(AddressSpace::shared);
        for (int w = 0; w < waves; ++w) {
          const Vector got = all(_, lane_, wave_, w).load(); // (part)
          for (int v = 0; v < part; ++v)
            next[static_cast<std::size_t>(number(w, v))].emplace(got.at(v));
        }
      }
    std::vector<Numeric> exchanged;
    for (const std::optional<Numeric> &element : next)
      exchanged.push_back(*element);
    elements_.swap(exchanged);
  }

  const Numeric &at(int i) const { return elements_[static_cast<std::size_t>(i)]; }
  Vector slot(int number) const {
    const Tensor all = make_rmem_tensor(IntTuple(shape_.vector), f32); // (vector)
    for (int v = 0; v < shape_.vector; ++v)
      all(v) = at(number * shape_.vector + v);
    const Vector values = all.load();
    return problem_.scale == 1 ? values : Vector(values * static_cast<float>(problem_.scale));
  }
  /// The number of the access of a row that a slot is.
  Int32 accessOf(int number) const {
    const int waves = shape_.waves, low = number % waves, high = number / waves;
    return Int32(((high * waves + wave_) * waves + low) * shape_.lanes + lane_);
  }

  void store() const {
    const Tensor y = rowsOf(p_.y, problem_.y, p_.m, row_)(thread_.row(), _); // (N)
    const std::int64_t extent = size(y).value(), each = shape_.vector * extent / row_.n;
    const Tensor accesses =
        composition(y, make_layout({each, extent / each}, {1, each})); // (V, accesses)
    std::vector<Vector> values;
    for (int number = 0; number < shape_.slots; ++number)
      values.push_back(slot(number));
    const auto write = [&](int number, const Vector &written) {
      where(inside(), [&] {
        accesses(_, accessOf(number))
            .store(problem_.quantise == Quantisation::none ? written.to(problem_.y)
                                                           : written); // (access)
      });
    };
    if (problem_.group) {
      const QuantGroups groups = Family<HadamardProblem>::groups(problem_);
      const int lanes = groups.lanes(row_);
      const Tensor scales = scalesOfGroups(groups, p_.scale, p_.m, row_.n); // (m, n / group)
      for (int number = 0; number < shape_.slots; ++number) {
        const auto [written, scale] =
            quantisedGroup(values[static_cast<std::size_t>(number)], lanes, groups, problem_.y);
        write(number, written);
        const Boolean isFirst(lane_ % lanes == 0);
        const std::optional<Boolean> guard = inside();
        if_(guard ? Boolean(isFirst & *guard) : isFirst,
            [&] { scales(thread_.row(), accessOf(number) / lanes) = scale; });
      }
      return;
    }
    if (problem_.quantise == Quantisation::none) {
      for (int number = 0; number < shape_.slots; ++number)
        write(number, values[static_cast<std::size_t>(number)]);
      return;
    }
    const bool fixed = problem_.quantise == Quantisation::fixed;
    const Tensor scales = Strided<OnDevice, 0>{.address = p_.scale.address, .stride = {}}.view(
        f32, fixed ? IntTuple(1) : IntTuple(p_.m)); // (m), or one
    RowReduce reduce(config_);
    const auto largest = [&] {
      return reduce.max(
          combine(mapRow(values, [](const Vector &v) { return magnitudes(v); }), Reduction::max));
    };
    const Numeric scale = fixed ? Numeric(scales(0)) : scaleOf(largest(), problem_.y);
    if (!fixed)
      thread_.once([&] { scales(thread_.row()) = scale; });
    const Numeric inverse = 1.0f / scale;
    for (int number = 0; number < shape_.slots; ++number)
      write(number,
            quantised(values[static_cast<std::size_t>(number)], inverse, problem_.y, fixed));
  }
  /// Whether the thread's row is one of the kernel's; none: always.
  std::optional<Boolean> inside() const {
    const int rows = RowThread::rowsPerBlock(config_);
    if (rows == 1)
      return std::nullopt;
    return Boolean(block_idx().x * rows + thread_idx().x / config_.threads < m_);
  }

  const HadamardProblem &problem_;
  RowShape row_;
  RowConfig config_;
  HadamardShape shape_;
  const HadamardParams<OnDevice> &p_;
  Int32 m_; ///< rows that there are
  RowThread thread_;
  Int32 lane_, wave_;
  std::vector<Numeric> elements_; ///< of slot after slot
};

const FamilyKernel hadamard{
    kHadamard, [](const HadamardParams<OnDevice> &p, const Constexpr<Spec<HadamardProblem>> &spec) {
      withRows(spec->problem.rows, p.rows, p.m, spec->config,
               [&](const Int32 &m) { HadamardRow(spec->problem, spec->config, p, m).run(); });
    }};

} // namespace

void Family<HadamardProblem>::compile(const Compiler<HadamardProblem> &compiler) {
  compiler(hadamard, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(HadamardProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
