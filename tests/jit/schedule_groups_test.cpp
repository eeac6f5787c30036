// Groups of scheduling (`sched_group_barrier`): the quick choice of their
// instructions against LLVM's own.
#include "jit/compile/rocm/schedule/group_order.h"
#include "jit/compile/rocm/schedule/instruction_kinds.h"
#include "jit/compile/rocm/schedule/reachability.h"
#include "object_of.h"

#include "llvm/CodeGen/CodeGenTargetMachineImpl.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/TargetRegistry.h"

#include <catch2/catch.hpp>

#include <random>

using namespace flydsl;
using namespace flydsl::jit;

namespace {

using Edges = std::vector<std::pair<unsigned, unsigned>>;

/// By a search, as the definition has it.
bool searched(const Edges &edges, unsigned from, unsigned to) {
  for (const auto &[start, end] : edges)
    if (start == from && (end == to || searched(edges, end, to)))
      return true;
  return false;
}

/// A kernel whose loop reads LDS, multiplies and fetches, with barriers
/// of groups at the end of its body.
std::string kernelWith(const std::string &barriers, bool isWmma) {
  const std::string n = isWmma ? "16" : "4", sums = isWmma ? "8" : "4";
  const std::string half = "<" + n + " x half>", sum = "<" + sums + " x float>";
  const std::string name = isWmma ? "llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16"
                                  : "llvm.amdgcn.mfma.f32.16x16x16f16";
  const std::string more = isWmma ? ")" : ", i32 0, i32 0, i32 0)";
  std::string text = "@lds = internal addrspace(3) global [512 x " + half +
                     "] poison, align 64\n"
                     "define amdgpu_kernel void @groups(ptr addrspace(1) noalias %in, ptr "
                     "addrspace(1) noalias %out,"
                     " i32 %steps) {\nentry:\n  %lane = call i32 @llvm.amdgcn.workitem.id.x()\n  "
                     "br label %loop\nloop:\n"
                     "  %k = phi i32 [0, %entry], [%next, %loop]\n";
  constexpr int kSums = 4, kReads = 6;
  for (int i = 0; i < kSums; ++i)
    text += "  %c" + std::to_string(i) + " = phi " + sum + " [zeroinitializer, %entry], [%r" +
            std::to_string(i) + "b, %loop]\n";
  for (int i = 0; i < kReads; ++i) {
    const std::string s = std::to_string(i);
    text += "  %i" + s + " = add i32 %lane, " + std::to_string(i * 64) + "\n  %p" + s +
            " = getelementptr " + half + ", ptr addrspace(3) @lds, i32 %i" + s + "\n  %a" + s +
            " = load " + half + ", ptr addrspace(3) %p" + s + "\n";
  }
  for (int i = 0; i < 3; ++i) {
    const std::string s = std::to_string(i);
    text += "  %j" + s + " = add i32 %k, " + std::to_string(i * 32) + "\n  %q" + s +
            " = getelementptr " + half + ", ptr addrspace(1) %in, i32 %j" + s + "\n  %g" + s +
            " = load " + half + ", ptr addrspace(1) %q" + s + "\n";
  }
  auto product = [&](const std::string &to, const std::string &a, const std::string &b,
                     const std::string &c) {
    text += "  %" + to + " = call " + sum + " @" + name + "(" + half + " %" + a + ", " + half +
            " %" + b + ", " + sum + " %" + c + more + "\n";
  };
  for (int i = 0; i < kSums; ++i)
    product("r" + std::to_string(i) + "a", "a" + std::to_string(i), "a" + std::to_string(i + 1),
            "c" + std::to_string(i));
  for (int i = 0; i < kSums; ++i)
    product("r" + std::to_string(i) + "b", "g" + std::to_string(i % 3), "a" + std::to_string(5 - i),
            "r" + std::to_string(i) + "a");
  for (int i = 0; i < 3; ++i)
    text += "  store " + half + " %g" + std::to_string(i) + ", ptr addrspace(3) %p" +
            std::to_string(i) + "\n";
  text += barriers + "  %next = add i32 %k, 1\n  %more = icmp slt i32 %next, %steps\n"
                     "  br i1 %more, label %loop, label %end\nend:\n";
  for (int i = 0; i < kSums; ++i) {
    const std::string s = std::to_string(i);
    text += "  %o" + s + " = getelementptr " + sum + ", ptr addrspace(1) %out, i32 %i" + s +
            "\n  store " + sum + " %r" + s + "b, ptr addrspace(1) %o" + s + "\n";
  }
  return text + "  ret void\n}\ndeclare " + sum + " @" + name + "(" + half + ", " + half + ", " +
         sum + (isWmma ? "" : ", i32 immarg, i32 immarg, i32 immarg") +
         ")\ndeclare i32 @llvm.amdgcn.workitem.id.x()\ndeclare void "
         "@llvm.amdgcn.sched.group.barrier(i32 immarg, i32 "
         "immarg, i32 immarg)\n";
}

std::string barrier(unsigned mask, unsigned size, unsigned pipeline) {
  return "  call void @llvm.amdgcn.sched.group.barrier(i32 " + std::to_string(mask) + ", i32 " +
         std::to_string(size) + ", i32 " + std::to_string(pipeline) + ")\n";
}

} // namespace

