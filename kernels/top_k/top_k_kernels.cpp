// The kernel that finds the largest elements of rows. A block has a row, and goes over it six times at
// most: to count what is no -infinity, four times for the digits of the k-th largest, and to write
// the numbers of the elements that are above it, and of those that are equal the first. Rows that have
// no more than k elements are gone over twice.
#include "blocks/rows/key_search.h"
#include "frame/compile.h"
#include "top_k/top_k_family.h"

#include <flydsl/coop/block_scan.h>

#include <functional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The row of a block.
class TopKRow {
public:
  /// Neighbours of a row.
  struct Elements {
    Int32 first;
    std::vector<Numeric> values;
  };
  using Visit = std::function<void(const Elements &)>;

  TopKRow(const TopKParams<OnDevice> &p, const Spec<TopKProblem> &spec)
      : block_(spec.config.block), vector_(elementsOfAccess(spec.problem)), thread_(thread_idx().x),
        row_(block_idx().x), elements_(p.x.view(spec.problem.x, {p.m, p.n},
                                                vector_ * spec.problem.x.bytes())(row_, _)), // (n)
        length_(spec.problem.lengths
                    ? Int32(min(max(Numeric(p.lengths.view(i32, p.m)(row_)), 0), p.n)) // (m)
                    : Int32(p.n)) {}

  int block() const { return block_; }
  const Int32 &thread() const { return thread_; }
  const Int32 &number() const { return row_; }
  SharedAllocator &shared() { return shared_; }
  int vector() const { return vector_; }
  /// Elements that the block's threads have together, and how many times they have some.
  int elementsOfRound() const { return block_ * vector_; }
  Int32 rounds() const { return (length_ + (elementsOfRound() - 1)) / elementsOfRound(); }

  /// Calls `visit` with all elements of the thread.
  void each(const Visit &visit) const {
    constexpr int kAhead = 4;
    const Int32 whole = length_ / (elementsOfRound() * kAhead);
    for (Int32 i : range(whole)) {
      std::vector<Vector> loaded;
      for (int j = 0; j < kAhead; ++j)
        loaded.push_back(load(first(Int32(i * kAhead + j))));
      gpu::schedule_fence(); // all of them are on their way
      for (int j = 0; j < kAhead; ++j)
        visit({first(Int32(i * kAhead + j)), valuesOf(loaded[static_cast<std::size_t>(j)])});
    }
    for (Int32 i : range(Int32(whole * kAhead), rounds()))
      visit(round(i));
  }
  /// The thread's elements of a round; past the row they are -infinity.
  Elements round(const Int32 &number) const {
    const Int32 at = first(number);
    std::vector<Var<Float32>> own;
    for (int i = 0; i < vector_; ++i)
      own.emplace_back(Float32(-kInfinity));
    const auto one = [&](int i) {
      own[static_cast<std::size_t>(i)] = nanFirst(Numeric(elements_(Int32(at + i))).to(f32));
    };
    if_(
        at + vector_ <= length_,
        [&] {
          const std::vector<Numeric> values = valuesOf(load(at));
          for (std::size_t i = 0; i < values.size(); ++i)
            own[i] = values[i];
        },
        [&] {
          for (int i = 0; i < vector_ - 1; ++i)
            if_(at + i < length_, [&] { one(i); });
        });
    std::vector<Numeric> values;
    for (const Var<Float32> &value : own)
      values.push_back(value.get());
    return {at, values};
  }

private:
  Int32 first(const Int32 &round) const { return round * elementsOfRound() + thread_ * vector_; }
  Vector load(const Int32 &at) const {
    return logical_divide(elements_, vector_)(_, Int32(at / vector_)).load(); // (V)
  }
  std::vector<Numeric> valuesOf(const Vector &loaded) const {
    const Vector wide = loaded.to(f32);
    std::vector<Numeric> values;
    for (int i = 0; i < vector_; ++i)
      values.push_back(nanFirst(wide.at(i)));
    return values;
  }

  int block_, vector_;
  Int32 thread_, row_;
  Tensor elements_; // (n)
  Int32 length_;
  SharedAllocator shared_;
};

