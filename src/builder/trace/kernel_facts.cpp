#include "builder/trace/kernel_facts.h"

#include "target/processors.h"

namespace flydsl::builder {

std::string KernelFacts::parameterName(unsigned index) const {
  return "parameter " + std::to_string(index) + " of kernel " + name +
         (origin.known() ? " of " + origin.file + ":" + std::to_string(origin.line) : "");
}

std::optional<int> KernelFacts::waves() const {
  if (!knowsBlock())
    return std::nullopt;
  const std::int64_t lanes = target->wave_size(),
                     threads = std::int64_t{blockSize(0)} * blockSize(1) * blockSize(2);
  return static_cast<int>((threads + lanes - 1) / lanes);
}

const Target &KernelFacts::targetFor(const char *what, Loc loc) const {
  if (!target)
    throw TraceError(std::string(what) + " needs to know the target, and the trace is for none; "
                                         "ARCH or compile({.arch = ...}) names one",
                     loc);
  return *target;
}

const Target &KernelFacts::targetWith(Feature feature, const char *what, Loc loc) const {
  const Target &known = targetFor(what, loc);
  if (known.has(feature))
    return known;
  const std::string others = detail::processorsWith(feature);
  const bool isOne = others.find(',') == std::string::npos;
  throw TraceError("there is no " + std::string(what) + " on " + known.name() + "; " + others +
                       (isOne ? " has it" : " have it"),
                   loc);
}

} // namespace flydsl::builder
