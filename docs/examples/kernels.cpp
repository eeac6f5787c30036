// Examples of docs/kernels.md.
#include "example.h"

#include <flydsl/kernels/decode.h>
#include <flydsl/kernels/export.h>
#include <flydsl/kernels/gemm.h>
#include <flydsl/kernels/norm.h>
#include <flydsl/kernels/norm_backward.h>
#include <flydsl/kernels/plan_set.h>
#include <flydsl/kernels/tuning/tuned.h>
#include <flydsl/kernels/softmax.h>

#include <cmath>
#include <filesystem>

// region: namespaces
namespace fx = flydsl;
namespace fk = flydsl::kernels;
// endregion

TEST_CASE("a plan for a norm with a residual") {
  const std::int64_t tokens = 6;
  // region: plan
  // Once, when the model is loaded: what is fixed in it.
  const fk::NormProblem problem{.x = fx::bf16, .weight = fx::bf16, .y = fx::bf16, .n = 512,
                                .eps = 1e-6, .residual = true};
  const fk::NormPlan norm(problem, fk::choose(problem, /*m=*/256));
  // endregion
  fx::DeviceArray<fx::bfloat16_t> x({tokens, 512}), residual({tokens, 512}), weight({512}),
      y({tokens, 512});
  x.fill(fx::bfloat16_t(1));
  residual.fill(fx::bfloat16_t(2));
  weight.fill(fx::bfloat16_t(0.5f));
  fx::Stream stream;
  // region: call
  // At each step: any number of rows. residual becomes x + residual, y its norm.
  norm({.x = x, .weight = weight, .residual = residual, .y = y, .residual_out = residual}, stream);
  // endregion
  stream.synchronize();
  CHECK(float(residual.to_host()[7]) == 3);
  CHECK(float(y.to_host()[7]) == 0.5f);
}

TEST_CASE("plans for all numbers of rows") {
  // region: set
  // At start: every plan that 0 to 512 rows will ask for.
  const fk::GemmProblem problem{.a = fx::f16, .b = fx::f16, .c = fx::f16, .n = 128, .k = 256};
  const fk::PlanSet<fk::GemmProblem> products(problem, 512);
  fx::DeviceArray<std::uint8_t> workspace(
      {std::max<std::int64_t>(std::int64_t(products.workspace_bytes()), 1)});
  // In a request.
  const fk::GemmPlan &product = products.at(/*rows=*/37);
  // endregion
  CHECK(product.config() == fk::choose(problem, 37));
  CHECK(workspace.size() > 0);
}

TEST_CASE("tuned configurations are chosen") {
  const std::string path = example::scratchPath("tuned.txt");
  // region: tuned
  const fk::GemmProblem problem{.a = fx::f16, .b = fx::f16, .c = fx::f16, .n = 128, .k = 256};
  const fk::GemmConfig fastest = fk::configs(problem, 64).back();
  fk::TunedConfigs found; // offline, on the GPU, with what tune(problem, 64) gives
  found.set(problem, /*m=*/64, fastest);
  found.write(path);

  fk::TunedConfigs::read(path).use(); // at the start of an engine
  CHECK(fk::choose(problem, 50) == fastest);
  // endregion
  CHECK(fk::choose(problem, 32) != fastest);
  fk::TunedConfigs().use();
  CHECK(fk::choose(problem, 64) != fastest);
  std::filesystem::remove(path);
}

TEST_CASE("what is supported, and why not") {
  // region: supported
  const fk::NormProblem problem{.x = fx::f16, .y = fx::i8, .n = 4096};
  const fk::Support answer = fk::supported(problem, fx::Target::parse("gfx942"));
  CHECK(!answer);
  CHECK(answer.why == "y is of type i8; f32, f16 and bf16 are supported");
  // endregion
}

