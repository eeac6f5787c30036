// Products with the experts of slots: whether slots are sorted, the memory for that, the launches.
#include "ggml/ggml_experts_family.h"

#include "blocks/common/expert_ids.h"
#include "frame/workspace_pieces.h"
#include "ggml/ggml_operands.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Experts = Family<GgmlExpertsProblem>;

/// Places of a unit: rows of the tiles that matrix instructions compute.
constexpr int kUnits[] = {16, 32, 64};
/// The most slots of an expert, if they are dealt evenly, that take less time one by one than sorted,
/// with numbers of a as they are and in Q8_1. Of 32 experts of 768 x 2048 in Q4_K with 4 slots of a token,
/// microseconds one by one and sorted are estimated on MI300X at 53 and 63 for 4 slots of an expert, 101 and
/// 54 for 8, in Q8_1 41 and 54 for 8; on RX 9070 XT at 149 and 51 for 1. Q8_1 takes a third of the time
/// there.
struct FewSlots {
  int wave;
  double most, mostOfQ8;
};
constexpr FewSlots kFewSlots[] = {{64, 4, 10}, {32, 1.0 / 3, 1}};

/// Whether slots are multiplied one by one.
bool areFew(const GgmlExpertsProblem &problem, std::int64_t m, const Target &target) {
  const FewSlots &few = kFewSlots[target.wave_size() == kFewSlots[1].wave];
  return static_cast<double>(m * problem.topk) <=
         (problem.q8_1 ? few.mostOfQ8 : few.most) * static_cast<double>(problem.experts);
}
/// Slots of an expert, if they are dealt evenly.
std::int64_t slotsOfExpert(const GgmlExpertsProblem &problem, std::int64_t m) {
  return (m * problem.topk + problem.experts - 1) / problem.experts;
}

GgmlExpertsConfig configOf(const GgmlExpertsProblem &problem, int unit, std::int64_t m,
                           const Target &target) {
  GgmlExpertsConfig config{.unit = unit};
  if (unit)
    config.sort = Family<MoeSortProblem>::choose(sortOf(problem, unit), m, target);
  config.product = Family<GgmlGemmProblem>::choose(problem.multiplied(unit), m, target);
  return config;
}

/// The pieces of the workspace, by their first bytes.
struct Memory {
  std::int64_t places;
  std::int64_t sortedIds, unitExperts, counts, offsets, totals, sorting;
  std::int64_t bytes;
};
Memory memoryOf(const GgmlExpertsProblem &problem, const GgmlExpertsConfig &config,
                std::int64_t m) {
  const MoeSortProblem sort = sortOf(problem, config.unit);
  Memory memory{};
  memory.places = moe_sort_places(sort, m);
  WorkspacePieces pieces;
  memory.sortedIds = pieces.take(memory.places * 4);
  memory.unitExperts = pieces.take(memory.places / config.unit * 4);
  memory.counts = pieces.take(problem.experts * 4);
  memory.offsets = pieces.take((problem.experts + 1) * 4);
  memory.totals = pieces.take(3 * 4);
  memory.sorting = pieces.take(
      static_cast<std::int64_t>(Family<MoeSortProblem>::workspaceBytes(sort, config.sort, m)));
  memory.bytes = pieces.bytes();
  return memory;
}

} // namespace

Support Experts::supported(const GgmlExpertsProblem &problem, const Target &target) {
  if (const Support experts = rangeSupported("experts", problem.experts, 1, kMostExperts); !experts)
    return experts;
  return firstRefusal({Family<GgmlGemmProblem>::supported(problem.multiplied(0), target),
                       Family<MoeSortProblem>::supported(sortOf(problem, kUnits[0]), target)});
}

Support Experts::supported(const GgmlExpertsProblem &problem, const GgmlExpertsConfig &config,
                           const Target &target) {
  const Support product =
      kernels::supported(problem.multiplied(config.unit), config.product, target);
  if (!config.unit || !product)
    return product;
  return kernels::supported(sortOf(problem, config.unit), config.sort, target);
}

GgmlExpertsConfig Experts::choose(const GgmlExpertsProblem &problem, std::int64_t m,
                                  const Target &target) {
  if (areFew(problem, m, target))
    return configOf(problem, 0, m, target);
  const std::int64_t slots = slotsOfExpert(problem, m);
  int unit = kUnits[0];
  for (int larger : kUnits)
    if (slots > unit)
      unit = larger;
  return configOf(problem, unit, m, target);
}

