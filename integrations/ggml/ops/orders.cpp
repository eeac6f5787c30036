// Orders of rows: ARGSORT, and TOP_K, which keeps the first places of the order from the largest on.
//
// Short rows: the place of an element is the number of those before it. Longer ones are sorted by a block,
// up to a part of kPart elements. Of a row that has several parts, TOP_K sorts each, keeps the first of
// each, and goes on with these as with a shorter row. ARGSORT moves all elements by a digit of their keys
// after another, from the lowest on, with blocks for each part.
#include "ops/op.h"

#include <flydsl/coop.h>

#include <algorithm>
#include <array>
#include <limits>

namespace flydsl_ggml {
namespace {

namespace coop = fx::coop;
using fx::Int32, fx::Int64, fx::Numeric, fx::UInt64;

/// Rows up to this are ordered by counting.
constexpr std::int64_t kCounted = 64;
/// The digits by which elements are moved.
constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits, kKeyBits = 32;
/// Items of all rows that are in memory at a time, unless a row has more: 128 MiB, twice.
constexpr std::int64_t kMostItems = std::int64_t{1} << 24;

/// How the threads of a block have a part of a row.
struct Part {
  int threads, items;
  int size() const { return threads * items; }
};
constexpr Part kParts[] = {{64, 4}, {128, 8}, {256, 8}, {512, 8}}; ///< that a block sorts
constexpr Part kMoved{256, 8}; ///< that a block moves by a digit
constexpr Part kSummed{1024, 8};
static_assert(kMoved.threads == kDigits, "a thread for each digit");

/// An element: the order of its value in the upper half, its number in the row in the lower one.
constexpr std::uint64_t kNone = ~std::uint64_t{0}; ///< after all others
constexpr std::int64_t kItemBytes = 8;
/// Equal values, such as -0 and 0, have equal keys. A NaN is larger than all numbers.
Numeric keyOf(const Numeric &value, bool descending) {
  const Numeric bits = Numeric(value + 0.0f).bitcast(fx::i32);
  const Numeric key =
      Numeric(bits ^ ((bits >> 31) | Int32(std::numeric_limits<std::int32_t>::min())))
          .bitcast(fx::u32);
  const Numeric all = fx::UInt32(std::numeric_limits<std::uint32_t>::max());
  const Numeric largest = fx::select(value == value, key, all);
  return descending ? Numeric(largest ^ all) : largest;
}
Numeric itemOf(const Numeric &key, const Int32 &number) {
  return (key.to(fx::u64) << kKeyBits) | number.bitcast(fx::u32).to(fx::u64);
}
Int32 numberOf(const Numeric &item) { return Int32(item.to(fx::u32).bitcast(fx::i32)); }

/// The rows of a launch, and where their elements are.
struct Rows {
  bool descending;
  bool raw; ///< x are the tensor's values; otherwise items, row after row
};
/// The ints of a launch.
enum Ints { kLength, kPartsOfRow, kFirstRow, kKept };

/// The part of a row that a block has.
class PartOfRow {
public:
  PartOfRow(const Traced &p, const Rows &rows, const Part &part)
      : p_(p), rows_(rows), part_(part), n_(p.i[kLength]),
        number_(fx::block_idx().x % p.i[kPartsOfRow]), row_(fx::block_idx().x / p.i[kPartsOfRow]) {}

