// The kernels that sort slots by expert: a counting sort that keeps the order of slots.
//
// The slots of a call are dealt to waves, to each a run of neighbours. A wave counts its slots of each
// expert in counters of its own in LDS. What all waves before it have counted, and the first place of
// the expert, are added to them; then a wave goes over its slots again, and an expert's next place is
// its counter. Lanes with the same expert find one another (coop::warp_match), and take places in
// their order: no atomic operation decides about the order. Scales are sorted along by a kernel after it.
#include "blocks/common/host_or_traced.h"
#include "frame/compile.h"
#include "frame/index_rows.h"
#include "moe_sort/moe_sort_family.h"
#include "topk_gating/gating.h"

#include <flydsl/coop/warp_match.h>

#include <algorithm>
#include <bit>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

constexpr std::int32_t kNone = -1;

/// One of the blocks of a call, with its counters.
class SortBlock {
public:
  SortBlock(const MoeSortParams<OnDevice> &p, const Spec<MoeSortProblem> &spec)
      : problem_(spec.problem), config_(spec.config), p_(p),
        waves_(config_.block / gpu::num_warp_threads()),
        experts_(static_cast<int>(expertsHere(problem_))), threads_(config_.blocks * config_.block),
        thread_(thread_idx().x), lane_(thread_ % gpu::num_warp_threads()),
        wave_(gpu::uniform(thread_ / gpu::num_warp_threads())), block_(blockOf(config_)),
        tokens_(tokensOf(p, problem_)),
        ids_(p.ids.view(i32, Int32(p.m * problem_.topk))), // (m * topk)
        sortedIds_(p.sortedIds.view(i32, p.places)),       // (places)
        counters_(shared_.tensor(i32, make_layout({waves_, experts_}, {experts_, 1}))),
        starts_(shared_.tensor(i32, make_layout(experts_ + 1, 1))) {}

  /// Writes padding to all places, with the other blocks, and sets the counters to 0.
  void clear() const {
    const Int32 padding = tokens_ | (problem_.topk << kTokenBitsOfIds);
    for (Int32 place : range(numberOfAll(), counted(p_.places), threads_)) {
      sortedIds_(place) = padding;
      if (problem_.weights)
        p_.sortedWeights.view(f32, p_.places)(place) = 0.0f; // (places)
    }
    clearCounters();
  }
  /// Sets rows to 0, if the problem has some: every `blocks`th from the `first` on.
  void clearRows(const Int32 &first, const Int32 &blocks) const {
    if (!problem_.zeros)
      return;
    const Tensor rows = logical_divide(p_.zeros.view(u8, {p_.m, problem_.zeros}, kClearedBytes),
                                       make_tile(_, kClearedBytes)); // (m, (16, zeros / 16))
    const Int32 pieces(static_cast<std::int32_t>(problem_.zeros / kClearedBytes));
    for (Int32 row : range(first, p_.m, blocks))
      for (Int32 piece : range(thread_, pieces, config_.block))
        rows(_, IntTuple{_, piece})(row, _) // (16)
            .store(Vector::splat(std::int64_t{0}, kClearedBytes, u8));
  }
  void clearRows() const { clearRows(block_, Int32(config_.blocks)); }
  void clearCounters() const {
    const Tensor all =
        make_view(counters_.iter(), make_layout(waves_ * experts_, 1)); // (waves * experts)
    for (Int32 i : range(thread_, Int32(waves_ * experts_), config_.block))
      all(i) = 0;
  }

  /// Counts the slots of each wave.
  void count() const {
    each([&](const Int32 &, const Int32 &expert) {
      if_(expert >= 0, [&] { atomic(AtomicOp::add, counterOf(expert), 1, MemoryScope::block); });
    });
  }
  /// Writes the counts of the block for the other kernels.
  void storeCounts() const {
    for (Int32 expert : range(thread_, Int32(experts_), config_.block))
      blockCounts()(expert, block_) = sumOfWaves(expert);
  }

