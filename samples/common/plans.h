// Where an engine's plans come from: the compiler, and then they may be written to a file; or, in a
// program that is built with PLANS_FROM_FILE and has no compiler, that file.
#pragma once

#ifdef PLANS_FROM_FILE
#include <flydsl/kernels/plan.h>
#else
#include <flydsl/kernels/export.h>
#endif

#include <string>

namespace samples {

namespace fx = flydsl;
namespace fk = flydsl::kernels;

class Plans {
public:
#ifdef PLANS_FROM_FILE
  static constexpr bool kCompiles = false;
  explicit Plans(const std::string &file) : module_(fx::load_aot(file)) {}

  template <fk::Problem P> fk::Plan<P> operator()(const P &problem, std::int64_t m) const {
    return fk::Plan<P>::load(module_, problem, fk::choose(problem, m));
  }

private:
  fx::AotModule module_;
#else
  static constexpr bool kCompiles = true;

  // region: make
  /// The plan of a problem for about m rows; equal ones are compiled once.
  template <fk::Problem P> fk::Plan<P> operator()(const P &problem, std::int64_t m) {
    made_.add(problem, {m});
    return fk::Plan<P>(problem, fk::choose(problem, m));
  }
  // endregion
  /// Writes all that were made to a file.
  void write(const std::string &file) const { made_.write(file); }

private:
  fk::ExportList made_;
#endif
};

} // namespace samples
