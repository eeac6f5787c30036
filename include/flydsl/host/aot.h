// Kernels compiled ahead of time: `kernel(arguments...).export_aot(path)` writes a file, whose
// kernels are launched without a compiler in the process. libflydsl_runtime, the library without
// LLVM, offers only this header and the headers that it includes.
#pragma once

#include <flydsl/constexpr.h>
#include <flydsl/host/launch.h>
#include <flydsl/params.h>

#include <cstddef>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

struct AotState;
struct AotEntry;

/// Where a call is among the arguments of a variant: in which of the forms that its codes have, which
/// differ in what calls leave out, and how far.
struct AotPlace {
  std::size_t form = 0, at = 0;
};

/// Packs a scalar argument as the dtype that the kernel expects. A value that does not fit becomes
/// the pack's error.
FLYDSL_API void packInteger(ArgPack &pack, DType dtype, std::int64_t value, bool above63);
FLYDSL_API void packReal(ArgPack &pack, DType dtype, double value);

} // namespace detail

/// One variant of an exported kernel; it lives as long as any copy. A call takes only the run-time
/// arguments: static values and constants are part of the code. The types of the arguments, which of
/// them are left out (std::nullopt), the block and the device choose among the codes of the variant.
class FLYDSL_API AotKernel {
public:
  explicit AotKernel(std::shared_ptr<detail::AotEntry> kernel);
  // A move is a copy, so that every object has a kernel.
  AotKernel(const AotKernel &) = default;
  AotKernel &operator=(const AotKernel &) = default;

  /// The kernel's name.
  const std::string &name() const;
  /// The name of the variant.
  const std::string &variant() const;
  /// The targets of the variant's codes, in the order of the file.
  std::vector<std::string> targets() const;

  /// A call with bound arguments.
  class [[nodiscard]] Call {
  public:
    /// Throws TraceError if the arguments or the block are not those that the kernel was exported
    /// for; RuntimeError if no code fits the device, or if HIP refuses.
    void launch(const LaunchConfig &config,
                const std::source_location &where = std::source_location::current()) && {
      kernel_.launch(pack_, config, where);
    }

  private:
    friend class AotKernel;
    template <class... As> Call(const AotKernel &kernel, const As &...arguments) : kernel_(kernel) {
      detail::AotPlace place;
      (..., packOne(place, arguments));
    }
    template <class A> void packOne(detail::AotPlace &place, const A &argument) {
      if constexpr (detail::IsStdArray<A>::value) {
        for (const auto &one : argument)
          packOne(place, one);
      } else if constexpr (std::is_same_v<A, std::nullopt_t>) {
        kernel_.packPresence(pack_, place, false);
      } else if constexpr (detail::AnOptional<A>) {
        kernel_.packPresence(pack_, place, argument.has_value());
        if (argument)
          packOne(place, *argument);
      } else if constexpr (detail::ParamStruct<A>) {
        detail::withFields(argument, [&](const auto &...field) { (..., packOne(place, field)); });
      } else {
        pack_.beginArgument();
        packValue(kernel_.nextParameter(pack_, place), argument);
      }
    }
    template <class A> void packValue(DType dtype, const A &argument) {
      if constexpr (std::is_convertible_v<const A &, const TensorArg &>) {
        if constexpr (requires { argument.gone(); })
          if (const char *why = argument.gone()) [[unlikely]]
            return pack_.fail(why);
        pack_.tensor(argument);
      } else if constexpr (std::is_convertible_v<const A &, PointerArg>) {
        const PointerArg pointer = argument;
        pack_.pointer(pointer.dtype(), pointer.address());
      } else {
        static_assert(std::is_arithmetic_v<A>,
                      "an exported kernel takes tensors, numbers, pointers, and plain "
                      "structs, std::optional and std::array of them");
        if constexpr (std::is_floating_point_v<A>)
          detail::packReal(pack_, dtype, argument);
        else
          detail::packInteger(pack_, dtype, static_cast<std::int64_t>(argument),
                              std::is_unsigned_v<A> && static_cast<std::int64_t>(argument) < 0);
      }
    }
    const AotKernel &kernel_;
    detail::ArgPack pack_;
  };

  /// Binds arguments; nothing else happens until `.launch(...)`.
  template <class... As> Call operator()(const As &...arguments) const {
    return Call(*this, arguments...);
  }

private:
  /// Says in the pack whether the argument at the place is there. It is the pack's error if no code
  /// was exported so.
  void packPresence(detail::ArgPack &pack, detail::AotPlace &place, bool isThere) const;
  /// The dtype of the scalar parameter at the place; `none` for a tensor or a pointer, or past the
  /// end. If a call may leave the argument out, the pack is told that it is there.
  DType nextParameter(detail::ArgPack &pack, detail::AotPlace &place) const;
  /// The same of a kernel that takes all its arguments, for programs that were compiled with
  /// version 0.1.0.
  DType parameter(std::size_t index) const;
  void launch(detail::ArgPack &pack, const LaunchConfig &config,
              const std::source_location &where) const;

  std::shared_ptr<detail::AotEntry> kernel_; // keeps the other kernels of the file alive as well
};

/// What a file says of one of its codes.
struct AotInfo {
  std::string kernel;           ///< the name of the fx::Kernel
  std::string variant;          ///< which of the kernel's configurations it is
  std::string symbol;           ///< its name in the code object, as profilers show it
  std::string target;           ///< "gfx942", with features if the code depends on them
  Dim3 block = 0;               ///< the workgroup size that it was compiled for; 0: any
  std::size_t shared_bytes = 0; ///< bytes of LDS of a workgroup, without dynamic ones
  /// The types that a call gives, such as "tensor<f32, ?:1>" and "i32"; "an argument that is left out"
  /// where the kernel was exported without an optional one.
  std::vector<std::string> arguments;
};

/// A loaded file.
class FLYDSL_API AotModule {
public:
  explicit AotModule(std::shared_ptr<detail::AotState> state);
  AotModule(const AotModule &) = default;
  AotModule &operator=(const AotModule &) = default;
  /// The names of the kernels in the file.
  std::vector<std::string> kernels() const;
  /// The names of the kernel's variants. Throws RuntimeError that lists the kernels of the file if
  /// there is no such kernel.
  std::vector<std::string>
  variants(const std::string &kernel,
           std::source_location where = std::source_location::current()) const;
  /// All codes of the file, in its order.
  std::vector<AotInfo> contents() const;
  /// The kernel of that name, which has one variant. Throws RuntimeError that lists the kernels of
  /// the file if there is none, or the variants if there are several.
  AotKernel kernel(const std::string &name,
                   std::source_location where = std::source_location::current()) const;
  /// That variant of the kernel. fx::variant_name(constants...) is the name of a variant that was
  /// exported without one. Throws RuntimeError that lists what there is if there is no such kernel
  /// or variant.
  AotKernel kernel(const std::string &name, const std::string &variant,
                   std::source_location where = std::source_location::current()) const;

private:
  std::shared_ptr<detail::AotState> state_;
};

/// Reads and verifies a file written by `export_aot`. Throws RuntimeError if the file can't be read
/// or is incomplete.
FLYDSL_API AotModule load_aot(const std::string &path,
                              std::source_location where = std::source_location::current());
/// The same from memory, for example from the array in the header that `export_aot` writes. The
/// bytes are copied.
FLYDSL_API AotModule load_aot(std::span<const unsigned char> bytes,
                              std::source_location where = std::source_location::current());

FLYDSL_NAMESPACE_END