  const Int32 &number() const { return number_; }
  const Int32 &row() const { return row_; } ///< of the launch
  /// Elements of the part, kNone after those of the row.
  std::vector<Numeric> striped(const TracedOperand &x) const {
    std::vector<Numeric> items;
    for (int i = 0; i < part_.items; ++i)
      items.push_back(at(x, Int32(fx::thread_idx().x + i * part_.threads)));
    return items;
  }
  /// The same as coop has them warp-striped.
  std::vector<Numeric> warpStriped(const TracedOperand &x, int wave) const {
    const Int32 lane = fx::thread_idx().x % wave, first = fx::thread_idx().x / wave * wave;
    std::vector<Numeric> items;
    for (int i = 0; i < part_.items; ++i)
      items.push_back(at(x, Int32(first * part_.items + lane + i * wave)));
    return items;
  }
  /// Element `place` of the result's row.
  void store(const TracedOperand &y, const Int32 &place, const Int32 &number) const {
    fx::Pointer::from_address(address(y) + place.to(fx::i64) * y.stride[0], fx::i32).store(number);
  }

private:
  Int64 address(const TracedOperand &x) const {
    const Int32 row = row_ + p_.i[kFirstRow], rest = row / x.extent[1];
    return rowAddress(x, row % x.extent[1], rest % x.extent[2], rest / x.extent[2]);
  }
  Numeric at(const TracedOperand &x, const Int32 &place) const {
    const Int32 of = number_ * part_.size() + place;
    const fx::Boolean inside = of < n_;
    const Int32 safe(fx::select(inside, of, 0));
    const Numeric item =
        rows_.raw
            ? itemOf(keyOf(inRow(GGML_TYPE_F32, address(x), x.stride[0], safe), rows_.descending),
                     safe)
            : loadAs(x.address + (row_.to(fx::i64) * n_ + safe) * kItemBytes, fx::u64);
    return fx::select(inside, item, UInt64(kNone));
  }

  const Traced &p_;
  Rows rows_;
  Part part_;
  Int32 n_, number_, row_;
};
void storeItem(const Int64 &address, const Numeric &item) {
  fx::Pointer::from_address(address, fx::u64).store(item);
}

/// How an op sorts.
struct Order {
  const Run &run;
  const ggml_tensor *op;
  bool descending;

  Order(const Run &run, const ggml_tensor *op)
      : run(run), op(op),
        descending(op->op == GGML_OP_TOP_K || intParam(op, 0) == GGML_SORT_ORDER_DESC) {}

  const ggml_tensor *x() const { return op->src[0]; }
  std::int64_t rows() const { return ggml_nrows(x()); }
  std::string name(const char *what, const Rows &of) const {
    return std::string("order_") + what + (descending ? "_desc" : "_asc") + (of.raw ? "_f32" : "");
  }

  void byCounting() const {
    run.threads(ggml_nelements(x()),
                {.name = name("count", {descending, true}), .x = {operandOf(op), operandOf(x())}},
                [down = descending](const Traced &p, const fx::UInt32 &index) {
                  const TracedOperand &from = p.x[1], &to = p.x[0];
                  const Place at = placeOf(index, from.extent);
                  const auto key = [&](const Int32 &i) {
                    return keyOf(inRow(GGML_TYPE_F32, rowAddress(from, at[1], at[2], at[3]),
                                       from.stride[0], i),
                                 down);
                  };
                  const Numeric own = key(at[0]);
                  fx::Var<Int32> place(0);
                  for (Int32 j : fx::range(0, from.extent[0], 1)) {
                    const Numeric other = key(j);
                    place += fx::select(other < own || (other == own && j < at[0]), 1, 0);
                  }
                  fx::if_(place.get() < to.extent[0], [&] {
                    storeAt(to, GGML_TYPE_I32, {place.get(), at[1], at[2], at[3]}, at[0]);
                  });
                });
  }

  /// The operand that a kernel writes: items at the address `to`, or the result of the operation if `to` is 0.
  HostOperand resultAt(std::int64_t to) const {
    HostOperand y = operandOf(op);
    if (to)
      y.address = to;
    return y;
  }

