// The kernel that looks at the indices of a call. One block goes over the rows in their order, so
// that of several wrong numbers always the same is reported: that of the first row, and in it the
// first place.
#include "frame/index_checks_kernel.h"

#include "blocks/attention/worklist.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

constexpr std::int64_t kNone = INT64_MAX;
/// A key has the row and the kind above the place or, of equal numbers, the number.
constexpr int kKeyShift = 56;
/// Threads that go over the pages of a sequence together.
constexpr int kPageThreads = 32;
/// Bits of shared memory say which numbers were seen, so many numbers at a time. Few numbers, at most
/// one a thread, are compared pair by pair instead where that takes less time than to go over the bits:
/// 32 steps of the one take as long as so many bits of the other, by the emulator's estimate.
constexpr int kBits = 1 << 18, kPairs = kIndexThreads, kBitsOfPair = kBits / 32;

/// The memory at an address of the call, as a vector of numbers.
Strided<OnDevice, 0> numbersOf(const Int64 &address) { return {.address = address, .stride = {}}; }
/// The number `index` of such a vector, which has more than that.
Numeric numberAt(const Int64 &address, const Numeric &index, DType dtype = i32) {
  const Tensor numbers = numbersOf(address).view(dtype, index + 1); // (index + 1)
  return numbers(index).to(i64); // differences of wrong numbers do not wrap
}
Pointer word(const Int64 &address, std::size_t index) {
  const Tensor words = numbersOf(address).view(i64, index + 1); // (index + 1)
  return words.iter() + index;
}

class IndexBlock {
public:
  IndexBlock(const std::vector<IndexRule> &rules, const IndexCheckParams<OnDevice> &params)
      : rules_(rules), p_(params), thread_(thread_idx().x),
        memory_(shared_.allocate(kBits / 8, 16)) {}

  void run() {
    if_(thread_ == 0, [&] {
      const Numeric first = atomic_load(word(p_.lane, 0), MemoryOrder::relaxed);
      note(first == kIndexStopped, kFullKey, Int64(0), Int64(0), Int64(0), Int64(0));
    });
    for (std::size_t row = 0; row < rules_.size(); ++row) {
      check(row);
      if (rules_[row].distinct)
        expectDistinct(row);
    }
    const Int64 first(gpu::block_reduce(key_.get(), Reduction::min, shared_));
    const Boolean failed(first != kNone);
    // Equal numbers are reported by thread 0, which looks for their places; others by the thread
    // that found them.
    const Numeric kind = first >> kKeyShift;
    const Boolean equal(failed & ((kind & 1) == 1));
    if_(select(equal, thread_ == 0, Boolean(failed & (key_ == first))), [&] {
      find(first, kind, equal);
      report(kind);
    });
    if_(thread_ == 0, [&] { mark(failed); });
  }

private:
  /// Remembers a wrong number if the thread has found none with a smaller key.
  void note(const Boolean &wrong, std::int64_t kind, const Numeric &place, const Numeric &number,
            const Numeric &low, const Numeric &end, const Numeric &other = Int64(0)) {
    const Int64 key(place + (kind << kKeyShift));
    if_(Boolean(wrong & (key < key_)), [&] {
      key_ = key;
      place_ = Int64(place);
      value_ = Int64(number);
      low_ = Int64(low);
      end_ = Int64(end);
      other_ = Int64(other);
    });
  }

  void check(std::size_t row) {
    switch (rules_[row].kind) {
    case IndexKind::within:
      return within(row);
    case IndexKind::rising:
      return rising(row);
    case IndexKind::pages:
      return pages(row);
    case IndexKind::worklist:
      return worklist(row);
    }
  }

