// Lists of problems that are compiled ahead of time into one file.
#include "support/structure.h"

#include <flydsl/kernels/export.h>
#include <flydsl/kernels/norm.h>
#include <flydsl/kernels/softmax.h>

using namespace kernel_tests;

TEST_CASE("a list of problems is exported with progress, each configuration once") {
  const fk::SoftmaxProblem softmax{.x = fx::f32, .y = fx::f32, .n = 96};
  const fk::NormProblem norm{.n = 64};
  fk::ExportList list;
  list.add(softmax, {1, 2}).add(norm, {1}).add(softmax, {64}); // a problem may come again
  const ScratchFile file;
  std::vector<std::string> steps;
  const fx::Target target = fx::Device::current().target();
  const auto plans =
      list.write(file.path(), {.archs = {"gfx942", "gfx1201"}}, [&](const fk::ExportStep &step) {
        steps.push_back(std::to_string(step.done) + "/" + std::to_string(step.total) + " " +
                        std::string(step.family) + " " + step.target->name() +
                        (step.support ? "" : step.support.why));
      });
  CHECK(plans == 4); // the configuration of a softmax is the same for all rows
  CHECK(steps == std::vector<std::string>{"0/4 softmax gfx942", "1/4 softmax gfx1201",
                                          "2/4 norm gfx942", "3/4 norm gfx1201"});
  const fx::AotModule module = fx::load_aot(file.path());
  CHECK(module.contents().size() == 4);
  CHECK_NOTHROW(fk::SoftmaxPlan::load(module, softmax, fk::choose(softmax, 64, target)));
  CHECK_NOTHROW(fk::NormPlan::load(module, norm, fk::choose(norm, 1, target)));
}

TEST_CASE("a list says which problems it leaves out, and is refused if none is left") {
  const fk::NormProblem good{.n = 64}, bad{.n = 0};
  const ScratchFile file;
  std::string why;
  const auto note = [&](const fk::ExportStep &step) {
    if (!step.support)
      why = std::string(step.family) + ": " + step.support.why;
  };
  CHECK(fk::ExportList().add(good, {1}).add(bad, {1}).write(file.path(), {.archs = {"gfx950"}},
                                                            note) == 1);
  CHECK(why == "norm: n is 0; a row has 1 to 268435456 elements");
  CHECK(messageOf([&] {
          fk::ExportList().add(bad, {1}).write("none.flyaot", {.archs = {"gfx950"}});
        }) == "kernels::ExportList: none.flyaot would have no plans; no target supports one of the "
              "list's problems");
  CHECK(messageOf([&] { fk::ExportList().write("none.flyaot", {.archs = {"gfx950"}}); }) ==
        "kernels::ExportList: none.flyaot would have no plans; the list is empty");
}
