// Kernels: a name and a lambda over traced values. A call with arguments traces, compiles and loads
// the kernel when its signature is new, and launches it.
#pragma once

#include <flydsl/args.h>
#include <flydsl/detail/kernel_spec.h>
#include <flydsl/executable.h>
#include <flydsl/launch.h>

#include <memory>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN

/// What `compile` takes beside the arguments.
struct CompileConfig {
  Dim3 block = 0; ///< the workgroup size that launches will have; 0: the hint's, else any
  std::string arch =
      {}; ///< "gfx950": compile for that target; empty: ARCH, else the current device's
};

/// What `export_aot` takes beside the path.
struct AotConfig {
  Dim3 block = 0; ///< the workgroup size that launches will have; 0: the hint's, else any
  std::vector<std::string> archs =
      {}; ///< targets to compile for; empty: ARCH, else the current device's
  std::string header =
      {}; ///< where to write a C header with the same bytes as an array; empty: nowhere
  bool append = false; ///< adds to the kernels that the file holds, instead of replacing it
};

/// Whether COMPILE_ONLY=1 is set: launches compile and do not launch.
FLYDSL_API bool compile_only();

namespace detail {

class KernelState;     // the spec, and the table from signatures to executables
class BoundExecutable; // an executable with its signature, loaded on first use per device

FLYDSL_API std::shared_ptr<KernelState> makeKernel(KernelSpec spec);
/// Launches the code for the signature in `pack`; traces and compiles it first where it is new.
FLYDSL_API void launch(KernelState &kernel, ArgPack &pack, const LaunchConfig &config,
                       const std::source_location &where);
FLYDSL_API Executable compile(KernelState &kernel, ArgPack &pack, const CompileConfig &config,
                              const std::source_location &where);
FLYDSL_API void exportAot(KernelState &kernel, ArgPack &pack, const std::string &path,
                          const AotConfig &config, const std::source_location &where);
FLYDSL_API std::shared_ptr<BoundExecutable> bindSignature(const Executable &executable,
                                                          const ArgPack &pack);
/// Launches the executable; throws where `pack` is not of its signature.
FLYDSL_API void launchBound(BoundExecutable &executable, ArgPack &pack, const LaunchConfig &config,
                            const std::source_location &where);

template <class F> struct SignatureOf : SignatureOf<decltype(&F::operator())> {};
template <class R, class C, class... Ps> struct SignatureOf<R (C::*)(Ps...) const> {
  static_assert(std::is_void_v<R>, "a kernel returns nothing");
  using type = void(std::decay_t<Ps>...);
};
template <class R, class... Ps> struct SignatureOf<R (*)(Ps...)> {
  static_assert(std::is_void_v<R>, "a kernel returns nothing");
  using type = void(std::decay_t<Ps>...);
};

template <class... Ps, class... As>
[[gnu::always_inline]] inline void packAll(ArgPack &pack, const As &...arguments) {
  (..., (pack.beginArgument(), ArgTraits<Ps>::pack(pack, arguments)));
}

} // namespace detail

template <class Signature> class CompiledKernel;
template <class Signature> class Kernel;

/// A kernel for one signature, compiled. Its launch looks nothing up.
template <class... Ps> class CompiledKernel<void(Ps...)> : public Executable {
public:
  CompiledKernel(Executable executable, std::shared_ptr<detail::BoundExecutable> bound)
      : Executable(std::move(executable)), bound_(std::move(bound)) {}
  // Copies share; a move is a copy, so that no object is without its code.
  CompiledKernel(const CompiledKernel &) = default;
  CompiledKernel &operator=(const CompiledKernel &) = default;

  class [[nodiscard]] Call {
  public:
    /// Throws TraceError where the arguments are not of the types that the kernel was compiled for,
    /// or the block is another one; RuntimeError where HIP refuses.
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

  /// Binds arguments; nothing happens until `.launch(...)`.
  template <class... As> Call operator()(const As &...arguments) const {
    static_assert(sizeof...(As) == sizeof...(Ps), "as many arguments as the kernel has parameters");
    return Call(*bound_, arguments...);
  }

private:
  std::shared_ptr<detail::BoundExecutable> bound_;
};

/// A kernel. Make it once (a global constant is fine: nothing happens before its first call) and
/// call it from any thread; copies share what they compiled. Host values that the lambda captures
/// are constants of the trace: a signature is traced once, so a capture that changes afterwards is
/// not seen. What varies is a `Constexpr` parameter.
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
  // A move is a copy, so that no object is without its kernel.
  Kernel(const Kernel &) = default;
  Kernel &operator=(const Kernel &) = default;

  class [[nodiscard]] Call {
  public:
    /// Launches. Throws TraceError for arguments or dimensions that can't be, and for mistakes in
    /// the body; CompileError; RuntimeError where HIP refuses. With COMPILE_ONLY=1 in the
    /// environment it compiles and does not launch.
    void launch(const LaunchConfig &config,
                const std::source_location &where = std::source_location::current()) && {
      detail::launch(state_, pack_, config, where);
    }
    /// Compiles for this call's types; no device is needed where a target is named.
    CompiledKernel<void(Ps...)>
    compile(const CompileConfig &config = {},
            const std::source_location &where = std::source_location::current()) && {
      Executable executable = detail::compile(state_, pack_, config, where);
      return {executable, detail::bindSignature(executable, pack_)};
    }
    /// Compiles for this call's types and each target, and writes a file that `load_aot` reads, in
    /// one rename. A call of the loaded kernel takes the tensors and numbers of this one; static
    /// values and constants are in the code.
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

  /// Binds arguments; nothing happens until `.launch(...)` or `.compile(...)` in the same
  /// expression.
  template <class... As> Call operator()(const As &...arguments) const {
    static_assert(sizeof...(As) == sizeof...(Ps), "as many arguments as the kernel has parameters");
    return Call(*state_, arguments...);
  }
  /// The same as `kernel(arguments...).compile()`: for any workgroup size, or the hint's.
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
