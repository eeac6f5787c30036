#include "jit/launch/signature_table.h"

#include "support/fork.h"

#include <mutex>

namespace flydsl::jit {

/// For changes of all tables, which take no time; so a fork has one lock to hold.
static std::mutex &changes() {
  static std::mutex *mutex = [] {
    auto *made = new std::mutex;
    support::holdAtFork(*made);
    return made;
  }();
  return *mutex;
}

SignatureEntry::SignatureEntry(const detail::ArgPack &pack, int deviceCount)
    : hash_(SignatureTable::hashOf(pack)), count_(pack.words()),
      words_(new std::uint64_t[pack.words()]),
      loaded_(
          new std::atomic<const runtime::LoadedKernel *>[static_cast<std::size_t>(deviceCount)]()) {
  std::memcpy(words_.get(), pack.word(), count_ * 8);
}

const runtime::LoadedKernel &
SignatureEntry::publish(int device, std::unique_ptr<runtime::LoadedKernel> kernel) {
  std::lock_guard<std::mutex> lock(changes());
  auto &slot = loaded_[static_cast<std::size_t>(device)];
  if (const runtime::LoadedKernel *first = slot.load(std::memory_order_relaxed))
    return *first;
  owned_.push_back(std::move(kernel));
  slot.store(owned_.back().get(), std::memory_order_release);
  return *owned_.back();
}

void SignatureTable::Index::put(SignatureEntry &entry) {
  std::size_t at = entry.hash() & mask;
  while (slots[at].load(std::memory_order_relaxed))
    at = (at + 1) & mask;
  slots[at].store(&entry, std::memory_order_release);
}

SignatureTable::SignatureTable() {
  indices_.push_back(std::make_unique<Index>(8));
  index_.store(indices_.back().get(), std::memory_order_release);
}

SignatureTable::~SignatureTable() = default;

SignatureEntry &SignatureTable::insert(const detail::ArgPack &pack, int deviceCount) {
  std::lock_guard<std::mutex> lock(changes());
  if (SignatureEntry *entry = find(pack))
    return *entry;
  entries_.push_back(std::make_unique<SignatureEntry>(pack, deviceCount));
  Index *index = indices_.back().get();
  if (entries_.size() * 2 > index->mask + 1) { // half full at most, so that a search ends soon
    indices_.push_back(std::make_unique<Index>((index->mask + 1) * 2));
    index = indices_.back().get();
    for (auto &entry : entries_)
      index->put(*entry);
    index_.store(index, std::memory_order_release);
  } else {
    index->put(*entries_.back());
  }
  return *entries_.back();
}

} // namespace flydsl::jit
