#include "trace_text.h"

#include "builder/trace/dialects.h"
#include "builder/trace/trace.h"

#include "mlir/IR/MLIRContext.h"

#include <stdexcept>

namespace trace_test {

/// Every operation stands at a line of the user's, none at one of the library's own.
static void expectUsersPlaces(mlir::ModuleOp module) {
  module.walk([](mlir::Operation *op) {
    auto at = op->getLoc()->findInstanceOf<mlir::FileLineColLoc>();
    const std::string file = at ? at.getFilename().str() : "";
    for (const char *ours : {"include/flydsl/", "src/builder/"})
      if (file.find(ours) != std::string::npos)
        throw std::logic_error(op->getName().getStringRef().str() + " stands at " + file + ":" +
                               std::to_string(at.getLine()));
  });
}

std::string traceSpec(const flydsl::detail::KernelSpec &spec, const std::vector<ArgType> &types,
                      std::array<unsigned, 3> block, bool locations, const char *target) {
  static mlir::MLIRContext *context = [] {
    auto *c = new mlir::MLIRContext(mlir::MLIRContext::Threading::DISABLED);
    flydsl::builder::loadDialects(*c);
    return c;
  }();
  flydsl::builder::TraceResult result = flydsl::builder::traceKernel(
      spec, types, block, *context,
      target ? std::optional(flydsl::Target::parse(target)) : std::nullopt);
  expectUsersPlaces(*result.module);
  std::string text;
  llvm::raw_string_ostream os(text);
  mlir::OpPrintingFlags flags;
  if (locations)
    flags.enableDebugInfo();
  result.module->print(os, flags);
  return text;
}

std::string missing(const std::string &text, std::initializer_list<const char *> parts) {
  std::size_t at = 0;
  for (const char *part : parts) {
    at = text.find(part, at);
    if (at == std::string::npos)
      return part;
    at += std::string(part).size();
  }
  return "";
}

int countOf(const std::string &text, const std::string &part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

} // namespace trace_test
