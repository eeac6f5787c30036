// Where the keys and values of a sequence are in memory: side by side, or in pages of a cache.
#pragma once

#include <flydsl/flydsl.h>
#include <flydsl/kernels/kv_cache.h>

#include <functional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// How keys and values lie, as constants of the code.
struct KvLayout {
  KvCache cache = KvCache::none;
  int page = 0;   ///< tokens of a page
  int pack = 0;   ///< KvCache::packed: elements of a key that lie together
  int v_pack = 0; ///< KvCache::packed: tokens of which one element lies together
  int head_v = 0; ///< elements of a value
  int bytes = 2;  ///< of an element

  /// Whether neighbours in memory are elements of a value; otherwise they are tokens.
  bool valuesInRows() const { return cache != KvCache::packed; }
};

/// The numbers of a sequence and a head: of keys or of values, in elements.
struct KvStrides {
  Int64 start;            ///< address of the head in the first token, or in the first block
  Int64 block = Int64(0); ///< between blocks of a cache
  Int64 token;            ///< between tokens, of a page if there are pages; packed ones have none
};

/// A token's place.
struct KvPlace {
  Numeric block;  ///< of the cache, i64; without a cache, a token
  Numeric inside; ///< the token's number in the block, or behind that token
};

/// The keys and the values of a head in a sequence.
class KvSource {
public:
  /// `table`: the address of the sequence's numbers of blocks, in i32; unused without a cache.
  KvSource(const KvLayout &layout, const KvStrides &keys, const KvStrides &values,
           const Int64 &table)
      : layout_(layout), keys_(keys), values_(values), table_(table) {}

  const KvLayout &layout() const { return layout_; }

  /// The place of a token of the sequence, which there is. A cache's table is read for it.
  KvPlace place(const Int32 &token) const {
    if (layout_.cache == KvCache::none)
      return {token.to(i64), UInt32(0)};
    const Numeric number = token.to(u32);
    const Numeric page =
        Pointer::from_address(table_ + (number / UInt32(layout_.page)).to(u64).to(i64) * 4, i32)
            .load();
    return {page.to(i64), (number % UInt32(layout_.page)).to(u64).to(i64)};
  }
  /// The place of token first + inside, where `first` is the same for the block of threads. Without
  /// a cache, `inside` tokens span less than 2^32 bytes.
  KvPlace place(const Int32 &first, const Int32 &inside) const {
    if (layout_.cache == KvCache::none)
      return {first.to(i64), inside.to(u32)};
    return place(Int32(first + inside));
  }
  /// The address of an element of a token's key; those behind it follow, up to a multiple of 16
  /// bytes.
  Numeric key(const KvPlace &place, const Numeric &element) const {
    if (layout_.cache != KvCache::packed)
      return inRow(keys_, place, element);
    const int x = layout_.pack;
    const Numeric at = element.to(i64);
    return address(keys_, place,
                   at / x * (std::int64_t(layout_.page) * x) + place.inside * x + at % x);
  }
  /// The address of an element of a token's value. Those behind it follow if valuesInRows();
  /// otherwise the same element of the tokens behind it follows, up to a multiple of v_pack.
  Numeric value(const KvPlace &place, const Numeric &element) const {
    if (layout_.valuesInRows())
      return inRow(values_, place, element);
    const int y = layout_.v_pack;
    return address(values_, place,
                   place.inside / y * (std::int64_t(y) * layout_.head_v) + element.to(i64) * y +
                       place.inside % y);
  }

private:
  Numeric inRow(const KvStrides &strides, const KvPlace &place, const Numeric &element) const {
    // What is the same for all threads stands first, so that the scalar unit adds it.
    if (layout_.cache != KvCache::none)
      return address(strides, place, place.inside * strides.token) +
             (element.to(u32) * UInt32(layout_.bytes)).to(u64).to(i64);
    const Numeric offset =
        (place.inside * strides.token.to(u32) + element.to(u32)) * UInt32(layout_.bytes);
    return strides.start + place.block * strides.token * layout_.bytes + offset.to(u64).to(i64);
  }
  Numeric address(const KvStrides &strides, const KvPlace &place, const Numeric &inside) const {
    return strides.start + (place.block * strides.block + inside) * layout_.bytes;
  }

  KvLayout layout_;
  KvStrides keys_, values_;
  Int64 table_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
