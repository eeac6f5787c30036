#include "builder/coop/exchange.h"
#include "builder/coop/sort_keys.h"

#include <flydsl/coop/block_scan.h>
#include <flydsl/coop/block_topk.h>
#include <flydsl/error.h>
#include <flydsl/kernel/atomic.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

using namespace impl;

namespace {

constexpr int kDigitBits = 8;
constexpr int kDigits = 1 << kDigitBits;

struct Room {
  Plan plan;
  std::size_t counters, found, scan, tile;
  int perThread;
  BlockScan sums;

  Room(const ValueType &item, int threads, int items, Loc loc)
      : perThread((kDigits + threads - 1) / threads),
        sums(i32, threads, BlockScanAlgorithm::warp_scans, loc) {
    counters = plan.add(i32, kDigits);
    found = plan.add({i32, i32}, 1); // the digit, and how many keys are before it
    scan = plan.add(sums.storage());
    tile = plan.add(item, SharedTile(threads, items).places());
  }
};

/// A selection in progress, whose keys are unsigned numbers: the smallest are wanted.
class Selection {
public:
  std::vector<Expr> keys;
  std::vector<Expr> open;     ///< whether each can still be the last one that is selected
  std::vector<Expr> selected; ///< whether each is selected already

  Selection(const Room &room, const Thread &thread, const Storage &storage, Loc loc)
      : room_(room), thread_(thread), loc_(loc),
        counters_(room.plan.in(storage, room.counters, loc)),
        found_(room.plan.in(storage, room.found, loc)),
        scanStorage_(room.plan.storageIn(storage, room.scan, loc)), zero_(i32, 0, loc),
        one_(i32, 1, loc) {}

  /// Selects among the open keys by the digit at `shift`. The digit of the last key that is
  /// selected is the one at which the counts reach `wanted`: keys with smaller digits are selected,
  /// those with larger ones are not. Returns how many of the keys with this digit are wanted.
  Expr takeDigit(int shift, const Expr &wanted) {
    std::vector<Expr> digits;
    for (const Expr &key : keys)
      digits.push_back((key >> shift).to(i32) & (kDigits - 1));
    const Expr first = thread_.number() * room_.perThread;
    count(digits, first);
    findDigit(first, wanted);
    const Fields last = found_.load(zero_);
    const Expr digit(last[0], loc_);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      selected[i] = selected[i] | (open[i] & (digits[i] < digit));
      open[i] = open[i] & (digits[i] == digit);
    }
    return wanted - Expr(last[1], loc_);
  }

  /// Selects the first `wanted` of the keys that are still open, which are equal. Returns the place
  /// of each selected key among all of them.
  std::vector<Int32> takeEqual(const Expr &wanted) {
    std::vector<Int32> equal, chosen;
    for (const Expr &flag : open)
      equal.push_back(oneOf(flag));
    const std::vector<Int32> before = sumsBefore(equal);
    gpu::barrier(loc_);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      selected[i] = selected[i] | (open[i] & (Expr(before[i], loc_) < wanted));
      chosen.push_back(oneOf(selected[i]));
    }
    return sumsBefore(chosen);
  }

  const Expr &one() const { return one_; }

