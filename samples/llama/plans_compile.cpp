#include "plans.h"

#include <flydsl/kernels/compile.h>

#include <filesystem>
#include <set>

namespace fx = flydsl;
namespace fk = flydsl::kernels;

namespace llama {

struct Plans::Source {
  std::string file;
  std::set<std::string> written; ///< a file has each plan once
};

const bool Plans::compiles = true;
Plans::Plans(const std::string &file) : source_(new Source{file, {}}) {}
Plans::~Plans() = default;

// region: make
template <fk::Problem P> fk::Plan<P> Plans::make(const P &problem, std::int64_t m) {
  const auto config = fk::choose(problem, m);
  const std::string name = std::string(fk::FamilyOf<P>::name) + fx::to_config(problem).str() +
                           fx::to_config(config).str();
  if (!source_->file.empty() && source_->written.insert(name).second)
    fk::export_aot(problem, config, source_->file, {.append = source_->written.size() > 1});
  ++count_;
  return fk::Plan<P>(problem, config); // from the cache, where it was compiled before
}
// endregion

#define LLAMA_PLAN(P) template fk::Plan<fk::P> Plans::make(const fk::P &, std::int64_t);
LLAMA_PLANS(LLAMA_PLAN)

} // namespace llama