  /// Sorts the parts of the rows and keeps the first of each, up to `kept`: of rows of one part as the
  /// result, of others as items at `to`.
  void sortParts(const HostOperand &from, bool raw, std::int64_t n, std::int64_t first,
                 std::int64_t count, const Part &part, std::int64_t kept, std::int64_t to) const {
    const std::int64_t parts = ceilDiv(n, part.size());
    const bool last = to == 0;
    const Rows how{descending, raw};
    run({.name = name(last ? "part" : "first_of_part", how) + "_" + std::to_string(part.items),
         .x = {resultAt(to), from},
         .i = {static_cast<std::int32_t>(n), static_cast<std::int32_t>(parts),
               static_cast<std::int32_t>(first), static_cast<std::int32_t>(kept)},
         .grid = count * parts,
         .block = part.threads},
        [=](const Traced &p) {
          const PartOfRow own(p, how, part);
          const coop::BlockExchange exchange(fx::u64, part.threads, part.items);
          const coop::BlockRadixSort sort(fx::u64, part.threads, part.items, kDigitBits);
          fx::SharedAllocator shared;
          const coop::Storage storage(shared, exchange.storage() | sort.storage());
          const auto blocked = exchange.striped_to_blocked(own.striped(p.x[1]), storage);
          fx::gpu::barrier();
          const auto sorted = sort(
              blocked, storage, {.begin_bit = kKeyBits, .end_bit = 2 * kKeyBits, .striped = true});
          const Int64 firstOfPart =
              p.x[0].address + fx::block_idx().x.to(fx::i64) * p.i[kKept].to(fx::i64) * kItemBytes;
          for (int i = 0; i < part.items; ++i) {
            const Int32 place = fx::thread_idx().x + i * part.threads;
            const Numeric item = sorted[static_cast<std::size_t>(i)];
            fx::if_(place < p.i[kKept], [&] {
              if (last)
                own.store(p.x[0], place, numberOf(item));
              else
                storeItem(firstOfPart + place.to(fx::i64) * kItemBytes, item);
            });
          }
        });
  }