  /// Makes each counter the place of its wave's first slot of the expert; of the masked layout, the
  /// place among those of the expert. The counts of all blocks are this one's if it is alone.
  void placeExperts() {
    const Var<Int32> end(Int32(0)), dropped(Int32(0));
    for (Int32 first : range(Int32(0), Int32(experts_), config_.block)) {
      const Int32 expert = first + thread_;
      const Boolean inside(expert < experts_);
      const Int32 rows = if_(
          inside,
          [&] { return isAlone() ? sumOfWaves(expert) : blockCount(expert, config_.blocks); },
          [] { return Int32(0); });
      const Int32 start = isMasked() ? Int32(0) : nextStart(rows, end);
      if (isMasked())
        dropped += max(rows - capacity(), 0);
      if_(inside, [&] {
        const Int32 before = isAlone() ? start : Int32(start + blockCount(expert, block_));
        goOnFrom(before, expert);
        ifFirst([&] {
          p_.counts.view(i32, experts_)(expert) =
              isMasked() ? Int32(min(rows, capacity())) : rows; // (experts)
          if (!isMasked())
            p_.offsets.view(i32, experts_ + 1)(expert) = start; // (experts + 1)
        });
        if (!isMasked())
          starts_(expert) = start;
      });
    }
    const Int32 lost =
        isMasked() ? Int32(gpu::block_reduce(dropped.get(), Reduction::add, shared_)) : Int32(0);
    const Int32 last = isMasked() ? p_.places : end.get();
    if_(thread_ == 0, [&] {
      starts_(experts_) = last;
      ifFirst([&] {
        if (!isMasked())
          p_.offsets.view(i32, experts_ + 1)(experts_) = last; // (experts + 1)
        const Tensor totals = p_.totals.view(i32, 3);          // (3)
        totals(0) = last;
        totals(1) = tokens_;
        totals(2) = lost;
      });
    });
  }

  /// Puts each slot into its place.
  void scatter() const {
    each([&](const Int32 &slot, const Int32 &expert) {
      const Boolean has(expert >= 0);
      const coop::WarpMatch alike =
          coop::warp_match(expert, {.bits = bitsOfExpert(), .valid = has});
      // One lane of each expert takes the places of all.
      const Int32 taken = if_(
          Boolean(has & (alike.rank == 0)),
          [&] {
            return Int32(atomic(AtomicOp::add, counterOf(expert), alike.count, MemoryScope::block));
          },
          [] { return Int32(0); });
      const Int32 next = Int32(gpu::shuffle_idx(taken, alike.first)) + alike.rank;
      const Boolean fits = isMasked() ? Boolean(has & (next < capacity())) : has;
      const Int32 place = isMasked() ? Int32(expert * capacity() + next) : next;
      if_(fits, [&] {
        sortedIds_(place) = slot / problem_.topk | ((slot % problem_.topk) << kTokenBitsOfIds);
        if (problem_.weights)
          p_.sortedWeights.view(f32, p_.places)(place) =               // (places)
              p_.weights.view(f32, Int32(p_.m * problem_.topk))(slot); // (m * topk)
      });
      if (problem_.places)
        if_(slot < p_.m * problem_.topk, [&] {
          p_.slotPlaces.view(i32, Int32(p_.m * problem_.topk))(slot) = // (m * topk)
              select(fits, place, Int32(kNone));
        });
    });
  }

  /// Writes the expert of each unit, with the other blocks: the last one that does not begin after it.
  void nameUnits() const {
    if (isMasked())
      return;
    const Int32 units = counted(p_.places) / problem_.unit, end = Int32(starts_(experts_));
    const Tensor experts = p_.unitExperts.view(i32, units); // (units)
    for (Int32 unit : range(numberOfAll(), units, threads_)) {
      const Int32 place = unit * problem_.unit;
      const Var<Int32> low(Int32(0)), high(Int32{experts_});
      while_([&] { return Boolean(high - low > 1); },
             [&] {
               const Int32 middle = (low + high) / 2;
               const Boolean after(Int32(starts_(middle)) > place);
               low = select(after, low.get(), middle);
               high = select(after, middle, high.get());
             });
      experts(unit) = select(place < end, low.get(), Int32(kNone));
    }
  }

private:
  static Int32 blockOf(const MoeSortConfig &config) {
    return config.blocks == 1 ? Int32(0) : Int32(block_idx().x);
  }
  static Int32 tokensOf(const MoeSortParams<OnDevice> &p, const MoeSortProblem &problem) {
    return problem.tokens ? Int32(max(min(Int32(p.tokens.view(i32, 1)(0)), p.m), 0)) : p.m; // (1)
  }
  bool isAlone() const { return config_.blocks == 1; }
  bool isMasked() const { return problem_.capacity != 0; }
  std::int32_t capacity() const { return static_cast<std::int32_t>(problem_.capacity); }
  /// The number of the thread among those of all blocks.
  Int32 numberOfAll() const { return counted(block_ * config_.block + thread_); }
  void ifFirst(const std::function<void()> &body) const {
    if (isAlone())
      body();
    else
      if_(block_ == 0, body);
  }
  Tensor blockCounts() const {
    return p_.blockCounts.view(i32, {experts_, config_.blocks + 1}); // (local, blocks + 1)
  }
  template <class At> Int32 blockCount(const Int32 &expert, const At &at) const {
    return Int32(blockCounts()(expert, at));
  }
  Pointer counterOf(const Int32 &expert) const {
    return counters_(wave_, _).iter() + expert; // (counters)
  }

