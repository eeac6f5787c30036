// What a Kernel holds.
#pragma once

#include "jit/launch/executable_state.h"
#include "jit/launch/shared_work.h"
#include "jit/launch/signature_table.h"

#include <flydsl/kernel.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

class KernelState {
public:
  explicit KernelState(KernelSpec spec) : spec(std::move(spec)) {}
  const KernelSpec spec;
  jit::SignatureTable table;

  using Built = std::shared_ptr<const ExecutableState>;
  /// The executable for the signature in `pack` and a target. Threads that ask for the same one at
  /// the same time share one trace. Without `withIr` it is the first that was built for them, and
  /// has no IR. With `withIr` it is built anew, for its IR; its code is loaded once with that of
  /// the first, if both are the same.
  Built build(const ArgPack &pack, std::array<unsigned, 3> block, const Target &target,
              bool withIr);

private:
  /// A signature's words and a target's id.
  using Signature = std::pair<std::vector<std::uint64_t>, std::string>;
  struct Work {
    Signature signature;
    bool withIr;
    auto operator<=>(const Work &) const = default;
  };
  Built keep(const Signature &signature, const Built &built);

  jit::SharedWork<Work, Built> building_;
  std::map<Signature, Built> built_; ///< guarded by jit::sharingWork()
};

} // namespace detail
FLYDSL_NAMESPACE_END