TEST_CASE("the caller owns the workspace") {
  const std::int64_t m = 4;
  fx::DeviceArray<fx::half_t> x({m, 64}), dy({m, 64}), dx({m, 64}), weight({64}), dweight({64});
  fx::DeviceArray<float> rstd({m});
  x.fill(fx::half_t(1));
  dy.fill(fx::half_t(1));
  weight.fill(fx::half_t(1));
  rstd.fill(1);
  // region: workspace
  const fk::NormBackwardProblem problem{.n = 64};
  const fk::NormBackwardPlan backward(problem, fk::choose(problem, m));
  fx::DeviceArray<std::uint8_t> workspace({backward.workspace_bytes(m)});
  backward({.x = x, .weight = weight, .dy = dy, .rstd = rstd, .dx = dx, .dweight = dweight,
            .workspace = workspace});
  // endregion
  fx::Device::current().synchronize();
  CHECK(float(dweight.to_host()[3]) == 4);
  CHECK(float(dx.to_host()[3]) == 0);
}

TEST_CASE("plans ahead of time") {
  const std::string path = example::scratchPath("plans.flyaot");
  // region: file
  const fk::NormProblem problem{.n = 256};
  const auto config = fk::choose(problem, 64, fx::Target::parse("gfx942"));
  fk::export_aot(problem, config, path, {.archs = {"gfx942", "gfx1201"}, .append = true});

  const auto plan = fk::NormPlan::load(fx::load_aot(path), problem, config);
  // endregion
  CHECK(plan.problem() == problem);
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".lock");
}

TEST_CASE("a list of plans ahead of time") {
  const std::string path = example::scratchPath("model.flyaot");
  std::string shown;
  // region: list
  fk::ExportList list;
  list.add(fk::NormProblem{.n = 256}, {1, 64, 4096}) // for about so many rows
      .add(fk::SoftmaxProblem{.n = 256}, {64});
  const std::size_t plans = list.write(
      path, {.archs = {"gfx942", "gfx1201"}}, [&](const fk::ExportStep &step) {
        shown += std::to_string(step.done) + " of " + std::to_string(step.total) + ": " +
                 std::string(step.family) + " for " + step.target->name() + "\n";
      });
  // endregion
  CHECK(plans == 4); // the norm's configuration is one for all these numbers
  CHECK(shown.find("3 of 4: softmax for gfx1201\n") != std::string::npos);
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".lock");
}

TEST_CASE("a checked plan") {
  const fk::DecodeProblem problem{.q = fx::f16, .kv = fx::f16, .y = fx::f16, .q_heads = 1,
                                  .kv_heads = 1, .head = 32, .context = 64};
  fk::DecodeConfig config = fk::choose(problem, 2);
  config.splits = 1;
  // region: checked
  const fk::DecodePlan plan(problem, config, {.check_indices = true});
  // endregion
  const auto q = fx::DeviceArray<fx::half_t>::random({2, 1, 32}, 1);
  const auto k = fx::DeviceArray<fx::half_t>::random({8, 16, 1, 32}, 2);
  const auto v = fx::DeviceArray<fx::half_t>::random({8, 16, 1, 32}, 3);
  fx::DeviceArray<fx::half_t> o({2, 1, 32});
  fx::DeviceArray<std::int32_t> block_table({2, 4}), seq_lens({2});
  block_table.copy_from(std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7});
  seq_lens.copy_from(std::vector<std::int32_t>{64, 70});
  o.poison();
  const fk::DecodeArgs args{.q = q, .k = k, .v = v, .o = o, .seq_lens = seq_lens,
                            .block_table = block_table};
  const fx::Stream stream;
  std::string log;
  // region: told
  plan(args, stream); // seq_lens[1] is 70, and a row of block_table has room for 64 tokens
  try {
    plan.check(stream); // waits for the stream
  } catch (const fk::IndexError &error) {
    // "decode: seq_lens[1] is 70; it is from 0 to 64, the tokens that a row of block_table has room for;
    // the call wrote nothing"
    log = error.what();
    CHECK(error.place().argument == "seq_lens");
    CHECK(error.place().index == std::vector<std::int64_t>{1});
    CHECK(error.place().value == 70);
  }
  // endregion
  CHECK(log.find("decode: seq_lens[1] is 70; it is from 0 to 64, the tokens that a row of block_table "
                 "has room for; the call wrote nothing") != std::string::npos);
  CHECK(std::isnan(float(o.to_host()[0])));
  seq_lens.copy_from(std::vector<std::int32_t>{64, 60});
  plan(args, stream);
  plan.check(stream);
  CHECK_FALSE(std::isnan(float(o.to_host()[0])));
}
