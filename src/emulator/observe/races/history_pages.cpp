#include "emulator/observe/races/history_pages.h"

#include <algorithm>

namespace flyemu {

Histories &HistoryPages::at(uint64_t number) {
  if (last_)
    openMemory_ += last_->histories.memory() - lastMemory_; // it has grown since
  last_ = nullptr;
  if (openMemory_ > budget_)
    packOldest();

  const auto [place, isNew] = pages_.try_emplace(number);
  Page &page = place->second;
  if (isNew || !page.packed.empty()) {
    page.histories = isNew ? Histories(kPage) : Histories(kPage, page.packed);
    page.packed = {};
    open_.push_back(&page);
    openMemory_ += page.histories.memory();
  }
  page.used = ++uses_;
  last_ = &page;
  lastMemory_ = page.histories.memory();
  return page.histories;
}

void HistoryPages::packOldest() {
  std::ranges::sort(open_, std::greater(), &Page::used);
  while (open_.size() > 1 && openMemory_ > budget_ / 2) {
    Page &page = *open_.back();
    page.packed = page.histories.packed();
    openMemory_ -= page.histories.memory();
    page.histories = Histories();
    open_.pop_back();
  }
}

size_t HistoryPages::memory() const {
  size_t sum = 0;
  for (const auto &[number, page] : pages_)
    sum += page.histories.memory() + page.packed.size();
  return sum;
}

} // namespace flyemu
