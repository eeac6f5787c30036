// A row in pieces of neighbours, which threads load once and keep, unless the row is too long for that.
#pragma once

#include "ops/row.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

namespace flydsl_ggml {

/// Elements of f32 that are loaded together.
inline constexpr int kWidest = 4;

/// How the threads of a block have a row: `kept` pieces each, of `width` neighbours; or, if that is 0, as
/// many as there are, which are loaded whenever they are needed.
struct RowForm {
  int threads, width, kept;
  std::string name() const {
    return "_" + std::to_string(width) + "x" + (kept ? std::to_string(kept) : "n");
  }
};
inline RowForm formOf(std::int64_t n, int width) {
  constexpr int least = 64, most = 1024;
  const std::int64_t pieces = ceilDiv(n, width);
  if (pieces <= 4 * least)
    return {static_cast<int>(std::max<std::int64_t>(1, ceilDiv(pieces, least))) * least, width, 1};
  for (const int kept : {1, 2, 4, 8})
    for (int threads = 4 * least; threads <= most; threads *= 2)
      if (pieces <= std::int64_t{threads} * kept)
        return {threads, width, kept};
  return {most, width, 0};
}

/// A piece of a thread.
struct Piece {
  fx::Int32 first;                   ///< the number of its first element
  std::optional<fx::Boolean> inside; ///< none: it is in the row
  std::size_t number;                ///< of the pieces that are kept
};
/// Values of all pieces of a thread.
using Kept = std::function<std::vector<fx::Numeric>(const Piece &)>;

inline std::vector<fx::Numeric> mapped(const std::vector<fx::Numeric> &values,
                                       const std::function<fx::Numeric(const fx::Numeric &)> &f) {
  std::vector<fx::Numeric> all;
  for (const fx::Numeric &value : values)
    all.push_back(f(value));
  return all;
}

class Pieces {
public:
  Pieces(Row &row, const RowForm &form, const fx::Int32 &n) : row_(row), form_(form), n_(n) {}

  /// What a function of the number of a piece's first element gives. It is called now for each piece that
  /// is kept, with the row's first element for one after the row.
  Kept keep(const std::function<std::vector<fx::Numeric>(const fx::Int32 &first)> &of) const {
    if (!form_.kept)
      return [of](const Piece &piece) { return of(piece.first); };
    std::vector<std::vector<fx::Numeric>> all;
    for (int i = 0; i < form_.kept; ++i) {
      const Piece one = piece(i);
      all.push_back(of(fx::Int32(fx::select(*one.inside, one.first, 0))));
    }
    return [all](const Piece &piece) { return all[piece.number]; };
  }
  /// A function of each value; computed once where pieces are kept.
  Kept map(const Kept &values, const std::function<fx::Numeric(const fx::Numeric &)> &f) const {
    const auto of = [values, f](const Piece &piece) { return mapped(values(piece), f); };
    if (!form_.kept)
      return of;
    std::vector<std::vector<fx::Numeric>> all;
    for (int i = 0; i < form_.kept; ++i)
      all.push_back(of(piece(i)));
    return [all](const Piece &piece) { return all[piece.number]; };
  }
  /// Calls a function with the pieces that are in the row.
  void each(const std::function<void(const Piece &)> &visit) const {
    visitAll([&](const Piece &piece) {
      if (piece.inside)
        fx::if_(*piece.inside, [&] { visit(piece); });
      else
        visit(piece);
    });
  }
  /// The sum over the row of a function of its values, in all threads.
  fx::Numeric sum(const Kept &values,
                  const std::function<fx::Numeric(const fx::Numeric &)> &f) const {
    return combined(values, f, 0.0f, fx::Reduction::add);
  }
  fx::Numeric largest(const Kept &values) const {
    return combined(
        values, [](const fx::Numeric &value) { return value; },
        -std::numeric_limits<float>::infinity(), fx::Reduction::max);
  }

private:
  Piece piece(int i) const {
    const fx::Int32 first = (row_.tid + i * form_.threads) * form_.width;
    return {first, first < n_, static_cast<std::size_t>(i)};
  }
  void visitAll(const std::function<void(const Piece &)> &visit) const {
    for (int i = 0; i < form_.kept; ++i)
      visit(piece(i));
    if (!form_.kept)
      for (fx::Int32 first :
           fx::range(fx::Int32(row_.tid * form_.width), n_, form_.threads * form_.width))
        visit({first, std::nullopt, 0});
  }
  fx::Numeric combined(const Kept &values, const std::function<fx::Numeric(const fx::Numeric &)> &f,
                       float none, fx::Reduction op) const {
    const auto join = [&](const fx::Numeric &a, const fx::Numeric &b) {
      return op == fx::Reduction::add ? fx::Numeric(a + b) : fx::Numeric(fx::max(a, b));
    };
    fx::Var<fx::Float32> total{fx::Float32(none)};
    visitAll([&](const Piece &piece) {
      std::vector<fx::Numeric> all = mapped(values(piece), f);
      while (all.size() > 1) {
        const std::size_t half = all.size() / 2;
        std::vector<fx::Numeric> halves;
        for (std::size_t v = 0; v < half; ++v)
          halves.push_back(join(all[v], all[v + half]));
        all.swap(halves);
      }
      total = join(total.get(),
                   piece.inside ? fx::select(*piece.inside, all[0], fx::Float32(none)) : all[0]);
    });
    return row_.reduce(total.get(), op);
  }

  Row &row_;
  RowForm form_;
  fx::Int32 n_;
};

/// One, two or four neighbours of a row.
inline void storeF32(const TracedOperand &y, const fx::Int64 &row, const fx::Int32 &first,
                     const std::vector<fx::Numeric> &values) {
  if (values.size() == 1)
    return storeF32(y, row, first, values[0]);
  const auto bytes = static_cast<int>(4 * values.size());
  fx::Pointer::from_address(row + first.to(fx::i64) * 4, fx::f32, fx::AddressSpace::global, bytes)
      .store(values.size() == 2 ? fx::Vector::of({values[0], values[1]}) : fourOf(values, 0));
}

} // namespace flydsl_ggml
