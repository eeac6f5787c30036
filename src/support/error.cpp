#include <flydsl/error.h>

FLYDSL_NAMESPACE_BEGIN

static std::string placed(const std::string &message, const SourceLocation &where) {
  if (!where.known())
    return message;
  return where.file + ":" + std::to_string(where.line) + ": " + message;
}

Error::Error(const std::string &message, SourceLocation where)
    : std::runtime_error(placed(message, where)), where_(std::move(where)) {}
Error::~Error() = default;
TraceError::~TraceError() = default;
CompileError::~CompileError() = default;

RuntimeError::RuntimeError(const std::string &message, int code, SourceLocation where)
    : Error(message, std::move(where)), code_(code) {}
RuntimeError::~RuntimeError() = default;

FLYDSL_NAMESPACE_END
