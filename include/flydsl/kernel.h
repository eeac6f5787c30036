// Kernels: a kernel is a name and a lambda over traced values. If the signature of a call's
// arguments is new, the call traces, compiles and loads the kernel; then it launches it.
#pragma once

#include <flydsl/constexpr.h>
#include <flydsl/detail/kernel_spec.h>
#include <flydsl/host/executable.h>
#include <flydsl/host/launch.h>
#include <flydsl/params.h>

#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN

/// Options of `compile`.
struct CompileConfig {
  Dim3 block = 0;        ///< the workgroup size of the launches; 0: that of the hint, otherwise any
  std::string arch = {}; ///< target such as "gfx950"; empty: that of ARCH or of the current device
  /// Loads the code on the current device as well, so that the first launch there does not. It is a
  /// RuntimeError if there is no device, or the code is for another target.
  bool load = false;
};

/// Options of `export_aot`.
struct AotConfig {
  Dim3 block = 0; ///< the workgroup size of the launches; 0: that of the hint, otherwise any
  std::vector<std::string> archs =
      {}; ///< targets to compile for; empty: that of ARCH or of the current device
  std::string header =
      {}; ///< path of a C header to write, with the same bytes as an array; empty: none
  bool append = false; ///< adds to the kernels of the file instead of replacing them
  /// The name of this variant of the kernel. One file may hold a kernel for many configurations;
  /// `AotModule::kernel(name, variant)` picks one. Empty: the values of the Constexpr parameters,
  /// as fx::variant_name writes them.
  std::string variant = {};
};

/// True if COMPILE_ONLY=1 is set: launches then compile, but do not launch.
FLYDSL_API bool compile_only();

namespace detail {

class KernelState;     // the spec, and the table from signatures to executables
class BoundExecutable; // an executable with its signature, loaded on first use per device

FLYDSL_API std::shared_ptr<KernelState> makeKernel(KernelSpec spec);
/// Launches the code for the signature in `pack`; traces and compiles it first if the signature is
/// new.
FLYDSL_API void launch(KernelState &kernel, ArgPack &pack, const LaunchConfig &config,
                       const std::source_location &where);
FLYDSL_API Executable compile(KernelState &kernel, ArgPack &pack, const CompileConfig &config,
                              const std::source_location &where);
FLYDSL_API void exportAot(KernelState &kernel, ArgPack &pack, const std::string &path,
                          const AotConfig &config, const std::source_location &where);
FLYDSL_API std::shared_ptr<BoundExecutable> bindSignature(const Executable &executable,
                                                          const ArgPack &pack);
/// The same for `bindConstants`: `starts` tells where the words of each parameter begin.
FLYDSL_API std::shared_ptr<BoundExecutable> bindSignature(const Executable &executable,
                                                          const ArgPack &pack,
                                                          std::span<const std::uint16_t> starts);
/// The same executable with the parameters that are kept, as a mask has them in order.
FLYDSL_API std::shared_ptr<BoundExecutable> bindConstants(const BoundExecutable &executable,
                                                          std::span<const bool> kept);
/// Launches the executable. Throws if `pack` does not have its signature.
FLYDSL_API void launchBound(BoundExecutable &executable, ArgPack &pack, const LaunchConfig &config,
                            const std::source_location &where);

template <class R, class... Ps> struct SignatureOfCall {
  static_assert(std::is_void_v<R>, "a kernel returns nothing");
  using type = void(std::decay_t<Ps>...);
};
template <class R, class... Ps> struct SignatureOfChange {
  static_assert(!sizeof(R *),
                "a kernel's lambda is not mutable: it runs once for each new signature, on any "
                "thread, and what it changed would be lost or shared; fx::Var holds what changes "
                "in the kernel");
  using type = void(std::decay_t<Ps>...);
};

/// The signature of a kernel's body. A body of several signatures, such as a lambda with an `auto`
/// parameter, has none.
template <class F> struct SignatureOf {
  static_assert(!sizeof(F *),
                "a kernel's body is a function or a lambda that names the type of each parameter: "
                "not auto, but fx::Tensor, fx::Int32, fx::Constexpr<int>, ...");
  using type = void();
};
template <class F>
  requires requires { &F::operator(); }
struct SignatureOf<F> : SignatureOf<decltype(&F::operator())> {};
template <class R, class C, class... Ps>
struct SignatureOf<R (C::*)(Ps...) const> : SignatureOfCall<R, Ps...> {};
template <class R, class C, class... Ps>
struct SignatureOf<R (C::*)(Ps...) const noexcept> : SignatureOfCall<R, Ps...> {};
template <class R, class C, class... Ps>
struct SignatureOf<R (C::*)(Ps...)> : SignatureOfChange<R, Ps...> {};
template <class R, class C, class... Ps>
struct SignatureOf<R (C::*)(Ps...) noexcept> : SignatureOfChange<R, Ps...> {};
template <class R, class... Ps> struct SignatureOf<R (*)(Ps...)> : SignatureOfCall<R, Ps...> {};
template <class R, class... Ps>
struct SignatureOf<R (*)(Ps...) noexcept> : SignatureOfCall<R, Ps...> {};

/// A signature without its constants: void(Tensor, Int32) of void(Tensor, Constexpr<int>, Int32).
template <class Left, class... Ps> struct WithoutConstants;
template <class... Left> struct WithoutConstants<void(Left...)> {
  using type = void(Left...);
};
template <class... Left, class P, class... Ps>
struct WithoutConstants<void(Left...), P, Ps...>
    : std::conditional_t<IsConstantParam<P>::value, WithoutConstants<void(Left...), Ps...>,
                         WithoutConstants<void(Left..., P), Ps...>> {};

/// Whether a call may be written in braces: some parameter is a struct that both sides share.
template <class... Ps> inline constexpr bool takesBraces = (... || HasBothSides<Ps>::value);

template <class... Ps, class... As>
[[gnu::always_inline]] inline void packAll(ArgPack &pack, const As &...arguments) {
  static_assert(sizeof...(Ps) <= ArgPack::maxParameters, "a kernel has so many parameters at most");
  (..., (pack.beginParameter(), ArgTraits<Ps>::pack(pack, arguments)));
}

} // namespace detail

