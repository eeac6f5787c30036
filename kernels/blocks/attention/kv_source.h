// The keys and values of a head: tokens one after another, or pages of a cache, whose numbers a table lists for
// each sequence.
//
// Keys and values are tensors (pages, tokens of a page, elements), whatever their order in memory: a packed
// cache has several elements of a key, and several tokens of a value, side by side, so that these modes have
// two strides. Without a cache there are no pages. So that the code is the same, both of the first modes are
// then the tokens of the sequence, with one stride (`tokensTwice`), and place (a, b) is token a + b. The kernel
// puts the tile's first token, which all threads have in common, into a, and a thread's row into b.
#pragma once

#include "blocks/attention/csr_pages.h"
#include "blocks/attention/head_rules.h"
#include "blocks/common/near_bytes.h"
#include "blocks/products/views.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/wave_memory.h>
#include <flydsl/kernels/kv_cache.h>

#include <functional>
#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// How keys and values lie, as constants of the code.
struct KvLayout {
  KvCache cache = KvCache::none;
  int tokensOfPage = 0;
  int pack = 0;   ///< KvCache::packed: elements of a key that lie together
  int v_pack = 0; ///< KvCache::packed: tokens whose values of one element lie together
  int heads = 1, head = 0, head_v = 0;
  DType type = f16;
  int align = 0; ///< bytes that divide all addresses and strides; 0: those of an element

  /// Whether neighbours in memory are elements of a value; otherwise they are tokens.
  bool valuesInRows() const { return cache != KvCache::packed; }
};

/// The layout that a problem of attention or decoding has, whose values have `headV` elements.
template <class P> KvLayout kvLayoutOf(const P &problem, int headV, int align) {
  return {.cache = problem.cache,
          .tokensOfPage = problem.page,
          .pack = problem.pack,
          .v_pack = vPackOf(problem),
          .heads = problem.kv_heads,
          .head = problem.head,
          .head_v = headV,
          .type = problem.kv,
          .align = align};
}

/// The extent of the pages of a cache: no kernel knows how many there are, and none asks.
inline constexpr int kAnyPages = 1 << 30;

/// Tells the compiler what the host has checked of the strides of k or v: `count` neighbouring tokens
/// span less than kNearBytes. A kernel calls it before all else, where the strides are.
inline void assumeNearTokens(const Strided<OnDevice, 3> &of, DType type, int count) {
  const Int64 &tokens = of.stride[1];
  assume(Boolean((tokens >= 0) & (tokens <= kNearBytes / (count * type.bytes()))));
}

/// The strides of a packed cache, whose other modes are compact.
inline Strided<OnDevice, 2> packedStrides(const Strided<OnDevice, 3> &of) {
  return {.address = of.address, .stride = {of.stride[0], of.stride[2]}};
}
/// The keys of a head of a cache, at the strides of pages, tokens and heads; a packed cache has no
/// stride of tokens.
inline Tensor keysOfHead(const KvLayout &layout, const Strided<OnDevice, 3> &k, const Int32 &head) {
  const int page = layout.tokensOfPage, x = layout.pack;
  if (layout.cache == KvCache::pages)
    return k.view(layout.type, {kAnyPages, page, layout.heads, layout.head},
                  layout.align)(_, _, head, _); // (pages, page, head)
  const Tensor packs =
      packedStrides(k).view(layout.type, {kAnyPages, layout.heads, layout.head / x, page, x},
                            layout.align)(_, head, _, _, _); // (pages, head / pack, page, pack)
  return make_view(packs.iter(), group(select(packs.layout(), {0, 2, 3, 1}), 2,
                                       4)); // (pages, page, (pack, head / pack))
}
/// The values of a head of a cache, at such strides.
inline Tensor valuesOfHead(const KvLayout &layout, const Strided<OnDevice, 3> &v,
                           const Int32 &head) {
  const int page = layout.tokensOfPage, y = layout.v_pack;
  if (layout.cache == KvCache::pages)
    return v.view(layout.type, {kAnyPages, page, layout.heads, layout.head_v},
                  layout.align)(_, _, head, _); // (pages, page, head_v)
  const Tensor packs = packedStrides(v).view(
      layout.type, {kAnyPages, layout.heads, page / y, layout.head_v, y},
      layout.align)(_, head, _, _, _); // (pages, page / v_pack, head_v, v_pack)
  return make_view(packs.iter(), group(select(packs.layout(), {0, 3, 1, 2}), 1,
                                       3)); // (pages, (v_pack, page / v_pack), head_v)
}
/// Without a cache: the tokens of a sequence and a head, (tokens, elements), with the mode of tokens twice.
inline Tensor tokensTwice(const Tensor &rows) {
  const Layout layout = rows.layout();
  return make_view(rows.iter(), select(layout, {0, 0, 1})); // (tokens, tokens, elements)
}