  template <class Body> void eachNumber(std::size_t row, const Body &body) {
    for (Numeric i : range(thread_, p_.rows[row].count, kIndexThreads))
      body(Int64(i), Int64(numberAt(p_.rows[row].address, i, rules_[row].dtype)));
  }
  void within(std::size_t row) {
    const Int64 low(rules_[row].orNone ? -1 : 0), end = p_.rows[row].end;
    eachNumber(row, [&](const Int64 &i, const Int64 &number) {
      const Boolean isOutside((number < low) | (number >= end));
      note(rules_[row].slots ? Boolean(isOutside | isNoSlot(number, end)) : isOutside,
           wrongKey(row), i, number, low, end);
    });
  }
  /// Whether a number is neither a slot of a token nor padding, which is the last number.
  static Boolean isNoSlot(const Int64 &number, const Int64 &end) {
    const Numeric padding = end - 1;
    return (number != padding) & (((number & kTokensOfIds) >= (padding & kTokensOfIds)) |
                                  (number >> kTokenBitsOfIds >= padding >> kTokenBitsOfIds));
  }
  void rising(std::size_t row) {
    const Int64 end = p_.rows[row].end, most = p_.rows[row].most;
    eachNumber(row, [&](const Int64 &i, const Int64 &number) {
      const Boolean first(i == 0);
      const Numeric before = numberAt(p_.rows[row].address, select(first, i, i - 1)),
                    low = select(first, Int64(0), before),
                    above = select(first, end, min(end, before + most + 1));
      note(Boolean((number < low) | (number >= above)), wrongKey(row), i, number, low, above);
    });
  }

  /// The first key of a sequence with a window that kernels read.
  Numeric firstKey(std::size_t row, const Numeric &sequence, const Numeric &length) const {
    const Int64 starts = p_.rows[row].starts, before = p_.rows[row].before;
    const Var<Int64> queries(p_.rows[row].queries);
    if_(starts != 0,
        [&] { queries = Int64(numberAt(starts, sequence + 1) - numberAt(starts, sequence)); });
    const Numeric seen = min(max(length - queries.get() - before, Int64(0)), length),
                  align = UInt32(rules_[row].align),
                  key = select(before < 0, Int64(0), seen).to(u32) / align * align;
    return key;
  }
  /// The pages of a sequence that hold keys which kernels read. A length that is wrong itself has
  /// been noted in an earlier row; here it reaches no further than the table's row.
  void pages(std::size_t row) {
    const IndexRule &rule = rules_[row];
    const Int64 columns = p_.rows[row].columns, room = Int64(columns * rule.page);
    const Int32 lane = thread_ % kPageThreads;
    for (Numeric sequence :
         range(thread_ / kPageThreads, p_.rows[row].count, kIndexThreads / kPageThreads)) {
      const Numeric length = max(min(numberAt(p_.rows[row].lengths, sequence), room), Int64(0));
      const Numeric first = rule.window ? firstKey(row, sequence, length) : Int64(0);
      const auto pageOf = [&](const Numeric &key) {
        return Numeric(key.to(u32) / UInt32(rule.page));
      };
      const Int64 end = p_.rows[row].end;
      for (Numeric page :
           range(pageOf(first) + lane, pageOf(length + (rule.page - 1)), kPageThreads)) {
        const Numeric number =
            numberAt(p_.rows[row].address, sequence * p_.rows[row].stride + page);
        note(Boolean((number < 0) | (number >= end)), wrongKey(row), sequence * columns + page,
             number, Int64(0), end, columns);
      }
    }
  }

