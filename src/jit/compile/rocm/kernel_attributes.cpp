#include "jit/compile/rocm/kernel_attributes.h"

#include "target/processors.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <array>

namespace flydsl::jit {
namespace {

using llvm::StringRef;

/// `count` numbers with commas between them.
template <unsigned Least, unsigned Most> bool areNumbers(StringRef value) {
  llvm::SmallVector<StringRef, 3> parts;
  value.split(parts, ',');
  return parts.size() >= Least && parts.size() <= Most && llvm::all_of(parts, [](StringRef part) {
           unsigned number;
           return !part.getAsInteger(10, number);
         });
}
bool isBoolean(StringRef value) { return value == "true" || value == "false"; }
/// A mode of results, and one of operands if it is another.
bool areDenormalModes(StringRef value) {
  auto isMode = [](StringRef mode) {
    return mode == "ieee" || mode == "preserve-sign" || mode == "positive-zero";
  };
  const auto [results, operands] = value.split(',');
  return isMode(results) && (value.count(',') == 0 || isMode(operands));
}
bool isStrategy(StringRef value) {
  return value == "max-ilp" || value == "max-memory-clause" || value == "iterative-ilp" ||
         value == "iterative-minreg" || value == "iterative-maxocc";
}

struct Row {
  StringRef name;
  bool (*takes)(StringRef);
  const char *values;
  /// The generations on which it means something.
  detail::FamilySet families = {Family::cdna2, Family::cdna3, Family::cdna4,
                                Family::rdna3, Family::rdna4, Family::gfx1250};
};

// Sources: LLVM's AMDGPUUsage ("LLVM IR Attributes") and LangRef ("Function Attributes"), and where
// these are silent the attributes that its AMDGPU target reads. What hints of their own say (waves,
// registers, the block's size) and what the compiler finds out by itself is left out.
constexpr std::array kRows = {
    Row{"denormal-fp-math", areDenormalModes, "ieee, preserve-sign or positive-zero"},
    Row{"denormal-fp-math-f32", areDenormalModes, "ieee, preserve-sign or positive-zero"},
    Row{"amdgpu-agpr-alloc",
        areNumbers<1, 2>,
        "a number of registers, or a least and a largest one",
        {Family::cdna2, Family::cdna3, Family::cdna4}},
    Row{"amdgpu-expert-scheduling-mode",
        isBoolean,
        "true or false",
        {Family::rdna4, Family::gfx1250}},
    Row{"amdgpu-sched-strategy", isStrategy,
        "max-ilp, max-memory-clause, iterative-ilp, iterative-minreg or iterative-maxocc"},
    Row{"amdgpu-memory-bound", isBoolean, "true or false"},
    Row{"amdgpu-wave-limiter", isBoolean, "true or false"},
    Row{"amdgpu-max-num-workgroups", areNumbers<3, 3>, "three numbers with commas between them"},
    Row{"amdgpu-unroll-threshold", areNumbers<1, 1>, "a number"},
};

} // namespace

std::string problemWithKernelAttribute(const std::string &name, const std::string &value,
                                       const Target &target) {
  std::string known;
  for (const Row &row : kRows) {
    if (row.name == name) {
      if (!row.families.has(target.family()))
        return "the attribute " + name + " means nothing on " + target.name();
      if (!row.takes(value))
        return "the attribute " + name + " takes " + row.values + ", not '" + value + "'";
      return {};
    }
    known += (known.empty() ? "" : ", ") + row.name.str();
  }
  return "there is no attribute " + name + " of kernels; there are " + known;
}

} // namespace flydsl::jit
