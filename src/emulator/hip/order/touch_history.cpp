#include "emulator/hip/order/touch_history.h"

#include <optional>

namespace flyemu::hip {
namespace {
using Page = TouchedBytes::Page;
constexpr unsigned kRead = static_cast<unsigned>(TouchKind::Read),
                   kWrite = static_cast<unsigned>(TouchKind::Write),
                   kAtomicRead = static_cast<unsigned>(TouchKind::AtomicRead),
                   kAtomicWrite = static_cast<unsigned>(TouchKind::AtomicWrite);

/// 64 bytes of memory as one operation touches them.
struct Word {
  uint64_t read, write, atomicRead, atomicWrite;
  Word(const Page &page, unsigned index)
      : read(page.word(kRead, index)), write(page.word(kWrite, index)),
        atomicRead(page.word(kAtomicRead, index)), atomicWrite(page.word(kAtomicWrite, index)) {}
  /// The kind of the access to a byte that the other's conflicts with.
  TouchKind kindAt(unsigned bit) const {
    return write >> bit & 1         ? TouchKind::Write
           : atomicWrite >> bit & 1 ? TouchKind::AtomicWrite
           : read >> bit & 1        ? TouchKind::Read
                                    : TouchKind::AtomicRead;
  }
};

bool writes(const Page &page) { return page.touches(kWrite) || page.touches(kAtomicWrite); }

struct Comparison {
  std::optional<unsigned> conflict; ///< the first byte of the page
  bool talks = false;
};

/// Two atomic operations do not conflict. A plain read conflicts with another operation's atomic
/// one, unless the reader has atomic operations there too: compilers begin compare-and-swap loops
/// with a plain read.
Comparison compare(const Page &a, bool looseA, const Page &b, bool looseB) {
  Comparison result;
  if (!writes(a) && !writes(b))
    return result;
  for (unsigned i = 0; i < TouchedPage::kWords; ++i) {
    const Word x(a, i), y(b, i);
    const uint64_t xStores = x.write & y.atomicRead, yStores = y.write & x.atomicRead;
    const uint64_t conflicts =
        (x.write & (y.read | y.write | y.atomicWrite)) | (y.write & (x.read | x.atomicWrite)) |
        (x.atomicWrite & y.read & ~y.atomicWrite) | (y.atomicWrite & x.read & ~x.atomicWrite) |
        (looseA ? 0 : xStores) | (looseB ? 0 : yStores);
    result.talks |= (x.atomicWrite & y.atomicRead) || (y.atomicWrite & x.atomicRead) ||
                    (looseA && xStores) || (looseB && yStores);
    if (conflicts && !result.conflict)
      result.conflict = i * 64 + static_cast<unsigned>(std::countr_zero(conflicts));
  }
  return result;
}

ConflictSide sideAt(const ToucherRef &by, const Page &page, unsigned byte) {
  ConflictSide side;
  side.by = by;
  side.kind = Word(page, byte / 64).kindAt(byte % 64);
  if (const auto &touched = page.kinds[static_cast<unsigned>(side.kind)])
    side.inst = touched->instructionAt(byte);
  return side;
}

/// Takes bytes out of a page. `gone(kind, word)` says which. Returns true if none are left.
template <class F> bool takeOut(Page &page, F gone) {
  bool empty = true;
  for (unsigned kind = 0; kind < kTouchKinds; ++kind) {
    if (!page.touches(kind))
      continue;
    if (page.whole >> kind & 1) {
      bool some = false;
      for (unsigned i = 0; i < TouchedPage::kWords && !some; ++i)
        some = gone(kind, i);
      if (!some) {
        empty = false;
        continue;
      }
      if (!page.kinds[kind])
        page.kinds[kind] = std::make_unique<TouchedPage>();
      for (unsigned i = 0; i < TouchedPage::kWords; ++i)
        page.kinds[kind]->word(i) = ~uint64_t(0);
      page.whole &= static_cast<uint8_t>(~(1u << kind));
    }
    uint64_t left = 0;
    for (unsigned i = 0; i < TouchedPage::kWords; ++i)
      left |= page.kinds[kind]->word(i) &= ~gone(kind, i);
    if (left)
      empty = false;
    else
      page.kinds[kind].reset();
  }
  return empty;
}

/// What conflicts with a page's accesses would conflict with those of `later` as well.
bool cover(Page &page, const Page &later) {
  return takeOut(page, [&](unsigned kind, unsigned i) {
    const Word x(later, i);
    switch (kind) {
    case kRead:
      return x.write | x.read;
    case kWrite:
      return x.write;
    case kAtomicRead:
      return x.write | x.read | x.atomicRead | x.atomicWrite;
    default:
      return x.write | x.atomicWrite;
    }
  });
}

} // namespace

void TouchHistory::add(const ToucherRef &by, TouchedBytes &&touched, const Visit &visit) {
  struct Found {
    std::optional<Conflict> conflict;
    bool talks = false;
  };
  std::vector<std::pair<ToucherRef, Found>> found; // in the order of addresses
  std::vector<uint64_t> numbers;
  for (auto &[number, page] : touched.pages()) {
    Entries &entries = pages_[number];
    std::erase_if(entries, [&](Entry &e) {
      if (e.by->position.comesBefore(by->position))
        return cover(e.page, page);
      if (by->position.comesBefore(e.by->position))
        return false;
      const Comparison c = compare(e.page, e.by->looseStores, page, by->looseStores);
      if (!c.conflict && !c.talks)
        return false;
      auto known = std::find_if(found.begin(), found.end(),
                                [&](const auto &one) { return one.first == e.by; });
      if (known == found.end())
        known = found.insert(found.end(), {e.by, {}});
      known->second.talks |= c.talks;
      if (c.conflict && !known->second.conflict)
        known->second.conflict =
            Conflict{sideAt(e.by, e.page, *c.conflict), sideAt(by, page, *c.conflict),
                     number * TouchedBytes::kPage + *c.conflict};
      return false;
    });
    entries.push_back({by, std::move(page)});
    numbers.push_back(number);
  }
  if (!numbers.empty())
    order_.emplace_back(by, std::move(numbers));
  if (order_.size() > 2 * swept_ + 1024)
    sweep();
  for (const auto &[other, what] : found)
    visit(other, what.conflict ? &*what.conflict : nullptr, what.talks);
}

void TouchHistory::sweep() {
  std::erase_if(order_, [](const auto &one) { return one.first.expired(); });
  swept_ = order_.size();
}

void TouchHistory::forget(uint64_t base, uint64_t bytes) {
  const uint64_t end = base + bytes;
  for (uint64_t number = base / TouchedBytes::kPage; number * TouchedBytes::kPage < end; ++number) {
    auto it = pages_.find(number);
    if (it == pages_.end())
      continue;
    const uint64_t start = number * TouchedBytes::kPage, from = std::max(base, start) - start,
                   to = std::min(end - start, TouchedBytes::kPage);
    TouchedPage gone;
    gone.mark(from, to, 0);
    std::erase_if(it->second, [&](Entry &e) {
      return takeOut(e.page, [&](unsigned, unsigned i) { return gone.word(i); });
    });
    if (it->second.empty())
      pages_.erase(it);
  }
}

void TouchHistory::forget(const std::function<bool(const Submission &)> &isOver) {
  std::erase_if(order_, [&](const auto &one) {
    const ToucherRef by = one.first.lock();
    if (by && !isOver(*by->position.submission))
      return false;
    if (by)
      for (uint64_t number : one.second)
        if (auto it = pages_.find(number); it != pages_.end()) {
          std::erase_if(it->second, [&](const Entry &e) { return e.by == by; });
          if (it->second.empty())
            pages_.erase(it);
        }
    return true;
  });
  swept_ = order_.size();
}

} // namespace flyemu::hip
