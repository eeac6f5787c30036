// Every configuration that `choose` gives for products: its code neither spills nor uses
// scratch memory, and no access to LDS meets a bank twice. All of a target's take minutes, so that
// this runs in CTest's configuration Long.
#include "ggml/ggml_rules.h"
#include "support/product.h"
#include "support/zero_operands.h"

#include <flydsl/kernels/ggml_gemm.h>
#include <flydsl/kernels/operands.h>

using namespace kernel_tests;

namespace {

/// A call on zeros: where accesses lie does not depend on values.
template <class P> void expectCleanCode(const P &problem, const fk::ConfigOf<P> &config, int m) {
  INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
  const fk::Plan<P> plan(problem, config);
  for (const fx::Executable &code : plan.executables()) {
    INFO(code.summary());
    CHECK(code.spills() == 0);
    CHECK(code.scratch_bytes() == 0);
  }
  ZeroOperands zeros;
  const auto args = fk::make_args(problem, config, m, zeros.sampler());
  const fx::Stream stream;
  for (const fx::LaunchCounters &launch : fx::Device::current().count_launches([&] {
         plan(args, stream);
         stream.synchronize();
       }))
    CHECK(launch["SQ_LDS_BANK_CONFLICT"] == 0);
}

/// The different configurations that are chosen for many sizes, as far as they are ones for
/// `small`, whose k and n take little time to run.
template <class P, class Sized>
std::vector<fk::ConfigOf<P>> chosen(const P &small, const Sized &sized) {
  std::vector<fk::ConfigOf<P>> all;
  for (std::int64_t n : {256, 1024, 2048, 4096, 8192, 16384})
    for (std::int64_t m : {1, 4, 8, 9, 16, 17, 32, 33, 64, 128, 256, 512, 1024, 4096}) {
      const P problem = sized(n);
      if (!fk::supported(problem, here()))
        continue;
      const auto config = fk::choose(problem, m);
      if (fk::supported(small, config, here()) &&
          std::find(all.begin(), all.end(), config) == all.end())
        all.push_back(config);
    }
  return all;
}

} // namespace

TEST_CASE("configurations of products that are chosen spill nothing and meet no bank twice") {
  using enum OperandLayout;
  struct Form {
    OperandLayout a, b;
    Scales scales = Scales::none;
    bool gated = false;
  };
  std::size_t count = 0;
  for (fx::DType type : {fx::DType(fx::f16), fx::DType(fx::bf16), fx::DType(fx::i8), float8()})
    for (const Form &form : std::initializer_list<Form>{{rows, prepared},
                                                        {rows, prepared, Scales::per_row, true},
                                                        {rows, prepared, Scales::per_block},
                                                        {rows, rows},
                                                        {rows, columns},
                                                        {columns, rows},
                                                        {columns, columns}}) {
      const auto sized = [&](std::int64_t n, std::int64_t k) {
        GemmProblem problem{.a = type,
                            .b = type,
                            .c = fx::bf16,
                            .a_layout = form.a,
                            .b_layout = form.b,
                            .n = n,
                            .k = k,
                            .scale_a = form.scales,
                            .scale_b = form.scales};
        problem.gated = form.gated;
        problem.activation = form.gated ? Activation::silu : Activation::none;
        return problem;
      };
      const GemmProblem small = sized(512, 4096);
      if (type == fx::DType() || !fk::supported(small, here()))
        continue;
      for (GemmConfig config : chosen(small, [&](std::int64_t n) { return sized(n, 4096); })) {
        expectCleanCode(small, config, config.tile_m);
        ++count;
      }
    }
  CHECK(count > 20);
}

TEST_CASE("configurations of products with ggml's blocks that are chosen spill nothing") {
  std::size_t count = 0;
  for (fk::GgmlFormat format : fk::host::ggmlFormats())
    for (fx::DType a : {fx::DType(fx::f32), fx::DType(fx::f16), fx::DType(fx::bf16)})
      for (bool gated : {false, true})
        // One turn over a row of weights, whose loop is gone, and many.
        for (std::int64_t k : {fk::impl::ggmlRow(format).unitWeights() * here().wave_size(), 8192})
          for (std::int64_t n : {2048, 16384}) {
            const fk::GgmlGemmProblem problem{.format = format,
                                              .a = a,
                                              .n = n,
                                              .k = k,
                                              .activation =
                                                  gated ? Activation::silu : Activation::none,
                                              .gated = gated};
            std::vector<fk::GgmlGemmConfig> chosen;
            for (std::int64_t m : {1, 2, 4, 8, 16, 32, 64, 128, 4096}) {
              const fk::GgmlGemmConfig config = fk::choose(problem, m);
              if (std::find(chosen.begin(), chosen.end(), config) != chosen.end())
                continue;
              chosen.push_back(config);
              expectNoSpillsOf(problem, m, here());
              ++count;
            }
          }
  CHECK(count > 100);
}
