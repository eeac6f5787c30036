// Modules with host functions: what FlyDSL (Python) writes with FLYDSL_DUMP_IR=1 as
// 00_origin.mlir, called from C++.
#pragma once

#include <flydsl/detail/kernel_spec.h>
#include <flydsl/host/any_arg.h>
#include <flydsl/host/launch.h>

#include <array>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
class ProgramState;
}

/// Options of `load_program` and `parse_program`.
struct ProgramConfig {
  std::string name = {};  ///< name of the text in messages; empty: the file's
  KernelHints hints = {}; ///< registers, waves and fast math, which are not in the IR
  bool trusted = false;   ///< bytecode is read in this process; text needs no trust
};

/// A module with kernels and the host functions that launch them. A call checks its arguments by
/// the function's types, evaluates the function's own IR with them (grid, block, dynamic shared
/// memory and arguments of each launch), compiles the kernels for the device of the stream, and
/// launches in the order of the function. What was evaluated and compiled is kept: a call with the
/// same shapes and numbers launches at once. Immutable for its users and safe from any thread;
/// copies share everything.
class FLYDSL_API Program {
public:
  /// The name of a function, and the line of the call that names it.
  struct Function {
    /// Made of the name where a call is written.
    template <class T>
      requires std::convertible_to<const T &, std::string_view>
    Function(const T &name, std::source_location where = std::source_location::current())
        : name(name), where(where) {}
    /// The name, and the place of the call.
    std::string_view name;
    std::source_location where;
  };

  /// What load_program and parse_program make.
  explicit Program(std::shared_ptr<detail::ProgramState> state);

  /// Calls a host function of the module. A memref takes a tensor (a DeviceArray, or fx::tensor of
  /// a pointer) of its element type, its rank, its static extents and strides, and the
  /// divisibility of its dynamic ones; a number takes a number that fits; a pointer takes the
  /// address of elements of its type; `!gpu.async.token` takes the stream of the launches. Throws
  /// TraceError for an argument that does not fit, and for a function that the module does not
  /// have; CompileError where the host code can't be evaluated or a kernel can't be compiled;
  /// RuntimeError where the driver refuses. With COMPILE_ONLY=1 in the environment it compiles, but
  /// does not launch.
  template <class... Arguments>
  void operator()(Function function, const Arguments &...arguments) const {
    const std::array<AnyArg, sizeof...(Arguments)> all{AnyArg::of(arguments, function.where)...};
    call(function, all);
  }
  /// The same with arguments in a row, for programs that know their number at run time only.
  void call(Function function, std::span<const AnyArg> arguments) const;

  /// The names of the functions that may be called, in the order of the module.
  std::vector<std::string> functions() const;
  /// The parameters of a function as the IR spells their types.
  std::vector<std::string> parameters(Function function) const;
  /// How many ways of launching are kept: one for each set of shapes and numbers that decide about
  /// launches of a function.
  std::size_t evaluated() const;

private:
  std::shared_ptr<detail::ProgramState> state_;
};

/// Reads a module from a file. It may come from anybody: a damaged one is a CompileError with its
/// line, as is one without kernels, or without a host function that launches one.
FLYDSL_API Program
load_program(const std::string &path, const ProgramConfig &config = {},
             const std::source_location &where = std::source_location::current());
/// The same for a module in memory.
FLYDSL_API Program
parse_program(std::string_view module, const ProgramConfig &config = {},
              const std::source_location &where = std::source_location::current());

FLYDSL_NAMESPACE_END
