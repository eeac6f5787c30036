// Where the engine's plans come from. The program `llama` compiles them (plans_compile.cpp) and
// writes them to a file if it is asked to; `llama-aot`, which has no compiler, reads that file
// (plans_load.cpp).
#pragma once

#include <flydsl/kernels/attention.h>
#include <flydsl/kernels/decode.h>
#include <flydsl/kernels/ggml_gemm.h>
#include <flydsl/kernels/ggml_rows.h>
#include <flydsl/kernels/norm.h>
#include <flydsl/kernels/rope.h>

#include <memory>
#include <string>

namespace llama {

class Plans {
public:
  /// Whether this program compiles: `file` is then the file that is written, or empty. Otherwise it
  /// is the file that is read. Throws fx::Error.
  static const bool compiles;
  explicit Plans(const std::string &file);
  ~Plans();

  /// The plan of a problem for about m rows, by the library's choice of a configuration.
  template <flydsl::kernels::Problem P>
  flydsl::kernels::Plan<P> make(const P &problem, std::int64_t m);
  /// How many were made.
  int count() const { return count_; }

private:
  struct Source;
  std::unique_ptr<Source> source_;
  int count_ = 0;
};

// The problems of an engine.
#define LLAMA_PLANS(instantiate)                                                                   \
  instantiate(AttentionProblem) instantiate(DecodeProblem) instantiate(GgmlGemmProblem)            \
      instantiate(GgmlRowsProblem) instantiate(NormProblem) instantiate(RopeProblem)

} // namespace llama
