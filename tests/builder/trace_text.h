// Traces a lambda without launching it, and gives the IR as text.
#pragma once

#include <flydsl/flydsl.h>
#include <flydsl/host/args.h>

#include <array>
#include <string>
#include <tuple>
#include <vector>

namespace trace_test {

using flydsl::detail::ArgType;
using flydsl::detail::LeafType;

inline LeafType dyn(int width = 32, std::int64_t divisibility = 1) { return {divisibility, width}; }
inline LeafType fix(std::int64_t value) { return {value, 0}; }

inline ArgType tensorArg(flydsl::DType dtype, std::vector<LeafType> shape,
                         std::vector<LeafType> stride, std::uint32_t alignment = 1) {
  ArgType type;
  type.kind = ArgType::Kind::tensor;
  type.dtype = dtype;
  type.shape = std::move(shape);
  type.stride = std::move(stride);
  type.alignment = alignment;
  return type;
}
/// A row-major matrix of any size.
inline ArgType matrixArg(flydsl::DType dtype, std::uint32_t alignment = 1) {
  return tensorArg(dtype, {dyn(), dyn()}, {dyn(64), fix(1)}, alignment);
}
/// A dense vector of a static size.
inline ArgType arrayArg(flydsl::DType dtype, std::int64_t size) {
  return tensorArg(dtype, {fix(size)}, {fix(1)});
}
inline ArgType scalarArg(flydsl::DType dtype) {
  ArgType type;
  type.dtype = dtype;
  return type;
}
template <class V> ArgType staticArg(const V &value) {
  ArgType type;
  type.kind = ArgType::Kind::staticValue;
  type.staticArg = value.static_arg();
  return type;
}

/// The text of the traced module, verified, without (or with) locations.
std::string traceSpec(const flydsl::detail::KernelSpec &spec, const std::vector<ArgType> &types,
                      std::array<unsigned, 3> block, bool locations, const char *target = "gfx942");

template <class F> struct ParamsOf : ParamsOf<decltype(&F::operator())> {};
template <class C, class... Ps> struct ParamsOf<void (C::*)(Ps...) const> {
  template <class F> static void call(const F &body, flydsl::ParamReader &from) {
    std::tuple<Ps...> parameters{flydsl::ArgTraits<std::decay_t<Ps>>::make(from)...};
    std::apply(body, parameters);
  }
};

template <class F>
std::string traceText(F body, std::vector<ArgType> types = {}, bool locations = false,
                      std::array<unsigned, 3> block = {64, 1, 1}, flydsl::KernelHints hints = {},
                      const char *target = "gfx942") {
  flydsl::detail::KernelSpec spec{
      "k", [body](flydsl::ParamReader &from) { ParamsOf<F>::call(body, from); }, hints, {}};
  return traceSpec(spec, types, block, locations, target);
}

/// The first of `parts` that does not come, in order, in `text`; empty where all do.
std::string missing(const std::string &text, std::initializer_list<const char *> parts);
/// How often `part` comes in `text`.
int countOf(const std::string &text, const std::string &part);

} // namespace trace_test

/// The parts come in the text in this order.
#define CHECK_IR(text, ...)                                                                        \
  do {                                                                                             \
    INFO(text);                                                                                    \
    CHECK(trace_test::missing(text, {__VA_ARGS__}) == "");                                         \
  } while (0)