  /// The expert of a slot as it is counted here, or kNone.
  Int32 expertOf(const Int32 &slot) const {
    const Int32 id = if_(
        slot < tokens_ * problem_.topk, [&] { return Int32(ids_(slot)); },
        [] { return Int32(kNone); });
    const auto known = [](const Int32 &number, std::int64_t end) {
      return Boolean((number >= 0) & (number < static_cast<std::int32_t>(end)));
    };
    if (!problem_.local)
      return Int32(select(known(id, experts_), id, Int32(kNone)));
    return if_(
        known(id, problem_.experts),
        [&] {
          const Int32 here(
              p_.expertMap.view(i32, static_cast<int>(problem_.experts))(id)); // (experts)
          return Int32(select(known(here, experts_), here, Int32(kNone)));
        },
        [] { return Int32(kNone); });
  }
  /// Calls `body` with each slot of the thread and its expert. All lanes of a wave are there.
  void each(const std::function<void(const Int32 &, const Int32 &)> &body) const {
    const int wave = gpu::num_warp_threads();
    const Int32 first = (block_ * waves_ + wave_) * p_.rounds * wave + lane_;
    for (Int32 round : range(p_.rounds)) {
      const Int32 slot = first + round * wave;
      body(slot, expertOf(slot));
    }
  }
  /// The bits of the number of an expert here.
  int bitsOfExpert() const {
    return std::max(1, static_cast<int>(std::bit_width(static_cast<unsigned>(experts_ - 1))));
  }
  Int32 sumOfWaves(const Int32 &expert) const {
    const Var<Int32> sum(Int32(0));
    for (int wave = 0; wave < waves_; ++wave)
      sum += counters_(wave, expert);
    return sum.get();
  }
  /// The first place of an expert of `rows` slots; `end` goes on past those of the block's threads.
  Int32 nextStart(const Int32 &rows, const Var<Int32> &end) {
    const Int32 padded = (rows + (problem_.unit - 1)) / problem_.unit * problem_.unit;
    const Int32 through(gpu::block_inclusive_scan(padded, Reduction::add, shared_));
    const Int32 start = end + through - padded;
    end += gpu::block_reduce(padded, Reduction::add, shared_);
    return start;
  }
  /// Makes an expert's counters the places from `first` on, one wave after another.
  void goOnFrom(const Int32 &first, const Int32 &expert) const {
    const Var<Int32> next(first);
    for (int wave = 0; wave < waves_; ++wave) {
      const Int32 count(counters_(wave, expert));
      counters_(wave, expert) = next;
      next += count;
    }
  }

  MoeSortProblem problem_;
  MoeSortConfig config_;
  const MoeSortParams<OnDevice> &p_;
  int waves_, experts_, threads_;
  Int32 thread_, lane_, wave_, block_, tokens_;
  Tensor ids_, sortedIds_;
  SharedAllocator shared_;
  Tensor counters_; // (waves, local)
  Tensor starts_;   // (local + 1): contiguous layout
};

/// Counts the block's slots, and puts each into its place. Its counters are cleared, and what it has
/// written of ids and weights is read after the first barrier.
void countAndPlace(SortBlock &block) {
  gpu::barrier();
  block.count();
  gpu::barrier();
  block.placeExperts();
  gpu::barrier();
  block.scatter();
  block.nameUnits();
}

