// The table grows by a copy of its index; the old index stays for readers that are still in it.
#include "jit/launch/signature_table.h"

#include <algorithm>

namespace flydsl::jit {

SignatureEntry::SignatureEntry(const detail::ArgPack &pack, int deviceCount)
    : SignatureEntry({pack.word(), pack.words()}, SignatureTable::hashOf(pack), deviceCount) {}

SignatureEntry::SignatureEntry(std::span<const std::uint64_t> words, std::uint64_t hash,
                               int deviceCount)
    : hash_(hash), count_(words.size()), words_(new std::uint64_t[words.size()]),
      loaded_(deviceCount) {
  std::copy(words.begin(), words.end(), words_.get());
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
  std::lock_guard<std::mutex> lock(runtime::publishing());
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