std::vector<GgmlExpertsConfig> Experts::candidates(const GgmlExpertsProblem &problem,
                                                   std::int64_t m, const Target &target) {
  std::vector<GgmlExpertsConfig> all{configOf(problem, 0, m, target)};
  for (int unit : kUnits)
    all.push_back(configOf(problem, unit, m, target));
  return all;
}

std::size_t Experts::workspaceBytes(const GgmlExpertsProblem &problem,
                                    const GgmlExpertsConfig &config, std::int64_t m) {
  return m && config.unit ? static_cast<std::size_t>(memoryOf(problem, config, m).bytes) : 0;
}

std::vector<Experts::IndexRow> Experts::indexRows(const GgmlExpertsProblem &problem,
                                                  const GgmlExpertsConfig &) {
  return {expertIdsRow<P, A>(problem)};
}

void Experts::launch(const Call<GgmlExpertsProblem> &call) {
  const GgmlExpertsProblem &problem = call.problem;
  const GgmlExpertsConfig &config = call.config;
  const GgmlExpertsArgs &args = call.args;
  const Arguments arguments(FamilyOf<GgmlExpertsProblem>::name, call.where);
  const std::int64_t m = arguments.rows(args.a, "a"), experts = problem.experts;
  const GgmlGemmProblem product = problem.multiplied(config.unit);
  // All that is wrong is told before the first launch, and by this family's name.
  checkGgmlOperands(arguments, product, config.product.tile_m, args, m);
  arguments.check(args.ids, {.name = "ids", .dtype = i32, .shape = {"m, topk", m, problem.topk}});
  (void)arguments.workspace(args.workspace, workspaceBytes(problem, config, m));
  arguments.expectApart();
  if (m == 0)
    return;
  PartLaunches launch(call);
  GgmlGemmArgs multiplied{.a = args.a, .b = args.b, .up = args.up, .c = args.c};
  if (!config.unit) {
    multiplied.ids = args.ids;
    return launch(product, config.product, multiplied);
  }
  const Memory memory = memoryOf(problem, config, m);
  const auto piece = [&](std::int64_t first, DType dtype, std::int64_t count) {
    return pieceOfWorkspace(*args.workspace, first, dtype, {count});
  };
  multiplied.sorted_ids = piece(memory.sortedIds, i32, memory.places);
  multiplied.unit_experts = piece(memory.unitExperts, i32, memory.places / config.unit);
  const MoeSortProblem sort = sortOf(problem, config.unit);
  const auto ofSorting =
      static_cast<std::int64_t>(Family<MoeSortProblem>::workspaceBytes(sort, config.sort, m));
  launch(sort, config.sort,
         {.ids = args.ids,
          .sorted_ids = *multiplied.sorted_ids,
          .unit_experts = multiplied.unit_experts,
          .counts = piece(memory.counts, i32, experts),
          .offsets = piece(memory.offsets, i32, experts + 1),
          .totals = piece(memory.totals, i32, 3),
          .workspace =
              ofSorting ? std::optional(piece(memory.sorting, u8, ofSorting)) : std::nullopt});
  launch(product, config.product, multiplied);
}

GgmlExpertsArgs Experts::args(const GgmlExpertsProblem &problem, const GgmlExpertsConfig &config,
                              std::int64_t m, const Sampler &sampler) {
  const auto weights = [&](const char *name) {
    return GgmlTensor{problem.weight(), sampler(name, u8, Extents{weight_bytes(problem.weight())},
                                                Role::blocks(problem.format, problem.layout))};
  };
  const auto bytes = static_cast<std::int64_t>(workspaceBytes(problem, config, m));
  return {.a = sampler("a", problem.a, Extents{m, problem.k}, Role::input),
          .b = weights("b"),
          .up = problem.gated ? std::optional(weights("up")) : std::nullopt,
          .ids = sampler("ids", i32, Extents{m, problem.topk}, Role::below(problem.experts)),
          .c = sampler("c", problem.c, Extents{m, problem.topk, problem.n}, Role::output),
          .workspace =
              sampleIf(bytes != 0, sampler, "workspace", u8, Extents{bytes}, Role::workspace)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(GgmlExpertsProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