  /// A worklist's numbers by its definition (flydsl/kernels/worklist.h), each from those before it.
  void worklist(std::size_t row) {
    const IndexRule &rule = rules_[row];
    const Int64 address = p_.rows[row].address, n = p_.rows[row].count;
    const Boolean given(address != 0);
    const Int64 sequences(select(given, n + 1, Int64(0))),
        workers(select(given, Int64(rule.workers), Int64(0)));
    for (Numeric i : range(thread_, sequences, kIndexThreads)) {
      const Var<Int64> expected(Int64(0));
      if_(i > 0, [&] {
        const Int64 starts = p_.rows[row].starts; // 0: each sequence has as many queries
        const Var<Int32> queries(Int32(rule.queries));
        if_(starts != 0,
            [&] { queries = Int32((numberAt(starts, i) - numberAt(starts, i - 1)).to<Int32>()); });
        const Visibility<Int32> visibility{true,
                                           rule.window,
                                           queries.get(),
                                           numberAt(p_.rows[row].lengths, i - 1).to<Int32>(),
                                           p_.rows[row].before.to<Int32>(),
                                           Int32(0)};
        expected =
            Int64(numberAt(address, i - 1) + unitsOf(keysOfSequence(visibility, true), rule.unit));
      });
      const Numeric number = numberAt(address, i);
      note(Boolean(number != expected), wrongKey(row), i, number, expected.get(), expected + 1);
    }
    for (Numeric worker : range(thread_, workers, kIndexThreads)) {
      const Numeric total = numberAt(address, n), place = n + 1 + worker,
                    sequence = numberAt(address, place);
      const UnitDeal<Int32> deal{total.to<Int32>(), Int32(rule.workers)};
      const Int32 begin = deal.begin(worker.to<Int32>());
      const Boolean inside((sequence >= 0) & (sequence < n));
      const Var<Boolean> right(Boolean(sequence == n));
      if_(begin < total, [&] {
        const Numeric own = select(inside, sequence, Int64(0));
        right = Boolean(inside & (numberAt(address, own) <= begin) &
                        (numberAt(address, own + 1) > begin));
      });
      note(Boolean(right.get() == false), wrongKey(row), place, sequence, Int64(0), n + 1);
    }
  }

  /// Numbers, none of them there twice. The key of a number that is has the number instead of a
  /// place, so that of several the smallest is reported, whatever the order of threads.
  void expectDistinct(std::size_t row) {
    const Int64 count = p_.rows[row].count, end = p_.rows[row].end;
    const auto noteEqual = [&](const Boolean &wrong, const Numeric &number) {
      note(wrong, equalKey(row), number, number, Int64(0), end);
    };
    if_(
        Boolean((count <= kPairs) & (count * kBitsOfPair <= end)),
        [&] {
          const Pointer numbers = memory_.recast(i64);
          eachNumber(row,
                     [&](const Int64 &i, const Int64 &number) { (numbers + i).store(number); });
          gpu::barrier();
          for (Numeric i : range(thread_, count, kIndexThreads)) {
            const Numeric number = (numbers + i).load();
            const Boolean kept((number >= 0) & (number < end));
            for (Numeric j : range(Int64(0), i))
              noteEqual(Boolean(kept & ((numbers + j).load() == number)), number);
          }
          gpu::barrier();
        },
        [&] {
          const Pointer seen = memory_.recast(u32);
          for (Numeric base : range(Int64(0), end, std::int64_t(kBits))) {
            const Numeric bits = min(end - base, Int64(kBits));
            for (Numeric i : range(thread_, (bits + 31) >> 5, kIndexThreads))
              (seen + i).store(UInt32(0));
            gpu::barrier();
            eachNumber(row, [&](const Int64 &, const Int64 &number) {
              const Numeric bit = number - base;
              if_(Boolean((bit >= 0) & (bit < bits)), [&] {
                const Numeric mask = UInt32(1) << (bit & 31).to(u32),
                              old = atomic(AtomicOp::or_, seen + (bit >> 5), mask,
                                           MemoryScope::block);
                noteEqual(Boolean((old & mask) != 0), number);
              });
            });
            gpu::barrier();
          }
        });
  }

