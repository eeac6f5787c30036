// A process with three LLVMs: the one inside of libflydsl, a shared one that this program links,
// and comgr's. Each must work.
#include <flydsl/flydsl.h>

#include <amd_comgr.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <string>

namespace fx = flydsl;

namespace {
bool compileWithOurs() {
  const fx::Kernel twice{"twice", [](fx::Tensor x) {
                           auto i = fx::thread_idx().x;
                           x(i) = x(i) * 2.0f;
                         }};
  float element = 0; // never read: the kernel is only compiled
  auto compiled = twice(fx::tensor(&element, {64})).compile({.block = 64, .arch = "gfx942"});
  return compiled.name() == "twice" && compiled.registers() > 0;
}

bool useShared() {
  LLVMContextRef context = LLVMContextCreate();
  LLVMModuleRef module = LLVMModuleCreateWithNameInContext("beside", context);
  char *text = LLVMPrintModuleToString(module);
  const bool right = std::string(text).find("beside") != std::string::npos;
  LLVMDisposeMessage(text);
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
  return right;
}

bool useComgr() {
  std::size_t count = 0;
  const char *name = nullptr;
  return amd_comgr_get_isa_count(&count) == AMD_COMGR_STATUS_SUCCESS && count > 0 &&
         amd_comgr_get_isa_name(0, &name) == AMD_COMGR_STATUS_SUCCESS &&
         std::strstr(name, "amdgcn");
}

/// The library that a function of this process is in.
std::string homeOf(void *function) {
  Dl_info info;
  return dladdr(function, &info) && info.dli_fname ? info.dli_fname : "?";
}
} // namespace

int main() {
  const std::string shared = homeOf(reinterpret_cast<void *>(&LLVMContextCreate));
  std::printf("libLLVM: %s\nlibflydsl: %s\n", shared.c_str(),
              homeOf(reinterpret_cast<void *>(&fx::compile_only)).c_str());
  // In turns: none disturbs another's state.
  for (int round = 0; round < 2; ++round) {
    if (!useShared() || !compileWithOurs() || !useComgr()) {
      std::printf("round %d failed\n", round);
      return 1;
    }
  }
  std::printf("libLLVM, libflydsl and comgr work in one process\n");
  return shared.find("libLLVM") == std::string::npos;
}
