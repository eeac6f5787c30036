#include "plans.h"

namespace fx = flydsl;
namespace fk = flydsl::kernels;

namespace llama {

struct Plans::Source {
  fx::AotModule module;
};

const bool Plans::compiles = false;
Plans::Plans(const std::string &file) : source_(new Source{fx::load_aot(file)}) {}
Plans::~Plans() = default;

template <fk::Problem P> fk::Plan<P> Plans::make(const P &problem, std::int64_t m) {
  ++count_;
  return fk::Plan<P>::load(source_->module, problem, fk::choose(problem, m));
}

#define LLAMA_PLAN(P) template fk::Plan<fk::P> Plans::make(const fk::P &, std::int64_t);
LLAMA_PLANS(LLAMA_PLAN)

} // namespace llama
