// A family whose kernels are those of plans of other families, its parts. Family<P> has
//
//   static void eachPart(const P &, const Config &, const auto &visit);
//
// which calls visit(problem, config) for each part, in the order of launches.
#pragma once

#include "frame/family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The kernels of all parts.
template <class P>
std::vector<const AnyKernelOf *> kernelsOfParts(const P &problem, const ConfigOf<P> &config) {
  std::vector<const AnyKernelOf *> all;
  Family<P>::eachPart(problem, config, [&]<class Q>(const Q &part, const ConfigOf<Q> &ofPart) {
    const auto own = Family<Q>::kernels(part, ofPart);
    all.insert(all.end(), own.begin(), own.end());
  });
  return all;
}

/// The launches of the parts of one call, one part after another.
template <class P> class PartLaunches {
public:
  explicit PartLaunches(const Call<P> &call) : call_(call) {}

  /// Launches the next part, whose problem and configuration are those that eachPart visits; with what
  /// the part's `prepare` gave for the arguments, if that was called before.
  template <class Q, class... Prepared>
  void operator()(const Q &problem, const ConfigOf<Q> &config, const ArgsOf<Q> &args,
                  const Prepared &...prepared) {
    Family<Q>::launch(
        {problem, config, args, call_.launches.from(first_), call_.stream, call_.where},
        prepared...);
    first_ += Family<Q>::kernels(problem, config).size();
  }

private:
  const Call<P> &call_;
  std::size_t first_ = 0;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
