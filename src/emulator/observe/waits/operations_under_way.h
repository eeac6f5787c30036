// The operations of a wave that are under way, by the counters that count them.
#pragma once

#include "emulator/observe/waits/in_order.h"
#include "emulator/observe/waits/wait_rule.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace flyemu {

/// Bytes [from, to) of LDS.
struct LdsBytes {
  uint32_t from, to;
};

/// An operation under way.
struct CountedOperation {
  const Inst *inst = nullptr;
  const WaitRule *rule = nullptr;
  uint64_t number = 0; ///< of the wave's operations, by issue
  WaitCounterSet open; ///< the counters that count it still
  bool writesLds = false;
  uint32_t load = 0;    ///< to LDS: its number
  uint32_t crossed = 0; ///< the number of its entry among those that crossed a barrier
  std::vector<LdsBytes> lds;
  // Of a load that lands late:
  uint64_t exec = 0;
  size_t valueCount = 0;
  std::vector<uint32_t> values; ///< its registers' or LDS's, a row after the other; may be longer
};

/// Each counter has the operations that end in its order (WaitRule::ordered), and the others, which
/// have ended for certain only when the counter is 0. An operation has ended when no counter counts
/// it any more.
class OperationsUnderWay {
public:
  OperationsUnderWay() = default;
  OperationsUnderWay(const OperationsUnderWay &) = delete; // its queues point into its places
  OperationsUnderWay(OperationsUnderWay &&) = default;

  /// How many operations are under way.
  size_t size() const { return size_; }
  /// How many of them a counter counts.
  size_t countedBy(WaitCounter counter) const {
    const Counted &c = counted(counter);
    return c.ordered.size() + c.unordered.size();
  }

  /// Adds an operation, which the rule's counters count. There is one at least. The reference is
  /// good until the operation ends.
  CountedOperation &issue(const Inst &inst, const WaitRule &rule) {
    CountedOperation &o = fresh();
    o.inst = &inst;
    o.rule = &rule;
    o.number = ++issued_;
    o.open = rule.counters;
    for (WaitCounter counter : rule.counters)
      (rule.ordered.has(counter) ? counted(counter).ordered : counted(counter).unordered).issue(&o);
    ++size_;
    return o;
  }

  /// A wait until the counter counts at most `left`. Calls end(operation) for each operation that
  /// has ended, in the order of issue.
  template <class End> void wait(WaitCounter counter, size_t left, End end) {
    Counted &c = counted(counter);
    const auto close = [&](CountedOperation *o) { closeFor(*o, counter, end); };
    // All have ended. Those without an order stand between the others by their issue.
    while (left == 0 && !c.unordered.empty())
      close(!c.ordered.empty() && c.ordered.oldest()->number < c.unordered.oldest()->number
                ? c.ordered.takeOldest()
                : c.unordered.takeOldest());
    c.ordered.completeDownTo(left, close);
  }

  /// The counter stops at `most`, which is not 0: an instruction that would count beyond waits. So
  /// before one more is issued, no more than that less one can be under way in the counter's order.
  /// Of those without an order nothing is known. If no code waits for them, the oldest is taken to
  /// have ended when four times as many have piled up.
  template <class End> void makeRoom(WaitCounter counter, size_t most, End end) {
    if (countedBy(counter) < most)
      return;
    wait(counter, most - 1, end);
    InOrder<CountedOperation *> &unordered = counted(counter).unordered;
    if (unordered.size() < 4 * most)
      return;
    CountedOperation &oldest = *unordered.oldest();
    for (WaitCounter other : oldest.open)
      drop(other, oldest);
    closeAll(oldest, end);
  }

  /// The number of a wait that waits for the operation, by a counter that counts it: how many have
  /// been issued after it in the counter's order, or 0 if it has no order.
  size_t leftBy(const CountedOperation &operation, WaitCounter counter) const {
    if (!operation.rule->ordered.has(counter))
      return 0;
    size_t later = 0;
    const InOrder<CountedOperation *> &ordered = counted(counter).ordered;
    while (later < ordered.size() && ordered[ordered.size() - 1 - later] != &operation)
      ++later;
    return later;
  }

  /// Calls visit(operation) for each that is under way, once.
  template <class Visit> void each(Visit visit) const {
    for (size_t k = 0; k < kWaitCounters; ++k)
      for (const InOrder<CountedOperation *> *queue :
           {&counted_[k].ordered, &counted_[k].unordered})
        for (size_t i = 0; i < queue->size(); ++i)
          if ((*queue)[i]->open.first() == static_cast<WaitCounter>(k))
            visit(*(*queue)[i]);
  }

  void clear() {
    each([&](CountedOperation &o) { free_.push_back(&o); });
    for (Counted &c : counted_) {
      c.ordered.clear();
      c.unordered.clear();
    }
    issued_ = 0;
    size_ = 0;
  }

private:
  struct Counted {
    InOrder<CountedOperation *> ordered, unordered;
  };
  Counted &counted(WaitCounter counter) { return counted_[static_cast<size_t>(counter)]; }
  const Counted &counted(WaitCounter counter) const {
    return counted_[static_cast<size_t>(counter)];
  }

  /// A place for an operation. Places keep the storage of their vectors.
  CountedOperation &fresh() {
    if (free_.empty())
      return places_.emplace_back();
    CountedOperation &o = *free_.back();
    free_.pop_back();
    o.writesLds = false;
    o.load = o.crossed = 0;
    o.lds.clear();
    o.valueCount = 0;
    return o;
  }

  template <class End> void closeFor(CountedOperation &o, WaitCounter counter, End &end) {
    o.open.remove(counter);
    if (o.open.empty())
      closeAll(o, end);
  }
  template <class End> void closeAll(CountedOperation &o, End &end) {
    o.open = {};
    --size_;
    end(o);
    free_.push_back(&o);
  }

  /// Takes an operation out of a counter's, wherever it stands.
  void drop(WaitCounter counter, const CountedOperation &operation) {
    Counted &c = counted(counter);
    InOrder<CountedOperation *> &queue =
        operation.rule->ordered.has(counter) ? c.ordered : c.unordered;
    for (size_t left = queue.size(); left; --left)
      if (CountedOperation *o = queue.takeOldest(); o != &operation)
        queue.issue(o);
  }

  std::array<Counted, kWaitCounters> counted_;
  std::deque<CountedOperation> places_;
  std::vector<CountedOperation *> free_;
  uint64_t issued_ = 0; ///< operations since the wave began
  size_t size_ = 0;
};

} // namespace flyemu
