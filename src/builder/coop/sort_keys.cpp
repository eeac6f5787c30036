#include "builder/coop/sort_keys.h"

#include <flydsl/error.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

DType keyBits(DType key) {
  switch (key.bits()) {
  case 8:
    return u8;
  case 16:
    return u16;
  case 32:
    return u32;
  default:
    return u64;
  }
}

ValueType keyWithValue(DType key, const std::optional<ValueType> &value) {
  std::vector<DType> fields{keyBits(key)};
  if (value)
    fields.insert(fields.end(), value->fields().begin(), value->fields().end());
  return fields;
}

void expectSortable(const char *what, DType key, Loc loc) {
  const bool isWide = key.bits() >= 8;
  const bool ok = key.is_integer() ? isWide : key == f16 || key == bf16 || key == f32 || key == f64;
  if (!ok)
    throw TraceError(std::string(what) + " of keys of type " + std::string(key.name()) +
                         ": keys are integers of 8 to 64 bits, f16, bf16, f32 or f64",
                     loc);
}

void expectPayload(const char *what, const std::optional<ValueType> &type, const Items *values,
                   std::size_t keys, Loc loc) {
  const std::string name = what;
  if (!type && values)
    throw TraceError(name + " is made for keys alone and is given values: it takes their type "
                            "after the keys'",
                     loc);
  if (type && !values)
    throw TraceError(name + " is made for keys with values of type " + type->str() +
                         " and is given none: .pairs takes both",
                     loc);
  if (!values)
    return;
  if (values->size() != keys)
    throw TraceError(name + " of " + std::to_string(keys) + " keys per thread is given " +
                         std::to_string(values->size()) + " values: each key has one",
                     loc);
  if (const ValueType given(typesOf(what, *values, loc)); given != *type)
    throw TraceError(name + " for values of type " + type->str() + " is given values of type " +
                         given.str(),
                     loc);
}

static Expr signBit(DType bits, Loc loc) {
  return Expr(bits, std::uint64_t(1) << (bits.bits() - 1), loc);
}
static Expr allBits(DType bits, Loc loc) {
  return Expr(bits, ~std::uint64_t(0) >> (64 - bits.bits()), loc);
}

// Two's complement is in order when the sign is turned over. Floats are magnitudes with a sign: of
// negative ones all bits are turned over, of positive ones the sign.
Expr ordered(const Expr &key, bool descending) {
  const DType type = key.type(), unsignedType = keyBits(type);
  Expr bits = key.bitcast(unsignedType);
  const Expr sign = signBit(unsignedType, key.loc), all = allBits(unsignedType, key.loc);
  if (type.is_float())
    bits = bits ^ select((bits & sign) != 0, all, sign);
  else if (type.is_signed())
    bits = bits ^ sign;
  return descending ? bits ^ all : bits;
}

Expr fromOrdered(const Expr &number, DType key, bool descending) {
  const DType unsignedType = number.type();
  const Expr sign = signBit(unsignedType, number.loc), all = allBits(unsignedType, number.loc);
  Expr bits = descending ? number ^ all : number;
  if (key.is_float())
    bits = bits ^ select((bits & sign) != 0, sign, all);
  else if (key.is_signed())
    bits = bits ^ sign;
  return bits.bitcast(key);
}

} // namespace coop::impl
FLYDSL_NAMESPACE_END