/// Chooses the experts of all tokens, and writes ids and weights to where slots are read.
void route(const MoeSortParams<OnDevice> &p, const Spec<MoeSortProblem> &spec) {
  const RowConfig config = routerConfig(spec.config);
  const TopkGatingParams<OnDevice> router{.logits = p.logits,
                                          .weights = p.weights,
                                          .ids = p.ids,
                                          .m = p.m,
                                          .sourceRows = {.address = Int64(0), .stride = {}},
                                          .bias = p.routerBias};
  for (Int32 first : range(Int32(0), counted(p.m), RowThread::rowsPerBlock(config)))
    gating::Row(router, spec.problem.router, config, first).run();
}

/// One block sorts, and chooses experts before that if the problem says so; others clear rows.
void sortByOne(const MoeSortParams<OnDevice> &p, const Spec<MoeSortProblem> &spec) {
  SortBlock block(p, spec);
  const auto sortSlots = [&] {
    block.clear();
    if (spec.problem.routes())
      route(p, spec);
    countAndPlace(block);
  };
  if (!spec.problem.zeros)
    return sortSlots();
  const Int32 number(block_idx().x);
  if_(number == 0, sortSlots);
  if_(number > 0, [&] { block.clearRows(number - 1, grid_dim().x - 1); });
}

const FamilyKernel sort{
    kMoeSort, [](const MoeSortParams<OnDevice> &p, const Constexpr<Spec<MoeSortProblem>> &spec) {
      sortByOne(p, spec.value());
    }};

const FamilyKernel routeAndSort{
    kMoeRouteSort, [](const MoeSortParams<OnDevice> &p,
                      const Constexpr<Spec<MoeSortProblem>> &spec) { sortByOne(p, spec.value()); }};

const FamilyKernel countBlocks{kMoeSortCount, [](const MoeSortParams<OnDevice> &p,
                                                 const Constexpr<Spec<MoeSortProblem>> &spec) {
                                 SortBlock block(p, spec.value());
                                 block.clear();
                                 block.clearRows();
                                 gpu::barrier();
                                 block.count();
                                 gpu::barrier();
                                 block.storeCounts();
                               }};

const FamilyKernel scanBlocks{
    kMoeSortScan,
    [](const MoeSortParams<OnDevice> &p, const Constexpr<Spec<MoeSortProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      const int experts = static_cast<int>(expertsHere(problem)), group = kScanBlock / kScanExperts;
      const Tensor counts =
          p.blockCounts.view(i32, {experts, config.blocks + 1}); // (local, blocks + 1)
      const Int32 thread = thread_idx().x, lane = thread % group,
                  expert = block_idx().x * kScanExperts + thread / group;
      const Var<Int32> before(Int32(0));
      for (int first = 0; first < config.blocks; first += group) {
        const Int32 block = lane + first;
        const Boolean inside((expert < experts) & (block < config.blocks));
        const Int32 count = if_(
            inside, [&] { return Int32(counts(expert, block)); }, [] { return Int32(0); });
        const Int32 through(gpu::warp_inclusive_scan(count, Reduction::add, group));
        if_(inside, [&] { counts(expert, block) = before + through - count; });
        before += gpu::warp_reduce(count, Reduction::add, group);
      }
      if_(Boolean((expert < experts) & (lane == 0)),
          [&] { counts(expert, config.blocks) = before.get(); });
    }};

const FamilyKernel scatterBlocks{kMoeSortScatter, [](const MoeSortParams<OnDevice> &p,
                                                     const Constexpr<Spec<MoeSortProblem>> &spec) {
                                   SortBlock block(p, spec.value());
                                   block.clearCounters();
                                   countAndPlace(block);
                                 }};

/// Brings scales into blocks of PreparedScales. A thread loads those of two places, with a stride of kRowsWithWords, and
/// writes the four words in which they lie.
class SortedScales {
public:
  SortedScales(const MoeSortScalesParams<OnDevice> &p, const MoeSortProblem &problem)
      : problem_(problem), p_(p), together_(scalesTogether(problem)),
        blocks_(static_cast<int>(PreparedScales::shape(1, elementsOfScales(problem))[1])),
        scales_(p.scales.view(u8, {p.m, problem.scales / together_, together_},
                              together_)),       // (m, loads of a row, scales of a load)
        ids_(p.sortedIds.view(i32, p.places)) {} // (places)

