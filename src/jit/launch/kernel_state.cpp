#include "jit/launch/kernel_state.h"

#include "jit/launch/build.h"
#include "support/process_use.h"

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// Makes `built` the executable of its signature, unless there is one. Returns `built`; if its code
/// is that of the one that is there, both share what is loaded.
KernelState::Built KernelState::keep(const Signature &signature, const Built &built) {
  auto result = std::make_shared<ExecutableState>(*built);
  std::lock_guard lock(jit::sharingWork());
  Built &first = built_[signature];
  if (!first) {
    auto lean = std::make_shared<ExecutableState>(*built);
    lean->ir.clear(); // which may be long, and only the caller of compile() asks for
    first = std::move(lean);
  } else if (first->irHash == built->irHash) {
    result->loaded = first->loaded;
  }
  return result;
}

KernelState::Built KernelState::build(const ArgPack &pack, std::array<unsigned, 3> block,
                                      const Target &target, bool withIr) {
  support::enterLibrary();
  const Signature signature{{pack.word(), pack.word() + pack.words()}, target.id()};
  const auto find = [&]() -> Built {
    if (withIr)
      return nullptr;
    auto found = built_.find(signature);
    return found == built_.end() ? nullptr : found->second;
  };
  const auto make = [&] {
    return keep(signature, jit::build(spec, pack.types(), block, target, withIr));
  };
  if (withIr)
    return building_.findOrMake({{signature, true}}, find, make);
  return building_.findOrMake({{signature, false}, {signature, true}}, find, make);
}

} // namespace detail
FLYDSL_NAMESPACE_END
