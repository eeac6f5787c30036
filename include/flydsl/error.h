// The errors that the library throws. Nothing else leaves it, and it never aborts on a user's
// mistake.
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
  /// False for a place that nobody gave.
  bool known() const { return line != 0; }
};

/// Base of all errors of the library. `what()` is the whole message, "file:line: " first where the
/// place is known.
class FLYDSL_API Error : public std::runtime_error {
public:
  explicit Error(const std::string &message, SourceLocation where = {});
  ~Error() override;
  /// The user's call that failed; unknown for errors without one.
  const SourceLocation &where() const noexcept { return where_; }

private:
  SourceLocation where_;
};

/// The kernel author's mistake, or a host call's wrong argument: a rank, type, shape or use that
/// can't be.
class FLYDSL_API TraceError : public Error {
public:
  using Error::Error;
  ~TraceError() override;
};

/// A pass, LLVM or the linker failed on a traced kernel. Names kernel, target and pass, and where
/// the IR is.
class FLYDSL_API CompileError : public Error {
public:
  using Error::Error;
  ~CompileError() override;
};

/// HIP, the emulator or the operating system refused: says what was being done, the code and its
/// name.
class FLYDSL_API RuntimeError : public Error {
public:
  explicit RuntimeError(const std::string &message, int code = 0, SourceLocation where = {});
  ~RuntimeError() override;
  /// The HIP error code; 0 where the failure was not HIP's.
  int code() const noexcept { return code_; }

private:
  int code_;
};

FLYDSL_NAMESPACE_END