template <class Signature> class CompiledKernel;
template <class Signature> class Kernel;

/// A kernel compiled for one signature. A launch of it needs no look-up. `bound()` is the same kernel
/// without its constants: they are part of the code, and a call does not pass them again.
template <class... Ps> class CompiledKernel<void(Ps...)> : public Executable {
public:
  CompiledKernel(Executable executable, std::shared_ptr<detail::BoundExecutable> bound)
      : Executable(std::move(executable)), bound_(std::move(bound)) {}
  // Copies share the code; a move is a copy, so that every object has code.
  CompiledKernel(const CompiledKernel &) = default;
  CompiledKernel &operator=(const CompiledKernel &) = default;
  /// The kernel with its arguments.
  class [[nodiscard]] Call {
  public:
    /// Throws TraceError if the types of the arguments, or the block, are not those that the kernel
    /// was compiled for; RuntimeError if HIP refuses.
    void launch(const LaunchConfig &config,
                const std::source_location &where = std::source_location::current()) && {
      detail::launchBound(bound_, pack_, config, where);
    }

  private:
    friend class CompiledKernel;
    template <class... As>
    Call(detail::BoundExecutable &bound, const As &...arguments) : bound_(bound) {
      detail::packAll<Ps...>(pack_, arguments...);
    }
    detail::BoundExecutable &bound_;
    detail::ArgPack pack_;
  };

  /// Binds arguments; nothing else happens until `.launch(...)`.
  template <class... As> Call operator()(const As &...arguments) const {
    static_assert(sizeof...(As) == sizeof...(Ps), "as many arguments as the kernel has parameters");
    return Call(*bound_, arguments...);
  }
  /// The same with structs of arguments in braces: `kernel({.x = x, .y = y})`.
  Call operator()(const typename detail::HostParam<Ps>::type &...arguments) const
    requires detail::takesBraces<Ps...>
  {
    return Call(*bound_, arguments...);
  }
  /// The kernel whose calls take its run-time parameters alone: without Constexpr parameters,
  /// static values such as a TiledCopy, and arrays of these. A struct of parameters stays whole; a
  /// constant among its fields is given with the others, and has the value of the compile.
  ///
  ///   auto compiled = scale(x, fx::Constexpr(4)).compile();   // (Tensor, Constexpr<int>)
  ///   auto bound = compiled.bound();                          // (Tensor)
  ///   bound(x).launch({.grid = 8, .block = 64});
  CompiledKernel<typename detail::WithoutConstants<void(), Ps...>::type> bound() const {
    if constexpr ((... || detail::IsConstantParam<Ps>::value)) {
      static constexpr bool kept[] = {!detail::IsConstantParam<Ps>::value...};
      return {*this, detail::bindConstants(*bound_, kept)};
    } else {
      return *this;
    }
  }

private:
  std::shared_ptr<detail::BoundExecutable> bound_;
};

