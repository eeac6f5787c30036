// The histories of all memory that a launch touches, page by page, in bounded memory.
#pragma once

#include "emulator/observe/races/histories.h"

#include <unordered_map>

namespace flyemu {

/// Pages' histories. Those of a page take up to 52 times its size, as long as it is open: 13 times
/// where lanes have read it by dwords, 26 times by halves of them. When open ones take more memory
/// than `budget`, all but the last one are packed as far as needed, those first whose use is longest
/// ago. So memory that is read once, such as the weights of a product, costs little more than itself.
class HistoryPages {
public:
  static constexpr uint64_t kPage = 65536; ///< bytes

  explicit HistoryPages(size_t budget) : budget_(budget) {}

  /// The histories of the page of this number. They may be used until the next call.
  Histories &at(uint64_t number);

  /// The bytes of the host's memory that open and packed histories take.
  size_t memory() const;

private:
  struct Page {
    Histories histories;
    std::vector<std::byte> packed; ///< empty: the page is open
    uint64_t used = 0;             ///< when it was used last, by the count of uses
  };
  void packOldest();

  const size_t budget_;
  std::unordered_map<uint64_t, Page> pages_;
  std::vector<Page *> open_;
  uint64_t uses_ = 0;
  /// The bytes that open pages take, the last one as of its last use but one.
  size_t openMemory_ = 0;
  Page *last_ = nullptr;
  size_t lastMemory_ = 0; ///< what `last_` took when it was given out
};

} // namespace flyemu