/// The numbers of the pages of a sequence.
inline Tensor pagesOf(const CsrPages<OnDevice> &p, const Int64 &sequences, const Int32 &sequence) {
  const Int32 first(
      gpu::uniform_load(p.starts.view(i32, sequences + 1), sequence)); // (sequences + 1)
  const Tensor all = p.pages.view(i32, kAnyPages);                     // (pages of all sequences)
  return make_view(all.iter() + first, all.layout());                  // (pages)
}
/// The tokens of a sequence. All its pages but the last are full.
inline Int32 tokensOf(const CsrPages<OnDevice> &p, int page, const Int64 &sequences,
                      const Int32 &sequence) {
  const Tensor starts = p.starts.view(i32, sequences + 1); // (sequences + 1)
  const Int32 pages(gpu::uniform_load(starts, sequence + 1) - gpu::uniform_load(starts, sequence)),
      last(gpu::uniform_load(p.lengths.view(i32, sequences), sequence)); // (sequences)
  return max((pages - 1) * page + last, 0);
}

/// A token's coordinates in keys and values: its page, and the token in the page.
struct KvPlace {
  Int32 page, token;
};

/// The rows of a tile of keys or values, (elements) each, by their number in the tile.
using KvRows = std::function<Tensor(const Int32 &row)>;

/// The keys and the values of a head in a sequence.
class KvSource {
public:
  /// `keys` and `values`: (pages, tokens of a page, elements). `table`: with a cache, the numbers of the
  /// sequence's pages, (pages).
  KvSource(const KvLayout &layout, const Tensor &keys, const Tensor &values,
           const std::optional<Tensor> &table = {})
      : layout_(layout), keys_(keys), values_(values), table_(table) {}

  const KvLayout &layout() const { return layout_; }

  /// The place of a token that the sequence has. A cache's table is read for it.
  KvPlace place(const Int32 &token) const {
    if (!table_)
      return {token, Int32(0)};
    const UInt32 number(token.to(u32)), ofPage(layout_.tokensOfPage);
    const Int32 page((*table_)(Int32((number / ofPage).to(i32))));
    assume(page >= 0); // as the host has checked, or the caller has promised
    return {page, Int32((number % ofPage).to(i32))};
  }
  /// The place of token first + row, where `first` is the same for all threads.
  KvPlace place(const Int32 &first, const Int32 &row) const {
    if (!table_)
      return {first, row};
    return place(Int32(first + row));
  }
  /// The tile of `size` keys from token `first` on; rows after row `last` do not exist. Without a
  /// cache it is a buffer, as tiles of products are: rows past the last one read as zeros. In a cache
  /// each row has a place of its own, and rows past the last one are the last one again.
  KvRows keysFrom(const Int32 &first, const Int32 &last, int size) const {
    return rowsFrom(keys_, first, last, size);
  }
  /// The tile of values, likewise.
  KvRows valuesFrom(const Int32 &first, const Int32 &last, int size) const {
    return rowsFrom(values_, first, last, size);
  }
  Tensor key(const KvPlace &at) const { return keys_(at.page, at.token, _); }     // (head)
  Tensor value(const KvPlace &at) const { return values_(at.page, at.token, _); } // (head_v)
  /// An element of the values of all tokens of a page.
  Tensor tokens(const Int32 &page, const Int32 &element) const {
    return values_(page, _, element); // (page)
  }

private:
  KvRows rowsFrom(const Tensor &all, const Int32 &first, const Int32 &last, int size) const {
    if (table_)
      return [this, all, first, last](const Int32 &row) {
        const KvPlace at = place(Int32(first + min(row, last)));
        return all(at.page, at.token, _); // (elements)
      };
    const Tensor rows = all(first, _, _); // (tokens, elements)
    const int elements = static_cast<int>(flydsl::size(rows, 1).value());
    const Tensor tile = bufferOf(tileFrom(rows, {0, 0}, {size, elements}),
                                 {min(last, size - 1) + 1, elements}); // (size, elements)
    return [tile](const Int32 &row) { return tile(row, _); };          // (elements)
  }

  KvLayout layout_;
  Tensor keys_, values_;        // (pages, tokens of a page, elements)
  std::optional<Tensor> table_; // (pages)
};

/// Piece `number` of a row: of pieces of `size` neighbours.
inline Tensor pieceOf(const Tensor &row, const Int32 &number, int size) {
  return logical_divide(row, size)(_, number); // (size)
}
/// Piece `number` of a row, or zeros past its last piece; nothing past the row is read.
inline Vector pieceOrZeros(const Tensor &row, const Int32 &number, int size) {
  const int pieces = static_cast<int>(flydsl::size(row).value()) / size;
  const Vector piece = pieceOf(row, min(number, pieces - 1), size).load(),
               words = piece.bitcast(i32);
  const Tensor kept = make_rmem_tensor(IntTuple(static_cast<int>(words.size())), i32); // (words)
  for (int i = 0; i < words.size(); ++i)
    kept(i) = select(number < pieces, words.at(i), 0);
  return kept.load().bitcast(row.dtype());
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
