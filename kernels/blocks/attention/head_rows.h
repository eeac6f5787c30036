// What the loops over a head's keys ask of the kernel that they are part of: the rows of its operands.
#pragma once

#include "blocks/attention/row_result.h"

#include <flydsl/flydsl.h>

#include <functional>
#include <memory>
#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The operands of a head in a sequence. Numbers of queries are those of the sequence.
class HeadRows {
public:
  virtual ~HeadRows() = default;
  /// The same rows by arguments of the kernel that are read again, for the results after a long loop: no
  /// register holds the arguments in between. Null if the rows come from no arguments.
  virtual std::unique_ptr<HeadRows> withArgumentsReadAgain() const { return nullptr; }
  virtual Tensor q(const Int32 &query) const = 0; // (head)
  /// Where the result of a query goes.
  virtual RowResult result(const Int32 &query) const = 0;
  /// Where the result of a query goes over a part of the keys.
  virtual RowResult resultOfPart(const Int32 &query, const Int32 &part) const = 0;
  /// The head's sink, times log2(e), if there is one.
  virtual std::optional<Numeric> sink() const = 0;
  /// The factor of the products, and the factor of the values, if they have one.
  virtual std::optional<Numeric> scoreDescale() const = 0;
  virtual std::optional<Numeric> valueDescale() const = 0;

  /// The factors of a token's key and of its value, if tokens have factors of their own.
  struct TokenScales {
    Numeric key, value;
  };
  virtual std::function<TokenScales(const Int32 &key)> tokenScales() const { return nullptr; }

  // What the rules of scores may ask for.
  /// ALiBi's slope.
  virtual Numeric slope() const = 0;
  /// The mask of a query: the bits of eight keys, by the number of the first of them over 8.
  virtual std::function<Numeric(const Int32 &)> mask(const Int32 &query) const = 0;
  /// The bias of a query. Keys past the last one are asked for too.
  virtual std::function<Numeric(const Int32 &)> bias(const Int32 &query) const = 0;
  /// ScoreTerms::stage of a query.
  virtual std::function<Numeric(const Numeric &, const Int32 &)>
  stage(const Int32 &query) const = 0;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
