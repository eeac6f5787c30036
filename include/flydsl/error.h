// The errors that the library throws. It throws no others, and it never aborts on a user's mistake.
#pragma once

#include <flydsl/export.h>

#include <source_location>
#include <stdexcept>
#include <string>

FLYDSL_NAMESPACE_BEGIN

/// A place in the user's C++ source.
struct SourceLocation {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;

  SourceLocation() = default;
  SourceLocation(const std::source_location &loc)
      : file(loc.file_name()), line(loc.line()), column(loc.column()) {}
  /// False if the place is unknown.
  bool known() const { return line != 0; }
};

/// The base class of all errors of the library. `what()` is the whole message; it begins with
/// "file:line: " if the place is known.
class FLYDSL_API Error : public std::runtime_error {
public:
  explicit Error(const std::string &message, SourceLocation where = {});
  ~Error() override;
  /// The user's call that failed; unknown for errors without one.
  const SourceLocation &where() const noexcept { return where_; }

private:
  SourceLocation where_;
};

/// A mistake of the kernel's author or a wrong argument of a host call: an invalid rank, type,
/// shape or use.
class FLYDSL_API TraceError : public Error {
public:
  using Error::Error;
  ~TraceError() override;
};

/// A pass, LLVM or the linker failed on a traced kernel. The message names the kernel, the target,
/// the pass, and the file with the IR.
class FLYDSL_API CompileError : public Error {
public:
  using Error::Error;
  ~CompileError() override;
};

/// HIP, the emulator or the operating system refused. The message states what was being done, and
/// the error's code and name.
class FLYDSL_API RuntimeError : public Error {
public:
  explicit RuntimeError(const std::string &message, int code = 0, SourceLocation where = {});
  ~RuntimeError() override;
  /// The HIP error code; 0 if the failure was not HIP's.
  int code() const noexcept { return code_; }

private:
  int code_;
};

FLYDSL_NAMESPACE_END
