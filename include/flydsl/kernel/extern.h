// Functions that other compilers compiled, linked from LLVM bitcode.
#pragma once

#include <flydsl/kernel/tensor.h>

#include <string>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
/// Declares the function in the kernel's module and calls it. Returns an empty handle if the
/// function returns nothing.
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

/// A device function, named by its symbol. Its parameters are scalars and fx::Pointers (a generic
/// pointer in the other language); its result is a scalar or nothing. `link_extern` names the file
/// with its bitcode.
///
///   const auto scale = fx::link_extern(fx::ffi<fx::Float32(fx::Float32, fx::Int32)>("my_scale"),
///                                      "my_functions.bc");
///   ... y = scale(x, 3);     in a kernel
template <class R, class... Ps> class ffi<R(Ps...)> {
public:
  explicit ffi(std::string symbol) : symbol_(std::move(symbol)) {}

  /// Calls the function. Throws TraceError if an argument does not have its parameter's type.
  R operator()(const Ps &...arguments, Loc loc = Loc::current()) const {
    detail::Handle result = detail::callExtern(symbol_, bitcode_, {arguments.handle()...},
                                               detail::ExternResult<R>::type, loc);
    if constexpr (!std::is_void_v<R>)
      return R(std::move(result));
  }
  /// The name by which the function is linked.
  const std::string &symbol() const { return symbol_; }

private:
  template <class S> friend ffi<S> link_extern(ffi<S> function, const std::string &bitcode);
  std::string symbol_;
  std::vector<std::string> bitcode_;
};

/// The function, to be found in a file of LLVM bitcode for amdgcn. A kernel that calls it links
/// what it needs of the file when it is compiled; the content of the file is part of the kernel's
/// cache key.
template <class Signature>
ffi<Signature> link_extern(ffi<Signature> function, const std::string &bitcode) {
  function.bitcode_.push_back(bitcode);
  return function;
}

FLYDSL_NAMESPACE_END
