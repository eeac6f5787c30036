#include "jit/compile/module/on_target.h"

#include "dialect/Fly/Interfaces/VendorInterface.h"
#include "jit/compile/module/guarded_work.h"
#include "jit/compile/module/kernel_module.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

namespace flydsl::jit {
namespace {

using namespace mlir;

/// Looks at each type once.
class TargetCheck {
public:
  explicit TargetCheck(const Target &target) : target_(target) {}

  bool run(ModuleOp module) {
    return !module
                .walk([&](Operation *op) {
                  if (isMemoryEffectFree(op)) // it may make an atom that nothing executes
                    return WalkResult::advance();
                  for (Type type : op->getOperandTypes())
                    if (!fits(op, type))
                      return WalkResult::interrupt();
                  return WalkResult::advance();
                })
                .wasInterrupted();
  }

private:
  bool fits(Operation *op, Type type) {
    bool fit = true;
    if (seen_.insert(type).second)
      type.walk([&](Type part) {
        const auto *vendor = fly::VendorInterface::of(part);
        const std::string problem =
            vendor ? vendor->missingOn(part, target_, /*byName=*/true) : std::string();
        if (problem.empty())
          return WalkResult::advance();
        op->emitError() << problem << "; a module is made for one target: ARCH=" << target_.name()
                        << " makes FlyDSL write this one's";
        fit = false;
        return WalkResult::interrupt();
      });
    return fit;
  }

  const Target target_;
  llvm::DenseSet<Type> seen_;
};

} // namespace

void expectOnTarget(ModuleOp module, const CompileOptions &options) {
  runOnModule(*module.getContext(), "kernel " + kernelName(module), "looking at its instructions",
              options.timeoutSeconds, [module, target = options.target] {
                return TargetCheck(target).run(module);
              });
}

} // namespace flydsl::jit
