// Histories that are packed when they take too much memory are those that stay open.
#include "emulator/observe/races/history_pages.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <random>

using namespace flyemu;

namespace {

constexpr uint64_t kPage = HistoryPages::kPage;

/// The places of a page, with all that is known of them. (A place is cut only where an access asks
/// for it: whole lines do not.)
struct Place {
  uint64_t offset, bytes;
  History history;
  bool operator==(const Place &other) const {
    return offset == other.offset && bytes == other.bytes &&
           std::memcmp(&history, &other.history, sizeof history) == 0;
  }
};
std::vector<Place> placesOf(Histories &histories) {
  std::vector<Place> places;
  histories.each(0, kPage, [&](History &h, uint64_t offset, uint64_t bytes) {
    places.push_back({offset, bytes, h});
  });
  return places;
}

} // namespace

TEST_CASE("packed histories come back as they were") {
  constexpr size_t kPages = 12;
  HistoryPages small(kPage), large(size_t(1) << 40);
  std::mt19937 random(7);
  auto below = [&](uint64_t limit) {
    return std::uniform_int_distribution<uint64_t>(0, limit - 1)(random);
  };
  for (int i = 0; i < 2000; ++i) {
    const uint64_t page = below(kPages), shift = below(5);
    // Lanes in a row, of 1 to 16 bytes, or lines as they are.
    const uint64_t from = below(8) ? below(kPage >> shift) << shift : below(kPage / 128) * 128;
    const uint64_t to =
        std::min(from + (below(2) ? below(64) + 1 : 128) * (uint64_t(1) << shift), kPage);
    Touch touch;
    touch.inst = static_cast<uint32_t>(below(1000));
    touch.group = static_cast<uint32_t>(below(100) + 1);
    touch.time = static_cast<uint32_t>(i);
    touch.who = Touch::of(static_cast<unsigned>(below(8)), 0, below(4) ? 0 : Touch::kAtomic,
                          static_cast<unsigned>(shift));
    const bool writes = below(3) == 0;
    for (HistoryPages *pages : {&small, &large})
      pages->at(page).each(from, to, [&](History &h, uint64_t offset, uint64_t) {
        h.note(touch, offset > from ? offset - from : 0, writes);
      });
  }
  CHECK(small.memory() < large.memory() / 2);
  for (uint64_t page = 0; page < kPages; ++page) {
    INFO("page " << page);
    CHECK(placesOf(small.at(page)) == placesOf(large.at(page)));
  }
}

TEST_CASE("weights that lanes read once take little more than themselves to remember") {
  constexpr size_t kPages = 32, kBudget = 4 << 20;
  HistoryPages pages(kBudget);
  for (uint64_t page = 0; page < kPages; ++page)
    for (uint64_t at = 0; at < kPage; at += 2) {
      Touch touch;
      touch.inst = static_cast<uint32_t>(100 + at / 512 % 7);
      touch.group = static_cast<uint32_t>(page / 4 + 1);
      touch.time = static_cast<uint32_t>(page * 100 + at / 4096);
      touch.who = Touch::of(at / 8192 % 4, at / 8 % 64, 0, Touch::kOneLane);
      pages.at(page).pieces(at, 2).first->note(touch, 0, false);
    }
  const size_t most = kBudget + kPage * (sizeof(History) / 2 + 1); // one page is above the budget
  CHECK(pages.memory() < most + 2 * kPages * kPage);
}