  /// The places of the first two numbers that are equal.
  void find(const Int64 &first, const Numeric &kind, const Boolean &equal) {
    for (std::size_t row = 0; row < rules_.size(); ++row)
      if (rules_[row].distinct)
        if_(Boolean(equal & (kind == equalKey(row))), [&] {
          const Int64 number(first - (equalKey(row) << kKeyShift));
          const Var<Int64> one(Int64(-1)), two(Int64(-1));
          for (Numeric i : range(Int64(0), p_.rows[row].count)) {
            const Boolean same(numberAt(p_.rows[row].address, i, rules_[row].dtype) == number);
            const Boolean isFirst(same & (one < 0)), isSecond(same & (one >= 0) & (two < 0));
            two = Int64(select(isSecond, i, two.get()));
            one = Int64(select(isFirst, i, one.get()));
          }
          place_ = two.get();
          other_ = one.get();
          value_ = number;
        });
  }

  /// Writes the report for the host, unless there is one that it has not taken yet.
  void report(const Numeric &kind) {
    const Int64 to = p_.report, words = p_.words;
    const Numeric failures =
        atomic(AtomicOp::add, word(words, kIndexFailures), Int64(1), MemoryOrder::relaxed) + 1;
    const auto put = [&](IndexReportWord at, const Numeric &number) {
      atomic_store(word(to, at), number, MemoryOrder::relaxed, MemoryScope::system);
    };
    put(kReportFailures, failures);
    const Pointer lock = word(words, kIndexLock);
    if_(Boolean(atomic_cas(lock, Int64(0), Int64(1), MemoryOrder::acquire) == 0), [&] {
      const Numeric state =
          atomic_load(word(to, kReportState), MemoryOrder::acquire, MemoryScope::system);
      if_(state == 0, [&] {
        put(kReportKey, kind);
        put(kReportPlace, place_.get());
        put(kReportValue, value_.get());
        put(kReportLow, low_.get());
        put(kReportEnd, end_.get());
        put(kReportOther, other_.get());
        atomic_store(word(to, kReportState), Int64(1), MemoryOrder::release, MemoryScope::system);
      });
      atomic_store(lock, Int64(0), MemoryOrder::release);
    });
  }

  /// Puts the call's ticket into its lane, or takes away what an earlier replay left there.
  void mark(const Boolean &failed) {
    const Int64 lane = p_.lane, ticket = p_.ticket;
    if_(
        failed,
        [&] {
          const Var<Int32> marked(Int32(0));
          for (std::size_t way = 0; way < kIndexWays; ++way)
            if_(marked == 0, [&] {
              const Numeric old = atomic_cas(word(lane, way), Int64(0), ticket);
              marked = Int32(select(Boolean((old == 0) | (old == ticket)), Int32(1), Int32(0)));
            });
          if_(marked == 0,
              [&] { atomic_store(word(lane, 0), Int64(kIndexStopped), MemoryOrder::relaxed); });
        },
        [&] {
          for (std::size_t way = 0; way < kIndexWays; ++way)
            (void)atomic_cas(word(lane, way), ticket, Int64(0));
        });
  }

  const std::vector<IndexRule> &rules_;
  const IndexCheckParams<OnDevice> &p_;
  Int32 thread_;
  SharedAllocator shared_;
  Pointer memory_;
  Var<Int64> key_{Int64(kNone)}, place_{Int64(0)}, value_{Int64(0)}, low_{Int64(0)}, end_{Int64(0)},
      other_{Int64(0)};
};

} // namespace

void traceIndexChecks(const std::vector<IndexRule> &rules,
                      const IndexCheckParams<OnDevice> &params) {
  IndexBlock(rules, params).run();
}

void exitIfMarked(const Int64 &lane, const Int64 &ticket) {
  const Tensor ways = numbersOf(lane).view(i64, int(kIndexWays), 16); // (ways)
  const Vector marks = ways.load();
  std::vector<Boolean> marked{Boolean(marks.at(0) == kIndexStopped)};
  for (int way = 0; way < kIndexWays; ++way)
    marked.push_back(Boolean(marked.back() | (marks.at(way) == ticket)));
  exit_if(marked.back());
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