/// A kernel. Make it once and call it from any thread; a global constant is fine, because nothing
/// happens before its first call. Copies share what was compiled. Host values that the lambda
/// captures are constants of the trace. A signature is traced once, so a later change of a captured
/// value has no effect; use a `Constexpr` parameter for a value that changes.
template <class... Ps> class Kernel<void(Ps...)> {
public:
  template <class F>
  Kernel(std::string name, F body, KernelHints hints = {},
         std::source_location where = std::source_location::current())
      : state_(detail::makeKernel({std::move(name),
                                   [body = std::move(body)](ParamReader &from) {
                                     std::tuple<Ps...> parameters{ArgTraits<Ps>::make(from)...};
                                     std::apply(body, parameters);
                                   },
                                   hints, where})) {}
  // A move is a copy, so that every object has a kernel.
  Kernel(const Kernel &) = default;
  Kernel &operator=(const Kernel &) = default;
  /// The kernel with its arguments.
  class [[nodiscard]] Call {
  public:
    /// Launches the kernel. Throws TraceError for invalid arguments or dimensions and for mistakes
    /// in the body, CompileError if compiling fails, and RuntimeError if HIP refuses. With
    /// COMPILE_ONLY=1 in the environment it compiles, but does not launch.
    void launch(const LaunchConfig &config,
                const std::source_location &where = std::source_location::current()) && {
      detail::launch(state_, pack_, config, where);
    }
    /// Compiles for the types of this call. No device is needed if a target is named. A launch of
    /// the kernel object itself for the same types, block and target then neither traces nor
    /// compiles.
    CompiledKernel<void(Ps...)>
    compile(const CompileConfig &config = {},
            const std::source_location &where = std::source_location::current()) && {
      Executable executable = detail::compile(state_, pack_, config, where);
      return {executable, detail::bindSignature(executable, pack_, pack_.parameterStarts())};
    }
    /// Compiles for the types of this call and for each target, and writes a file that `load_aot`
    /// reads; the file appears by one rename. A call of the loaded kernel takes the tensors and
    /// numbers of this call; static values and constants are part of the code. With `.append`, code
    /// replaces that of the same kernel, variant, target, block and types of tensors and numbers;
    /// it is a RuntimeError if that was made for other constants.
    void export_aot(const std::string &path, const AotConfig &config = {},
                    const std::source_location &where = std::source_location::current()) && {
      detail::exportAot(state_, pack_, path, config, where);
    }

  private:
    friend class Kernel;
    template <class... As>
    Call(detail::KernelState &state, const As &...arguments) : state_(state) {
      detail::packAll<Ps...>(pack_, arguments...);
    }
    detail::KernelState &state_;
    detail::ArgPack pack_;
  };

  /// Binds arguments; nothing else happens until `.launch(...)`, `.compile(...)` or
  /// `.export_aot(...)` in the same expression.
  template <class... As> Call operator()(const As &...arguments) const {
    static_assert(sizeof...(As) == sizeof...(Ps), "as many arguments as the kernel has parameters");
    return Call(*state_, arguments...);
  }
  /// The same with structs of arguments in braces: `kernel({.x = x, .y = y})`.
  Call operator()(const typename detail::HostParam<Ps>::type &...arguments) const
    requires detail::takesBraces<Ps...>
  {
    return Call(*state_, arguments...);
  }
  /// The same as `kernel(arguments...).compile()`: for the workgroup size of the hint, or for any.
  template <class... As> CompiledKernel<void(Ps...)> compile(const As &...arguments) const {
    return (*this)(arguments...).compile();
  }

private:
  std::shared_ptr<detail::KernelState> state_;
};

template <class F> Kernel(const char *, F) -> Kernel<typename detail::SignatureOf<F>::type>;
template <class F> Kernel(std::string, F) -> Kernel<typename detail::SignatureOf<F>::type>;
template <class F>
Kernel(const char *, F, KernelHints) -> Kernel<typename detail::SignatureOf<F>::type>;
template <class F>
Kernel(std::string, F, KernelHints) -> Kernel<typename detail::SignatureOf<F>::type>;

FLYDSL_NAMESPACE_END