TEST_CASE("Reachability agrees with a search, in whatever order edges are added") {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    constexpr unsigned kNodes = 70; // more than a word has bits
    Edges edges;
    Reachability graph(kNodes);
    for (int i = 0; i < 60; ++i) {
      const unsigned from = random() % kNodes, to = random() % kNodes;
      if (from == to || graph.reaches(to, from))
        continue;
      graph.add(from, to);
      edges.push_back({from, to});
    }
    unsigned wrong = 0;
    for (unsigned from = 0; from < kNodes; ++from)
      for (unsigned to = 0; to < kNodes; ++to) {
        NodeSet before(kNodes), one(kNodes);
        before.add(graph.before(to));
        one.set(from);
        const bool expected = searched(edges, from, to);
        wrong += graph.reaches(from, to) != expected || (before.common(one) == 1) != expected;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("Groups put their instructions into the order that they ask for") {
  // Two of a kind (0, 1), two of another (2, 3), barriers 4 to 7: one of each, twice.
  const GroupPipeline pipeline{{{4, 1}, {5, 1}, {6, 1}, {7, 1}},
                               {{0, {0, 2}}, {1, {0, 2}}, {2, {1, 3}}, {3, {1, 3}}}};
  auto orderOf = [&](Reachability graph) {
    for (const auto &[from, to] : edgesOfGroups(graph, {pipeline})) {
      REQUIRE_FALSE(graph.reaches(to, from));
      graph.add(from, to);
    }
    return graph;
  };
  const Reachability free = orderOf(Reachability(8));
  CHECK((free.reaches(0, 2) && free.reaches(2, 1) && free.reaches(1, 3)));
  CHECK((free.reaches(0, 4) && free.reaches(2, 5) && free.reaches(1, 6) && free.reaches(3, 7)));
  // Where 2 needs 1, the pair trades places: 3 goes to the first group of its kind.
  Reachability needs(8);
  needs.add(1, 2);
  needs.add(2, 3);
  const Reachability bound = orderOf(needs);
  CHECK((bound.reaches(1, 2) && bound.reaches(2, 3)));
}

TEST_CASE("The flags by which instructions are told apart are those of LLVM's tables") {
  const Target target = Target::parse("gfx942");
  CompileOptions options;
  options.target = target;
  TargetMachineLease machine(backendFor(target), options);
  const std::unique_ptr<llvm::MCInstrInfo> table((*machine).getTarget().createMCInstrInfo());
  namespace flags = instruction_flags;
  const std::pair<llvm::StringRef, std::uint64_t> families[] = {
      {"V_MFMA_F32_16X16X16F16_gfx940", flags::kMai},
      {"V_WMMA_F32_16X16X16_F16_", flags::kWmma},
      {"V_SWMMAC_F32_16X16X32_F16_", flags::kSwmmac},
      {"V_ACCVGPR_READ_B32", flags::kMai},
      {"DS_READ_B128", flags::kDs},
      {"DS_WRITE_B128", flags::kDs},
      {"BUFFER_LOAD_DWORDX4", flags::kMubuf},
      {"TBUFFER_LOAD_FORMAT_X", flags::kMtbuf},
      {"GLOBAL_LOAD_DWORDX4", flags::kFlat},
      {"FLAT_STORE_DWORD", flags::kFlat},
      {"IMAGE_LOAD_V4_V2_gfx11", flags::kMimg},
      {"IMAGE_LOAD_V4_V2_gfx12", flags::kVimage},
      {"IMAGE_SAMPLE_V4_V2_gfx12", flags::kVsample},
      {"S_ADD_I32", flags::kSalu},
      {"V_ADD_F32_e32", flags::kValu},
      {"V_EXP_F32_e32", flags::kTrans}};
  unsigned special = 0;
  for (const auto &[family, flag] : families) {
    CAPTURE(family.str());
    unsigned seen = 0, wrong = 0;
    for (unsigned opcode = 0; opcode < table->getNumOpcodes(); ++opcode) {
      const llvm::StringRef name = table->getName(opcode);
      if (!name.starts_with(family))
        continue;
      ++seen;
      wrong += !(table->get(opcode).TSFlags & flag);
    }
    CHECK(seen > 0);
    CHECK(wrong == 0);
  }
  for (unsigned opcode = 0; opcode < table->getNumOpcodes(); ++opcode)
    special += table->getName(opcode) == "SCHED_GROUP_BARRIER" ||
               table->getName(opcode) == "SCHED_BARRIER" || table->getName(opcode) == "IGLP_OPT" ||
               table->getName(opcode) == "V_ACCVGPR_READ_B32_e64" ||
               table->getName(opcode) == "V_ACCVGPR_WRITE_B32_e64";
  CHECK(special == 5);
}

TEST_CASE("LLVM's own schedulers stay where the quick ones are turned off") {
  CompileOptions options;
  options.target = Target::parse("gfx942");
  const Backend &backend = backendFor(options.target);
  for (const bool isOwn : {false, true}) {
    CAPTURE(isOwn);
    options.llvmGroupScheduler = isOwn;
    TargetMachineLease machine(backend, options);
    llvm::legacy::PassManager passes;
    auto &generator = static_cast<llvm::CodeGenTargetMachineImpl &>(*machine);
    llvm::TargetPassConfig *config = generator.createPassConfig(passes);
    passes.add(config); // which owns it from now on
    backend.choosePasses(*config, options);
    CHECK(config->getPassSubstitution(&llvm::MachineSchedulerID).isInstance() == !isOwn);
    CHECK(config->getPassSubstitution(&llvm::PostRASchedulerID).isInstance() == !isOwn);
  }
}

TEST_CASE("Kernels with groups get the very code that LLVM's own schedulers make") {
  std::mt19937 random(3);
  constexpr unsigned kMasks[] = {0x1,  0x2,  0x4,   0x8,   0x10,  0x20,
                                 0x40, 0x80, 0x100, 0x200, 0x400, 0x108};
  unsigned ordered = 0;
  for (const char *name : {"gfx942", "gfx1100"})
    for (int round = 0; round < 6; ++round) {
      std::string barriers;
      for (unsigned count = 4 + random() % 14; count; --count)
        barriers +=
            barrier(round < 3 ? (count % 2 ? 0x8 : 0x100) : kMasks[random() % std::size(kMasks)],
                    1 + random() % 3, round == 5 ? random() % 2 : 0);
      const std::string text = kernelWith(barriers, name == std::string_view("gfx1100"));
      CAPTURE(name, barriers);
      CompileOptions options;
      options.target = Target::parse(name);
      const auto quick = objectOf(text, options);
      options.llvmGroupScheduler = true;
      const auto own = objectOf(text, options);
      CHECK(quick == own);
      ordered += own != objectOf(kernelWith("", name == std::string_view("gfx1100")), options);
    }
  CHECK(ordered >= 8); // groups change the order of most
}
