// Sequences that share a cache of pages: how long each is, and which pages it has.
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace samples {

class Sequences {
public:
  /// Up to `count` sequences at a time, of up to `context` tokens each.
  Sequences(int count, int context, int page)
      : context_(context), page_(page), all_(std::size_t(count)),
        free_(std::size_t(count) * std::size_t(pagesOfEach())) {
    std::iota(free_.rbegin(), free_.rend(), 0);
  }

  int context() const { return context_; }
  int pagesOfEach() const { return (context_ + page_ - 1) / page_; }               ///< at most
  std::int64_t pages() const { return std::int64_t(all_.size()) * pagesOfEach(); } ///< of all
  int length(int number) const { return all_[std::size_t(number)].length; } ///< tokens; 0: free
  /// A sequence that is free, if there is one.
  std::optional<int> unused() const {
    for (std::size_t number = 0; number < all_.size(); ++number)
      if (all_[number].length == 0)
        return int(number);
    return std::nullopt;
  }

  // region: append
  /// Where the next token of a sequence goes.
  struct Place {
    int position;      ///< in its sequence
    std::int32_t slot; ///< in the cache: page * tokens of a page + place in the page
    std::int32_t page;
    int pageOfSequence; ///< the page's number in the sequence
  };
  /// Makes a sequence one token longer. Throws std::runtime_error if it is as long as may be.
  Place append(int number) {
    Sequence &sequence = all_[std::size_t(number)];
    if (sequence.length == context_)
      throw std::runtime_error("sequence " + std::to_string(number) + " has " +
                               std::to_string(context_) + " tokens, the most");
    const int position = sequence.length++;
    if (position % page_ == 0) {
      sequence.pages.push_back(free_.back());
      free_.pop_back();
    }
    const std::int32_t page = sequence.pages.back();
    return {position, page * page_ + position % page_, page, position / page_};
  }
  // endregion
  /// Ends a sequence: its number and its pages are free.
  void end(int number) {
    Sequence &sequence = all_[std::size_t(number)];
    free_.insert(free_.end(), sequence.pages.begin(), sequence.pages.end());
    sequence = {};
  }

private:
  struct Sequence {
    int length = 0;
    std::vector<std::int32_t> pages;
  };
  int context_, page_;
  std::vector<Sequence> all_;
  std::vector<std::int32_t> free_;
};

} // namespace samples
