// Whether the operands of a call are inside of the memory that the driver has at their addresses:
// PlanOptions::check_memory.
#pragma once

#include <flydsl/detail/fields.h>
#include <flydsl/kernels/ggml.h>
#include <flydsl/kernels/weight.h>

#include <concepts>
#include <optional>
#include <source_location>
#include <string_view>
#include <type_traits>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Throws TraceError if an operand of a family reaches past its allocation. What has no elements, is
/// null or has a negative stride is left to the family's own checks.
void expectInMemory(std::string_view family, std::string_view name, const TensorArg &tensor,
                    const std::source_location &where);
inline void expectInMemory(std::string_view family, std::string_view name, const WeightArg &weight,
                           const std::source_location &where) {
  expectInMemory(family, name, weight.tensor(), where);
}
inline void expectInMemory(std::string_view family, std::string_view name,
                           const PreparedWeight &weight, const std::source_location &where) {
  expectInMemory(family, name, weight.memory, where);
}
inline void expectInMemory(std::string_view family, std::string_view name, const GgmlTensor &weight,
                           const std::source_location &where) {
  expectInMemory(family, name, weight.bytes, where);
}
template <class T>
void expectInMemory(std::string_view family, std::string_view name, const std::optional<T> &operand,
                    const std::source_location &where) {
  if (operand)
    expectInMemory(family, name, *operand, where);
}

/// The same of each field of a family's Args, which are operands and numbers.
template <class Args>
void checkMemory(std::string_view family, const Args &args, const std::source_location &where) {
  detail::eachField(args, [&]<class Field>(std::string_view name, const Field &field) {
    if constexpr (!std::is_arithmetic_v<Field>)
      expectInMemory(family, name, field, where);
  });
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