/// Where the numbers of a row's elements go.
class Chosen {
public:
  Chosen(const TopKParams<OnDevice> &p, const TopKProblem &problem, const Int32 &row)
      : problem_(problem) {
    if (problem.indices)
      indices_.emplace(p.indices.view(i32, {p.m, problem.k})(row, _)); // (k)
    if (!problem.slots)
      return;
    slots_.emplace(p.slots.view(i32, {p.m, problem.k})(row, _)); // (k)
    const Int32 table = problem.sequences ? sequenceOf(p, row) : row;
    table_.emplace(p.blockTable.view(i32, {p.tableRows, kAnyBlocks})(table, _)); // (blocks)
  }
  void put(const Int32 &at, const Int32 &element) const {
    if (indices_)
      (*indices_)(at) = element;
    if (!slots_)
      return;
    const Numeric number = element.to(u32), page = UInt32(problem_.page);
    (*slots_)(at) = (*table_)(Int32((number / page).to(i32))) * problem_.page +
                    Numeric((number % page).to(i32));
  }
  void none(const Int32 &at) const {
    if (indices_)
      (*indices_)(at) = -1;
    if (slots_)
      (*slots_)(at) = -1;
  }

private:
  static constexpr int kAnyBlocks = 1 << 30;
  /// One that there is not counts as the nearest.
  static Int32 sequenceOf(const TopKParams<OnDevice> &p, const Int32 &row) {
    return Int32(min(max(Numeric(p.sequences.view(i32, p.m)(row)), 0), p.tableRows - 1)); // (m)
  }

  const TopKProblem &problem_;
  std::optional<Tensor> indices_, slots_; // (k)
  std::optional<Tensor> table_;           // (blocks)
};

const FamilyKernel topK{
    kTopK, [](const TopKParams<OnDevice> &p, const Constexpr<Spec<TopKProblem>> &spec) {
      const TopKProblem &problem = spec.value().problem;
      TopKRow row(p, spec.value());
      const auto isThere = [](const Numeric &value) { return Boolean(value != -kInfinity); };

      const Var<Int32> own(Int32(0));
      row.each([&](const TopKRow::Elements &elements) {
        for (const Numeric &value : elements.values)
          own += select(isThere(value), Int32(1), Int32(0));
      });
      const Int32 all(gpu::block_reduce(own.get(), Reduction::add, row.shared())),
          count(min(all, problem.k));

      // The key of the k-th largest, and how many of those that are equal to it are chosen. All are
      // above a key of 0.
      const Var<UInt32> least(UInt32(0));
      const Var<Int32> equals(Int32(0));
      KeySearch<TopKRow> search(row);
      if_(all > problem.k, [&] {
        const auto found = search.find(Int64(problem.k), [&](const Numeric &value) {
          return select(isThere(value), Int64(1), Int64(0));
        });
        least = found.key;
        equals = problem.k - found.above.to(i32);
      });

      // Numbers are written in the order of the row: each thread knows how many elements before its own
      // are above the key, in the lower half of a word, and how many are equal to it.
      constexpr int kHalf = 16;
      const Chosen chosen(p, problem, row.number());
      coop::BlockScan scan(i32, row.block());
      coop::Storage storage(row.shared(), scan.storage());
      const Var<Int32> above(Int32(0)), equal(Int32(0)); // in the rounds before
      for (Int32 i : range(row.rounds())) {
        const TopKRow::Elements elements = row.round(i);
        std::vector<Boolean> isAbove, isEqual;
        const Var<Int32> mine(Int32(0));
        for (const Numeric &value : elements.values) {
          const Numeric key = keyOf(value);
          isAbove.push_back(Boolean(isThere(value) & (key > least)));
          isEqual.push_back(Boolean(isThere(value) & (key == least)));
          mine += select(isAbove.back(), Int32(1), Int32(0)) +
                  select(isEqual.back(), Int32(1 << kHalf), Int32(0));
        }
        const auto scanned = scan.exclusive_with_aggregate(mine.get(), Reduction::add, storage);
        const Int32 before(scanned.items), ofRound(scanned.aggregate);
        const Var<Int32> aboveBefore(Int32(above + (before & ((1 << kHalf) - 1)))),
            equalBefore(Int32(equal + (before >> kHalf)));
        for (std::size_t e = 0; e < elements.values.size(); ++e) {
          const Boolean taken(isAbove[e] | (isEqual[e] & (equalBefore < equals)));
          if_(taken, [&] {
            chosen.put(Int32(aboveBefore + min(equalBefore, equals)),
                       Int32(elements.first + static_cast<int>(e)));
          });
          aboveBefore += select(isAbove[e], Int32(1), Int32(0));
          equalBefore += select(isEqual[e], Int32(1), Int32(0));
        }
        above += ofRound & ((1 << kHalf) - 1);
        equal += ofRound >> kHalf;
        gpu::barrier(AddressSpace::shared); // before the storage is used again
      }
      for (Int32 i : range(Int32(count + row.thread()), Int32(problem.k), row.block()))
        chosen.none(i);
      if_(row.thread() == 0, [&] { p.counts.view(i32, p.m)(row.number()) = count; }); // (m)
    }};

} // namespace

void Family<TopKProblem>::compile(const Compiler<TopKProblem> &compiler) {
  compiler(topK, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(TopKProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
