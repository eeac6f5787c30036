// Where the engine's plans come from: `llama` compiles them, and may write them to a file;
// `llama-aot`, which is built with LLAMA_AOT and has no compiler, takes them from that file.
#pragma once

#ifdef LLAMA_AOT
#include <flydsl/kernels/plan.h>
#else
#include <flydsl/kernels/export.h>
#endif

#include <string>

namespace llama {

namespace fx = flydsl;
namespace fk = flydsl::kernels;

class Plans {
public:
#ifdef LLAMA_AOT
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

} // namespace llama
