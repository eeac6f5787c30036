// A paged cache of keys and values in device memory, filled from sequences on the host. Blocks are
// in random order, and whatever no token has is NaN.
#pragma once

#include "support/operand.h"

#include <flydsl/kernels/kv_cache.h>

namespace kernel_tests {

namespace fk = flydsl::kernels;

/// How a cache is made.
struct CacheShape {
  fk::KvCache layout = fk::KvCache::pages;
  fx::DType dtype = fx::bf16;
  std::int64_t page = 16, heads = 1, head = 64, pack = 8, vPack = 8;
};

/// Keys or values of sequences, [sequence][token][head][element], one after another.
using SequenceValues = std::vector<std::vector<double>>;

/// The pages of sequences one after another, of tables that have their blocks in `columns` columns: the
/// arguments kv_indptr, kv_indices and kv_last_page_len.
struct CsrOperands {
  Operand indptr, indices, lastLengths;

  CsrOperands(const std::vector<std::vector<double>> &blocks, const std::vector<double> &lengths,
              std::int64_t page)
      : CsrOperands(Numbers(blocks, lengths, page)) {}

private:
  struct Numbers {
    std::vector<double> starts{0}, pages, last;
    Numbers(const std::vector<std::vector<double>> &blocks, const std::vector<double> &lengths,
            std::int64_t page) {
      for (std::size_t s = 0; s < lengths.size(); ++s) {
        const auto count = std::int64_t(lengths[s] + double(page) - 1) / page;
        pages.insert(pages.end(), blocks[s].begin(), blocks[s].begin() + count);
        starts.push_back(double(pages.size()));
        last.push_back(lengths[s] - double(std::max<std::int64_t>(0, count - 1) * page));
      }
    }
  };
  explicit CsrOperands(const Numbers &numbers)
      : indptr(of(numbers.starts)), indices(of(numbers.pages)), lastLengths(of(numbers.last)) {}
  static Operand of(const std::vector<double> &numbers) {
    return Operand::input(fx::i32, 1, std::ssize(numbers), numbers);
  }
};

/// The blocks of sequences.
struct BlockTables {
  std::int64_t page, columns = 1, blocks;
  std::vector<std::vector<int>> ofSequence;

  BlockTables(const std::vector<int> &lengths, std::int64_t page) : page(page) {
    std::int64_t count = 0;
    for (int length : lengths)
      count += (length + page - 1) / page;
    blocks = count + 2; // two that nobody has
    const std::vector<double> order = shuffled(blocks, 77);
    std::size_t next = 0;
    for (int length : lengths) {
      ofSequence.emplace_back();
      for (std::int64_t i = 0; i * page < length; ++i)
        ofSequence.back().push_back(int(order[next++]));
      columns = std::max(columns, std::ssize(ofSequence.back()));
    }
  }
  /// The tables as an operand; columns that no sequence has are far outside of the cache.
  Operand operand() const {
    std::vector<double> numbers;
    for (const std::vector<int> &row : ofSequence)
      for (std::int64_t i = 0; i < columns; ++i)
        numbers.push_back(i < std::ssize(row) ? row[std::size_t(i)] : 0x40000000);
    return Operand::input(fx::i32, std::ssize(ofSequence), columns, numbers, 3);
  }
  std::int64_t block(std::size_t sequence, std::int64_t token) const {
    return ofSequence[sequence][std::size_t(token / page)];
  }
};

/// One of the two halves of a cache, keys or values, with gaps between the heads.
class PagedCache {
public:
  PagedCache(const CacheShape &shape, const BlockTables &tables, const SequenceValues &values,
             bool keys)
      : shape_(shape), blocks_(tables.blocks), operand_(make(tables, values, keys)) {}

  fx::TensorArg tensor(bool keys) const {
    const CacheShape &s = shape_;
    const std::int64_t row = operand_.tensor().strides()[0];
    void *data = operand_.tensor().data();
    if (s.layout == fk::KvCache::pages)
      return fx::tensor(data, s.dtype, {blocks_, s.page, s.heads, s.head},
                        {s.page * s.heads * row, s.heads * row, row, 1});
    if (keys)
      return fx::tensor(data, s.dtype, {blocks_, s.heads, s.head / s.pack, s.page, s.pack},
                        {s.heads * row, row, s.page * s.pack, s.pack, 1});
    return fx::tensor(data, s.dtype, {blocks_, s.heads, s.page / s.vPack, s.head, s.vPack},
                      {s.heads * row, row, s.head * s.vPack, s.vPack, 1});
  }

private:
  Operand make(const BlockTables &tables, const SequenceValues &values, bool keys) const {
    const CacheShape &s = shape_;
    const bool packed = s.layout == fk::KvCache::packed;
    const std::int64_t rows = blocks_ * s.heads * (packed ? 1 : s.page),
                       columns = packed ? s.page * s.head : s.head;
    std::vector<double> all(std::size_t(rows * columns), std::nan(""));
    for (std::size_t sequence = 0; sequence < values.size(); ++sequence) {
      const std::int64_t tokens = std::ssize(values[sequence]) / (s.heads * s.head);
      for (std::int64_t t = 0; t < tokens; ++t)
        for (std::int64_t h = 0; h < s.heads; ++h)
          for (std::int64_t e = 0; e < s.head; ++e) {
            const std::int64_t block = tables.block(sequence, t), in = t % s.page;
            const std::int64_t at =
                !packed ? ((block * s.page + in) * s.heads + h) * s.head + e
                : keys  ? (block * s.heads + h) * columns + e / s.pack * s.page * s.pack +
                             in * s.pack + e % s.pack
                       : (block * s.heads + h) * columns + in / s.vPack * s.head * s.vPack +
                             e * s.vPack + in % s.vPack;
            all[std::size_t(at)] = values[sequence][std::size_t((t * s.heads + h) * s.head + e)];
          }
    }
    return Operand::input(s.dtype, rows, columns, all, 16);
  }

  CacheShape shape_;
  std::int64_t blocks_;
  Operand operand_;
};

} // namespace kernel_tests