  /// How often each digit comes up in each part: (row, digit, part).
  void countDigits(const HostOperand &from, bool raw, int bit, std::int64_t n, std::int64_t first,
                   std::int64_t count, std::int64_t counts) const {
    const std::int64_t parts = ceilDiv(n, kMoved.size());
    const Rows how{descending, raw};
    run({.name = name("digits", how) + "_" + std::to_string(bit),
         .x = {{.address = counts, .stride = {}, .extent = {}}, from},
         .i = {static_cast<std::int32_t>(n), static_cast<std::int32_t>(parts),
               static_cast<std::int32_t>(first)},
         .grid = count * parts,
         .block = kMoved.threads},
        [=](const Traced &p) {
          const PartOfRow own(p, how, kMoved);
          const coop::BlockHistogram histogram(kMoved.threads, kDigits);
          fx::SharedAllocator shared;
          const fx::Tensor sCounts = counters(shared); // (digits)
          histogram.clear(sCounts);
          fx::gpu::barrier();
          histogram.add(digitsOf(own.striped(p.x[1]), bit), sCounts);
          fx::gpu::barrier();
          countOf(p, p.x[0], own).store(Int32(sCounts(fx::thread_idx().x)));
        });
  }
  /// Of each row, the sum of all counts before each one, in place.
  void sumCounts(std::int64_t parts, std::int64_t rows, std::int64_t counts) const {
    run({.name = "order_sums",
         .x = {{.address = counts, .stride = {}, .extent = {}}},
         .i = {static_cast<std::int32_t>(parts * kDigits)},
         .grid = rows,
         .block = kSummed.threads},
        [=](const Traced &p) {
          const auto &[threads, items] = kSummed;
          const int size = kSummed.size();
          const coop::BlockLoad load(fx::i32, threads, items, coop::BlockTransfer::transpose);
          const coop::BlockStore store(fx::i32, threads, items, coop::BlockTransfer::transpose);
          const coop::BlockScan scan(fx::i32, threads);
          fx::SharedAllocator shared;
          const coop::Storage storage(shared, load.storage() | store.storage() | scan.storage());
          const Int32 n = p.i[0];
          const Int64 row = p.x[0].address + fx::block_idx().x.to(fx::i64) * n.to(fx::i64) * 4;
          const coop::Running<Numeric> before(Int32(0));
          for (Int32 at : fx::range(0, n, size)) {
            const fx::Tensor tile =
                fx::make_view(fx::Pointer::from_address(row + at.to(fx::i64) * 4, fx::i32),
                              fx::make_layout(size, 1)); // (counts)
            const Int32 count(fx::min(n - at, size));
            const fx::Vector numbers = load.partial(tile, count, 0, storage);
            fx::gpu::barrier();
            const fx::Vector sums = scan.exclusive(numbers, before, fx::Reduction::add, storage);
            fx::gpu::barrier();
            store.partial(tile, count, sums, storage);
            fx::gpu::barrier();
          }
        });
  }
  /// Each element goes to the place that the sums say: of the items at `to`, or of the result.
  void moveByDigit(const HostOperand &from, bool raw, int bit, std::int64_t n, std::int64_t first,
                   std::int64_t count, std::int64_t sums, std::int64_t to) const {
    const std::int64_t parts = ceilDiv(n, kMoved.size());
    const bool last = to == 0;
    const Rows how{descending, raw};
    run({.name = name(last ? "places" : "move", how) + "_" + std::to_string(bit),
         .x = {resultAt(to), from, {.address = sums, .stride = {}, .extent = {}}},
         .i = {static_cast<std::int32_t>(n), static_cast<std::int32_t>(parts),
               static_cast<std::int32_t>(first), static_cast<std::int32_t>(op->ne[0])},
         .grid = count * parts,
         .block = kMoved.threads},
        [=, wave = run.wave](const Traced &p) {
          const PartOfRow own(p, how, kMoved);
          const Int32 tid = fx::thread_idx().x;
          const coop::BlockRadixRank rank(kMoved.threads, kMoved.items, kDigitBits);
          const coop::BlockExchange exchange(fx::u64, kMoved.threads, kMoved.items);
          const coop::BlockHistogram histogram(kMoved.threads, kDigits);
          const coop::BlockScan scan(fx::i32, kMoved.threads);
          fx::SharedAllocator shared;
          const coop::Storage storage(shared, rank.storage() | exchange.storage() | scan.storage());
          const fx::Tensor sCounts = counters(shared); // (digits)
          histogram.clear(sCounts);
          fx::gpu::barrier();
          const std::vector<Numeric> items = own.warpStriped(p.x[1], wave);
          const std::vector<fx::UInt32> digits = digitsOf(items, bit);
          histogram.add(digits, sCounts);
          fx::gpu::barrier();
          // In the sorted part a digit's items begin where those of all smaller digits end.
          const Int32 firstOfDigit =
              scan.exclusive(Int32(sCounts(tid)), fx::Reduction::add, storage);
          sCounts(tid) = Int32(countOf(p, p.x[2], own).load()) - firstOfDigit;
          fx::gpu::barrier();
          const std::vector<Int32> ranks = rank(digits, storage);
          fx::gpu::barrier();
          const std::vector<Numeric> sorted = exchange.scatter_to_striped(items, ranks, storage);
          const std::vector<fx::UInt32> sortedDigits = digitsOf(sorted, bit);
          const Int32 n = p.i[kLength];
          for (std::size_t i = 0; i < sorted.size(); ++i) {
            const Int32 at = tid + static_cast<int>(i) * kMoved.threads; // in the sorted part
            const Int32 place = Int32(sCounts(Int32(sortedDigits[i].bitcast(fx::i32)))) + at;
            // What is after the row is the last of the last digit.
            fx::if_(own.number() * kMoved.size() + at < n, [&] {
              if (!last)
                storeItem(p.x[0].address +
                              (own.row().to(fx::i64) * n.to(fx::i64) + place) * kItemBytes,
                          sorted[i]);
              else
                fx::if_(place < p.i[kKept], [&] { own.store(p.x[0], place, numberOf(sorted[i])); });
            });
          }
        });
  }

private:
  static fx::Tensor counters(fx::SharedAllocator &shared) {
    return fx::make_view(shared.allocate(kDigits * 4).recast(fx::i32),
                         fx::make_layout(kDigits, 1)); // (digits)
  }
  static std::vector<fx::UInt32> digitsOf(const std::vector<Numeric> &items, int bit) {
    std::vector<fx::UInt32> digits;
    for (const Numeric &item : items)
      digits.push_back(fx::UInt32((item >> (kKeyBits + bit)).to(fx::u32) & (kDigits - 1)));
    return digits;
  }
  /// The count of the thread's digit in the block's part.
  static fx::Pointer countOf(const Traced &p, const TracedOperand &counts, const PartOfRow &own) {
    const Int64 digit = (own.row() * kDigits + fx::thread_idx().x).to(fx::i64);
    return fx::Pointer::from_address(
        counts.address + (digit * p.i[kPartsOfRow].to(fx::i64) + own.number().to(fx::i64)) * 4,
        fx::i32);
  }
};

/// The smallest part that has a row, or the largest one.
const Part &partOf(std::int64_t n) {
  for (const Part &part : kParts)
    if (n <= part.size())
      return part;
  return std::end(kParts)[-1];
}
std::int64_t takeItems(const Run &run, std::int64_t count) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(
      run.scratch->take(static_cast<std::size_t>(count * kItemBytes))));
}

