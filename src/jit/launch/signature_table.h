// From a call's signature to the kernels loaded for it, one per device. Readers take no lock and
// allocate nothing: entries are never moved nor removed while the table lives, and a grown index
// keeps the old one alive for readers that are still in it.
#pragma once

#include "runtime/loaded_kernel.h"
#include "runtime/per_device.h"

#include <flydsl/host/args.h>

#include <atomic>
#include <bit>
#include <memory>
#include <span>
#include <vector>

namespace flydsl::jit {

/// One signature: its words, and a loaded kernel per device.
class SignatureEntry {
public:
  SignatureEntry(const detail::ArgPack &pack, int deviceCount);
  /// An entry that is compared alone: no table finds it by a hash of 0.
  SignatureEntry(std::span<const std::uint64_t> words, std::uint64_t hash, int deviceCount);

  bool sameTypes(const detail::ArgPack &pack) const { return pack.sameTypes(words_.get(), count_); }
  bool matches(const detail::ArgPack &pack) const {
    return words_[0] == pack.block() && sameTypes(pack);
  }
  std::uint64_t hash() const { return hash_; }
  std::span<const std::uint64_t> words() const { return {words_.get(), count_}; }
  /// Null until loaded on that device.
  const runtime::LoadedKernel *loaded(int device) const { return loaded_.find(device); }
  /// Keeps the kernel; the one that another thread has put there first wins and is returned.
  const runtime::LoadedKernel &publish(int device,
                                       std::shared_ptr<const runtime::LoadedKernel> kernel) {
    return loaded_.publish(device, std::move(kernel));
  }

private:
  std::uint64_t hash_;
  std::size_t count_;
  std::unique_ptr<std::uint64_t[]> words_;
  runtime::PerDevice<runtime::LoadedKernel> loaded_;
};

class SignatureTable {
public:
  SignatureTable();
  ~SignatureTable();

  /// The entry of the signature in `pack`, or null.
  SignatureEntry *find(const detail::ArgPack &pack) const {
    const Index &index = *index_.load(std::memory_order_acquire);
    for (std::size_t at = hashOf(pack) & index.mask;; at = (at + 1) & index.mask) {
      SignatureEntry *entry = index.slots[at].load(std::memory_order_acquire);
      if (!entry || entry->matches(pack))
        return entry;
    }
  }
  /// The entry, made where there is none.
  SignatureEntry &insert(const detail::ArgPack &pack, int deviceCount);

  /// The products do not wait for each other, and the turning of the sum keeps the loop from wide
  /// loads (see ArgPack::sameTypes).
  static std::uint64_t hashOf(const detail::ArgPack &pack) {
    std::uint64_t sum = pack.words();
    for (std::size_t i = 0; i < pack.words(); ++i)
      sum = std::rotl(sum, 11) + pack.word()[i] * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 32;
  }

private:
  struct Index {
    explicit Index(std::size_t size)
        : mask(size - 1), slots(new std::atomic<SignatureEntry *>[size]()) {}
    void put(SignatureEntry &entry);
    std::size_t mask;
    std::unique_ptr<std::atomic<SignatureEntry *>[]> slots;
  };

  std::atomic<const Index *> index_;
  std::vector<std::unique_ptr<Index>> indices_; // the last one is in use
  std::vector<std::unique_ptr<SignatureEntry>> entries_;
};

} // namespace flydsl::jit