  void run() const {
    const Int32 number(block_idx().x * kScalesBlock + thread_idx().x),
        row = number % kRowsWithWords, block = number / kRowsWithWords % blocks_,
        group = number / (kRowsWithWords * blocks_);
    const Int32 first = group * PreparedScales::kRows;
    // The first of 16 places has a slot if one of them has.
    if_(hasSlot(idOf(first)) | hasSlot(idOf(first + kRowsWithWords)), [&] {
      const Halves own = scalesOf(first + row, block),
                   below = scalesOf(first + kRowsWithWords + row, block);
      const Tensor words =
          p_.sortedScales.view(u32, {ceildiv(p_.places, PreparedScales::kRows), blocks_,
                                     PreparedScales::kBlock / 4}); // (groups, blocks, words)
      for (int pair = 0; pair < kScaleWordsOfThread; pair += 2) {
        // Bytes pair and pair + 1 of both rows, by turns.
        const std::uint32_t ofBoth =
            0x05010400u + 0x02020202u * static_cast<std::uint32_t>(pair / 2);
        const Int32 front = permute_bytes(below.front, own.front, ofBoth),
                    back = permute_bytes(below.back, own.back, ofBoth);
        words(group, block, row + kRowsWithWords * pair) =
            permute_bytes(back, front, 0x05040100u).to(u32);
        words(group, block, row + kRowsWithWords * (pair + 1)) =
            permute_bytes(back, front, 0x07060302u).to(u32);
      }
    });
  }

private:
  /// The first four and the last four scales of a row in a block, as words.
  struct Halves {
    Int32 front, back;
  };
  Int32 idOf(const Int32 &place) const {
    return if_(
        Boolean(place < p_.places), [&] { return Int32(ids_(place)); },
        [&] { return Int32(problem_.topk << kTokenBitsOfIds); });
  }
  Boolean hasSlot(const Int32 &id) const { return Boolean(id >> kTokenBitsOfIds < problem_.topk); }
  /// 0 for padding, and past the row's scales.
  Halves scalesOf(const Int32 &place, const Int32 &block) const {
    const Int32 id = idOf(place), token = id & static_cast<std::int32_t>(kTokensOfIds);
    const Boolean isTaken = hasSlot(id);
    const int loads = PreparedScales::kScales / together_;
    const auto loadsOfRow = static_cast<std::int32_t>(problem_.scales / together_);
    const auto load = [&](int i) {
      const Int32 number = block * loads + i;
      return if_(
          Boolean(isTaken & (number < loadsOfRow)),
          [&] { return Vector(scales_(token, number, _).load()); }, // (scales of a load)
          [&] { return Vector::splat(std::int64_t(0), together_, u8); });
    };
    if (loads == 1) {
      const Vector words = load(0).bitcast(u32);
      return {Int32(words.at(0).to(i32)), Int32(words.at(1).to(i32))};
    }
    const DType type = together_ == 4 ? u32 : together_ == 2 ? u16 : u8;
    const auto word = [&](int first) {
      std::vector<Numeric> parts;
      for (int i = 0; i < loads / 2; ++i)
        parts.push_back(load(first + i).bitcast(type).at(0).to(u32)
                        << static_cast<unsigned>(8 * together_ * i));
      return Int32(combine<Numeric>(parts, [](const Numeric &a, const Numeric &b) {
                     return Numeric(a | b);
                   }).to(i32));
    };
    return {word(0), word(loads / 2)};
  }

  const MoeSortProblem &problem_;
  const MoeSortScalesParams<OnDevice> &p_;
  int together_, blocks_;
  Tensor scales_; // (m, loads of a row, scales of a load)
  Tensor ids_;    // (places)
};

const FamilyKernel sortScales{kMoeSortScales, [](const MoeSortScalesParams<OnDevice> &p,
                                                 const Constexpr<Spec<MoeSortProblem>> &spec) {
                                SortedScales(p, spec->problem).run();
                              }};

} // namespace

void Family<MoeSortProblem>::compile(const Compiler<MoeSortProblem> &compiler) {
  const int block = compiler.config().block;
  if (compiler.problem().routes()) {
    compiler(routeAndSort, block);
  } else if (compiler.config().blocks == 1) {
    compiler(sort, block);
  } else {
    compiler(countBlocks, block);
    compiler(scanBlocks, kScanBlock);
    compiler(scatterBlocks, block);
  }
  if (compiler.problem().scales)
    compiler(sortScales, kScalesBlock);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(MoeSortProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