/// Rows `first` to below `first + count`: the first `kept` of each.
void firstOfParts(const Order &order, std::int64_t first, std::int64_t count, std::int64_t kept,
                  const std::array<std::int64_t, 2> &memory) {
  HostOperand from = operandOf(order.x());
  bool raw = true;
  std::int64_t n = order.x()->ne[0];
  for (std::size_t to = 0;; to = 1 - to) {
    const Part &part = partOf(n);
    const bool last = n <= part.size();
    order.sortParts(from, raw, n, first, count, part, kept, last ? 0 : memory[to]);
    if (last)
      return;
    n = ceilDiv(n, part.size()) * kept;
    from = {.address = memory[to], .stride = {}, .extent = {}};
    raw = false;
  }
}
void allByDigits(const Order &order, std::int64_t first, std::int64_t count, std::int64_t counts,
                 const std::array<std::int64_t, 2> &memory) {
  HostOperand from = operandOf(order.x());
  bool raw = true;
  const std::int64_t n = order.x()->ne[0];
  for (int bit = 0; bit < kKeyBits; bit += kDigitBits) {
    const std::int64_t to =
        bit + kDigitBits == kKeyBits ? 0 : memory[static_cast<std::size_t>(bit / kDigitBits % 2)];
    order.countDigits(from, raw, bit, n, first, count, counts);
    order.sumCounts(ceilDiv(n, kMoved.size()), count, counts);
    order.moveByDigit(from, raw, bit, n, first, count, counts, to);
    from = {.address = to, .stride = {}, .extent = {}};
    raw = false;
  }
}

void runOrder(const Run &run, const ggml_tensor *op) {
  const Order order(run, op);
  const std::int64_t n = order.x()->ne[0], kept = op->ne[0], rows = order.rows();
  if (n <= kCounted)
    return order.byCounting();
  const Part &largest = partOf(n);
  if (n <= largest.size())
    return order.sortParts(operandOf(order.x()), true, n, 0, rows, largest, kept, 0);
  // Each round leaves half as many items, or fewer.
  const bool byParts = 2 * kept <= largest.size();
  const std::int64_t itemsOfRow = byParts ? ceilDiv(n, largest.size()) * kept : n;
  const std::int64_t atOnce = std::clamp<std::int64_t>(kMostItems / itemsOfRow, 1, rows);
  const std::array memory{takeItems(run, atOnce * itemsOfRow), takeItems(run, atOnce * itemsOfRow)};
  const std::int64_t counts =
      byParts ? 0 : takeItems(run, ceilDiv(atOnce * kDigits * ceilDiv(n, kMoved.size()), 2));
  for (std::int64_t first = 0; first < rows; first += atOnce) {
    const std::int64_t count = std::min(atOnce, rows - first);
    if (byParts)
      firstOfParts(order, first, count, kept, memory);
    else
      allByDigits(order, first, count, counts, memory);
  }
}

bool orders(const ggml_tensor *op) { return op->type == GGML_TYPE_I32 && isF32(op->src[0]); }
constexpr Op kOps[] = {
    {GGML_OP_ARGSORT, orders, runOrder},
    {GGML_OP_TOP_K, orders, runOrder},
};

} // namespace

std::span<const Op> orderOps() { return kOps; }

} // namespace flydsl_ggml
