// Functions of other compilers, linked from LLVM bitcode.
#pragma once

#include <flydsl/tensor.h>

#include <string>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
/// Declares the function in the kernel's module and calls it; no handle where it returns nothing.
FLYDSL_API Handle callExtern(const std::string &symbol, const std::vector<std::string> &bitcode,
                             std::initializer_list<Handle> arguments, DType result, Loc loc);

template <class R> struct ExternResult {
  static constexpr DType type = R::type;
};
template <> struct ExternResult<void> {
  static constexpr DType type{};
};
} // namespace detail

template <class Signature> class ffi;

/// A device function by its symbol: parameters are scalars and fx::Pointer (a generic pointer on
/// the other side), the result is a scalar or nothing. Where its bitcode comes from, `link_extern`
/// says.
///
///   const auto scale = fx::link_extern(fx::ffi<fx::Float32(fx::Float32, fx::Int32)>("my_scale"),
///                                      "my_functions.bc");
///   ... y = scale(x, 3);     in a kernel
template <class R, class... Ps> class ffi<R(Ps...)> {
public:
  explicit ffi(std::string symbol) : symbol_(std::move(symbol)) {}

  /// Calls it. TraceError where an argument is not of its parameter's type.
  R operator()(const Ps &...arguments, Loc loc = Loc::current()) const {
    detail::Handle result = detail::callExtern(symbol_, bitcode_, {arguments.handle()...},
                                               detail::ExternResult<R>::type, loc);
    if constexpr (!std::is_void_v<R>)
      return R(std::move(result));
  }
  const std::string &symbol() const { return symbol_; }

private:
  template <class S> friend ffi<S> link_extern(ffi<S> function, const std::string &bitcode);
  std::string symbol_;
  std::vector<std::string> bitcode_;
};

/// The function, to be found in a file of LLVM bitcode for amdgcn. Kernels that call it link what
/// they need of the file when they are compiled; its content is part of their cache key.
template <class Signature>
ffi<Signature> link_extern(ffi<Signature> function, const std::string &bitcode) {
  function.bitcode_.push_back(bitcode);
  return function;
}

FLYDSL_NAMESPACE_END
