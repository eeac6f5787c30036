// The numbers in memory by which blocks of one launch share roles, and tell each other how far they are.
//
// A block's role goes by its ticket, which it draws when it starts. So a block that waits for blocks of
// smaller tickets waits for blocks that run or have ended, in whatever order a device starts blocks and
// however few of them it holds at a time; if those wait for no larger ticket, all come to their end.
// Persistent blocks draw another ticket after each, until none are left. What they wait for has smaller
// tickets still: a block has ended its former ones when it draws.
#pragma once

#include "collective/work_layout.h"

#include <flydsl/flydsl.h>
#include <flydsl/rocdl/schedule.h>
#include <flydsl/strided.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// What orders the accesses of blocks of one launch to what they hand over. Without one of these it is
/// wrong.
struct HandOver {
  bool gathers = true;  ///< all threads of a block have written before its number is told
  bool releases = true; ///< a number is told after what the block has written before
  bool acquires = true; ///< what is read after a number is what was written before it
  bool waits = true;    ///< a block waits for numbers at all
  MemoryScope scope = MemoryScope::agent;
  /// For tests: blocks wait before they write what they hand over, and later waves wait longer.
  bool dawdles = false;
};

class WorkNumbers {
public:
  using L = WorkLayout;
  WorkNumbers(const Strided<OnDevice, 0> &memory, const HandOver &order)
      : words_(memory.view(i32, L::kWords)), order_(order) {} // (words)

  /// Calls `body` with the block's number in the order in which blocks begin; if blocks are persistent,
  /// with one after another, below `end`, until none are left. All threads of the block call.
  template <class F>
  void eachTicket(int launch, bool isPersistent, const Int32 &end, const F &body) {
    const Tensor drawn = shared_.tensor(i32, make_layout(1, 1)); // (1)
    if (!isPersistent)
      return body(draw(launch, drawn));
    const Var<Int32> ticket(Int32(0));
    // A round begins with the draw and ends with a barrier of all threads. If it ended with what thread 0
    // does alone, LLVM would make two nested loops of it, in whose inner one the other lanes wait for ever.
    while_(
        [&] {
          ticket = draw(launch, drawn);
          return Boolean(gpu::uniform(ticket.get()) < end);
        },
        [&] {
          body(gpu::uniform(ticket.get()));
          gpu::barrier(); // what the block has shared for this ticket is free
        });
  }

  /// What the block has written is told: teller `number` has got as far as `far`.
  void tell(const Int32 &number, const Int32 &far) const {
    gather();
    if_(thread_idx().x == 0, [&] {
      if (order_.releases)
        fence(MemoryOrder::release, order_.scope);
      atomic_store(word(Int32(number + L::kTold)), far, MemoryOrder::relaxed, MemoryScope::agent);
    });
  }
  /// Waits until the teller has got that far, and sees what it has written.
  void awaitTold(const Int32 &number, const Int32 &far) const {
    await(Int32(number + L::kTold), far);
  }

  /// Counts a ticket as done. `wrote`: the block has written something for others.
  void countDone(bool wrote) const {
    if (wrote)
      gather();
    if_(thread_idx().x == 0, [&] {
      if (wrote && order_.releases)
        fence(MemoryOrder::release, order_.scope);
      (void)atomic(AtomicOp::add, word(Int32(L::kDone)), 1, MemoryOrder::relaxed,
                   MemoryScope::agent);
    });
  }
  /// Waits until so many tickets are done, and sees what their blocks have written.
  void awaitDone(const Int32 &tickets) const { await(Int32(L::kDone), tickets); }

  /// Blocks call it before they write what they hand over: see HandOver::dawdles.
  void dawdle() const {
    if (!order_.dawdles)
      return;
    // Waves after the first one take longer by far.
    const Int32 wave = Int32(thread_idx().x) / kThreadsOfWaves;
    for (Int32 nap : range(Int32(0), gpu::uniform(Int32(wave * kNaps + 1)), Int32(1))) {
      (void)nap;
      rocdl::s_sleep(1);
    }
  }

private:
  static constexpr int kThreadsOfWaves = 64, kNaps = 50;
  Int32 draw(int launch, const Tensor &drawn) const {
    if_(thread_idx().x == 0, [&] {
      drawn(0) = Int32(atomic(AtomicOp::add, word(Int32(L::kTickets[launch])), 1,
                              MemoryOrder::relaxed, MemoryScope::agent));
    });
    gpu::barrier();
    return gpu::uniform(Int32(drawn(0)));
  }
  /// The block has written all.
  void gather() const {
    if (order_.gathers)
      gpu::barrier();
  }
  Pointer word(const Int32 &at) const { return words_.iter() + at; }
  void await(const Int32 &at, const Int32 &least) const {
    if_(thread_idx().x == 0, [&] {
      if (order_.waits)
        while_(
            [&] {
              return Boolean(
                  Int32(atomic_load(word(at), MemoryOrder::relaxed, MemoryScope::agent)) < least);
            },
            [] {});
      if (order_.acquires)
        fence(MemoryOrder::acquire, order_.scope);
    });
    gpu::barrier();
  }

  Tensor words_; // (kWords)
  HandOver order_;
  SharedAllocator shared_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
