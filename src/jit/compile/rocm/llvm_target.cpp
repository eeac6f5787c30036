// Features that a target leaves open are left open in LLVM too.
#include "jit/compile/rocm/llvm_target.h"

namespace flydsl::jit {

std::string llvmFeatures(const Target &target) {
  std::string text;
  auto add = [&](const char *name, Toggle toggle) {
    if (toggle == Toggle::any)
      return;
    text += text.empty() ? "" : ",";
    text += toggle == Toggle::on ? "+" : "-";
    text += name;
  };
  add("sramecc", target.sramecc());
  add("xnack", target.xnack());
  return text;
}

std::string isaName(const Target &target) { return "amdgcn-amd-amdhsa--" + target.id(); }

} // namespace flydsl::jit
