// The rows of a call, and what kernels read about them and their sequences from device memory.
#pragma once

#include "common/device_room.h"
#include "common/sequences.h"
#include "products.h"

#include <algorithm>

namespace decoder {

inline constexpr int kPage = 16; // tokens

class Batch {
public:
  using Input = samples::StepInputs::Input;
  /// A token of a sequence.
  struct Row {
    int sequence, position;
  };

  /// For sequences of up to `context` tokens. `heads`: of latent attention, or 0; with them there
  /// are rowTables, rowLengths and counts.
  Batch(const Rows &rows, int context, std::int64_t heads)
      : rows_(rows.most()), byRow_(heads > 0), sequences_(rows.batch, context, kPage),
        inputs_(std::size_t(3 * rows_ + rows.batch * (3 + pages()) + 1 + heads +
                            std::int64_t(samples::StepInputs::roomOfBytes(rows.batch)) +
                            (byRow_ ? rows_ * (1 + pages()) + rows.batch + 1 + roomOfKeys() : 0))),
        tokens(inputs_.add({rows_})), positions(inputs_.add({rows_})), slots(inputs_.add({rows_})),
        starts(inputs_.add({rows.batch + 1})), lengths(inputs_.add({rows.batch})),
        tables(inputs_.add({rows.batch, pages()})), stateSlots(inputs_.add({rows.batch})),
        fresh(inputs_.addBytes(rows.batch)), rowLengths(byRow_ ? inputs_.add({rows_}) : lengths),
        rowTables(byRow_ ? inputs_.add({rows_, pages()}) : tables),
        counts(byRow_ ? inputs_.add({heads}) : lengths),
        keyStarts(byRow_ ? inputs_.add({rows.batch + 1}) : starts),
        keySlots(byRow_ ? inputs_.add({roomOfKeys()}) : slots) {}

private:
  std::int64_t rows_;
  bool byRow_;
  samples::Sequences sequences_;
  samples::StepInputs inputs_;
  std::vector<Row> called_;
  std::int64_t longest_ = 0, keys_ = 0, pairs_ = 0;
  int pages() const { return sequences_.pagesOfEach(); }

public:
  Input tokens, positions, slots;   ///< of rows
  Input starts, lengths, tables;    ///< of sequences: first rows, tokens, and pages
  Input stateSlots;                 ///< of sequences: a state has its number; -1: no token
  samples::StepInputs::Bytes fresh; ///< of sequences: 1: the first token is in the call
  /// Of rows, as if each were a sequence of its own that ends with the row's token.
  Input rowLengths, rowTables;
  Input counts; ///< rows of the call, for each head
  /// Of the sequences that have rows in the call: where the keys of each start among those of all, and
  /// the place of each key in the cache.
  Input keyStarts, keySlots;

  const samples::Sequences &sequences() const { return sequences_; }
  std::span<const Row> called() const { return called_; } ///< the rows that have a token
  std::int64_t longest() const { return longest_; } ///< rows of a sequence in the call, at most
  /// Keys that keySlots has room for: those of a call whose prompts begin in it, but for one that goes
  /// on.
  std::int64_t roomOfKeys() const { return rows_ + sequences_.context(); }
  /// Keys of the sequences that have rows in the call; 0: there are more than there is room for.
  std::int64_t keys() const { return keys_; }
  /// About twice the number of pairs of a row of the call and a key that it sees.
  std::int64_t pairs() const { return pairs_; }
  std::size_t bytes() const { return inputs_.bytes(); }

  /// No row is a sequence's yet; each sequence has `each` rows.
  void prepare(std::int32_t each) {
    called_.clear();
    longest_ = each;
    keys_ = pairs_ = 0;
    std::fill_n(slots.host, rows_, -1);
    std::fill_n(positions.host, rows_, 0);
    std::fill_n(tokens.host, rows_, 0);
    std::fill_n(stateSlots.host, stateSlots.device.size(), -1);
    std::fill_n(fresh.host, fresh.device.size(), std::uint8_t(0));
    if (byRow_)
      std::fill_n(rowLengths.host, rows_, 0);
    for (std::int32_t i = 0; i < starts.device.size(); ++i)
      starts.host[i] = i * each;
  }
  /// Makes a token the next one of a sequence, in a row of the call.
  void put(std::int64_t row, int number, int token) {
    const samples::Sequences::Place place = sequences_.append(number);
    std::int32_t *table = tables.host + number * pages();
    table[place.pageOfSequence] = place.page;
    tokens.host[row] = token;
    positions.host[row] = place.position;
    slots.host[row] = place.slot;
    lengths.host[number] = place.position + 1;
    stateSlots.host[number] = number;
    if (place.position == 0)
      fresh.host[number] = 1;
    if (byRow_) {
      rowLengths.host[row] = place.position + 1;
      std::copy_n(table, place.pageOfSequence + 1, rowTables.host + row * pages());
    }
    called_.push_back({number, place.position});
  }
  /// Puts as many of the tokens as there are rows, sequence after sequence, and takes them away from
  /// what is left. Returns the number of rows.
  std::int64_t fill(std::span<std::span<const int>> left) {
    prepare(0);
    std::int64_t row = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const auto count = std::min(left[i].size(), std::size_t(rows_ - row));
      for (int token : left[i].first(count))
        put(row++, int(i), token);
      left[i] = left[i].subspan(count);
      starts.host[i + 1] = std::int32_t(row);
      longest_ = std::max(longest_, std::int64_t(count));
    }
    if (byRow_)
      listKeys();
    return row;
  }
  /// Brings all of it to the device, for a call with m rows.
  void send(std::int64_t m) {
    if (byRow_)
      std::fill_n(counts.host, counts.device.size(), std::int32_t(m));
    inputs_.send();
  }
  /// Makes keyStarts and keySlots of the sequences that have rows.
  void listKeys() {
    for (std::int32_t i = 0; i + 1 < starts.device.size(); ++i) {
      const std::int64_t count = starts.host[i + 1] - starts.host[i],
                         length = count > 0 ? lengths.host[i] : 0;
      keyStarts.host[i] = std::int32_t(keys_);
      pairs_ += count * (2 * length - count);
      for (std::int64_t j = 0; j < length && keys_ + j < roomOfKeys(); ++j)
        keySlots.host[keys_ + j] =
            tables.host[i * pages() + j / kPage] * kPage + std::int32_t(j % kPage);
      keys_ += length;
    }
    keyStarts.host[starts.device.size() - 1] = std::int32_t(keys_);
    if (keys_ > roomOfKeys())
      keys_ = 0;
  }
  /// Ends a sequence: its number and its pages are free.
  void end(int number) {
    sequences_.end(number);
    lengths.host[number] = 0;
  }
};

} // namespace decoder