private:
  /// Counts the digits of the open keys. `first` is the first counter of the thread.
  void count(const std::vector<Expr> &digits, const Expr &first) {
    for (int i = 0; i < room_.perThread; ++i)
      where(first + i < kDigits, [&] { counters_.store(first + i, {zero_.handle}); });
    gpu::barrier(loc_);
    for (std::size_t i = 0; i < keys.size(); ++i)
      where(open[i], [&] {
        atomic(AtomicOp::add, counters_.at(0, digits[i]), Numeric::Arg(one_.number(), loc_),
               "workgroup");
      });
    gpu::barrier(loc_);
  }

  /// Writes down the digit at which the counts reach `wanted`, and how many keys are before it.
  void findDigit(const Expr &first, const Expr &wanted) {
    std::vector<Int32> own;
    for (int i = 0; i < room_.perThread; ++i)
      own.push_back(
          Int32(counters_.loadWhere(first + i < kDigits, first + i, {zero_.handle}).front()));
    const std::vector<Int32> before = sumsBefore(own);
    for (int i = 0; i < room_.perThread; ++i) {
      const Expr start(before[static_cast<std::size_t>(i)], loc_);
      const Expr end = start + Expr(own[static_cast<std::size_t>(i)], loc_);
      where((start < wanted) & (end >= wanted),
            [&] { found_.store(zero_, {(first + i).handle, start.handle}); });
    }
    gpu::barrier(loc_);
  }

  /// 1 if a flag is set, otherwise 0.
  Int32 oneOf(const Expr &flag) const { return Int32(select(flag, one_, zero_).number()); }
  /// The sum of the block's numbers before each.
  std::vector<Int32> sumsBefore(const std::vector<Int32> &numbers) const {
    return room_.sums.exclusive(numbers, Reduction::add, scanStorage_, loc_);
  }

  const Room &room_;
  const Thread &thread_;
  Loc loc_;
  SharedValues counters_, found_;
  Storage scanStorage_;
  Expr zero_, one_;
};

} // namespace

BlockTopK::BlockTopK(DType key, std::optional<ValueType> value, int threads, int items, Loc loc)
    : BlockCollective("BlockTopK", key, threads, items, loc), value_(std::move(value)) {
  expectSortable("BlockTopK", key, loc);
  storage_ = Room(keyWithValue(key, value_), threads, items, loc).plan.size();
}
BlockTopK::BlockTopK(DType key, int threads, int items_per_thread, Loc loc)
    : BlockTopK(key, std::optional<ValueType>(), threads, items_per_thread, loc) {}
BlockTopK::BlockTopK(DType key, ValueType value, int threads, int items_per_thread, Loc loc)
    : BlockTopK(key, std::optional<ValueType>(std::move(value)), threads, items_per_thread, loc) {}

BlockTopK::Chosen BlockTopK::choose(const Items &keys, const Items *values, const IntTuple &k,
                                    const TopKOptions &options, const Storage &storage,
                                    Loc loc) const {
  expectItems(keys, loc);
  expectPayload("BlockTopK", value_, values, keys.size(), loc);
  expectStorage(storage, loc);
  const int count = threads_ * items_;
  expectValid(k, 0, count, loc);
  const DType key = type_.fields().front();
  const Room room(keyWithValue(key, value_), threads_, items_, loc);
  const SharedTile tile(threads_, items_);
  const Thread thread(loc);
  Selection selection(room, thread, storage, loc);
  for (int i = 0; i < items_; ++i) {
    selection.keys.push_back(
        ordered(Expr(keys[static_cast<std::size_t>(i)].front(), loc), !options.smallest));
    selection.open.push_back(options.valid ? tile.position(Order::blocked, thread, i) <
                                                 numberOf(*options.valid, loc)
                                           : Expr(boolean, true, loc));
    selection.selected.push_back(Expr(boolean, false, loc));
  }
  Expr wanted = max(numberOf(k, loc), selection.one());
  for (int shift = key.bits() - kDigitBits; shift >= 0; shift -= kDigitBits)
    wanted = selection.takeDigit(shift, wanted);
  const std::vector<Int32> places = selection.takeEqual(wanted);
  const SharedValues shared = room.plan.in(storage, room.tile, loc);
  auto item = [&](std::size_t i) {
    Fields all{selection.keys[i].handle};
    if (values)
      all.insert(all.end(), (*values)[i].begin(), (*values)[i].end());
    return all;
  };
  for (std::size_t i = 0; i < keys.size(); ++i)
    where(selection.selected[i], [&] { shared.store(tile.place(Expr(places[i], loc)), item(i)); });
  gpu::barrier(loc);
  Chosen result;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Expr position = tile.position(Order::blocked, thread, static_cast<int>(i));
    const Fields one = shared.loadWhere(position < numberOf(k, loc), tile.place(position), item(i));
    result.keys.push_back({fromOrdered(Expr(one.front(), loc), key, !options.smallest).handle});
    if (values)
      result.values.emplace_back(one.begin() + 1, one.end());
  }
  return result;
}

} // namespace coop
FLYDSL_NAMESPACE_END
