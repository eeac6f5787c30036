#include "emulator/fidelity/fidelity.h"

#include "emulator/matrix/passes.h"
#include "emulator/ops/coverage.h"
#include "emulator/ops/find_op.h"
#include "emulator/ops/matrix/matrix.h"

#include <algorithm>
#include <array>

namespace flyemu {
namespace {

using Known = const KnownInstruction &;
using matrix::Arithmetic;

bool isMatrix(Known i, Arithmetic arithmetic) {
  return i.matrix && i.matrix->arithmetic == arithmetic;
}
bool isFloat(Type t) {
  return t == Type::F16 || t == Type::BF16 || t == Type::F32 || t == Type::F64 ||
         t == Type::F16Pair || t == Type::BF16Pair;
}
bool computesFloats(Known i) {
  return isFloat(i.op->dst) || std::any_of(std::begin(i.op->src), std::end(i.op->src), isFloat);
}
bool begins(Known i, std::string_view text) { return i.name.starts_with(text); }
bool has(Known i, std::string_view text) { return i.name.find(text) != std::string::npos; }
bool isAny(Known) { return true; }

using enum Nearness;
constexpr std::array kResults = {
    ResultRow{"matrix products of integers",
              [](Known i) { return isMatrix(i, Arithmetic::Integer); }, Defined,
              "sums of integers, which wrap or are clamped: ISA manuals"},
    ResultRow{"matrix products of f32 and f64 (MFMA)",
              [](Known i) { return isMatrix(i, Arithmetic::FmaChain); }, Assumed,
              "one fused multiply-add for each k, in order"},
    ResultRow{"dense matrix products of 16 and 8 bits and xf32, CDNA3",
              [](Known i) {
                return isMatrix(i, Arithmetic::GroupTruncate) &&
                       i.machine->processor->family == flydsl::Family::cdna3;
              },
              Measured,
              "sums in groups, aligned and truncated: MMA-Sim (arXiv 2511.10909), which compared "
              "its model with CDNA3 hardware"},
    ResultRow{"dense matrix products of 16 and 8 bits, CDNA4",
              [](Known i) { return isMatrix(i, Arithmetic::GroupTruncate); }, Assumed,
              "as CDNA3's"},
    ResultRow{"matrix products: sparse, with block scales or of mixed formats, those of CDNA2 and "
              "of RDNA",
              [](Known i) { return isMatrix(i, Arithmetic::SingleRounding); }, Assumed,
              "the exact sum, rounded once"},
    ResultRow{"exponentials, logarithms, sines, reciprocals and roots",
              [](Known i) { return i.op->cost == Cost::Transcendental && computesFloats(i); }, Near,
              "rounded from double precision, within an ulp of the exact value (f64: of the 26 "
              "bits or so that hardware has)"},
    ResultRow{"dot products of halves and bfloats",
              [](Known i) { return begins(i, "v_dot2") && computesFloats(i); }, Assumed,
              "one fused multiply-add for each product, in the ISA manuals' order"},
    ResultRow{"products and sums of f16 that are not fused",
              [](Known i) {
                return (begins(i, "v_mad_") || begins(i, "v_mac_") || begins(i, "v_madmk_") ||
                        begins(i, "v_madak_")) &&
                       has(i, "f16") && !has(i, "mix");
              },
              Assumed, "the product is rounded to f16 before the sum; denormals as MODE says"},
    ResultRow{"global loads that transpose elements of 8 bits",
              [](Known i) { return i.name == "global_load_tr_b64"; }, Assumed,
              "the lanes' map that two programs written for gfx1201 rely on (llama.cpp's "
              "rdna4_fp8_gemm)"},
    ResultRow{"the tensor data mover", [](Known i) { return begins(i, "tensor_"); }, Defined,
              "the CDNA5 ISA manual as others cite it, with rocjitsu, AMD's HIP header, MLIR and "
              "Triton, who agree on every field"},
    ResultRow{"typed buffers",
              [](Known i) { return i.op->has(Trait::TypedBuffer) || has(i, "_format_"); }, Assumed,
              "conversions by the ISA manuals' formats; integers too large for a component lose "
              "their upper bits"},
    ResultRow{"float arithmetic, comparisons and conversions, of vectors and scalars",
              [](Known i) {
                return (i.op->cls == Class::Valu || i.op->cls == Class::Salu) &&
                       (computesFloats(i) || has(i, "8_f16") || has(i, "_f16_fp8") ||
                        has(i, "_f16_bf8"));
              },
              Defined,
              "IEEE 754 with one rounding, by MODE and modifiers: ISA manuals. Of a NaN result "
              "neither payload nor sign is known; a result that rounds up to the least normal "
              "number is taken not to be flushed"},
    ResultRow{"words that move in groups of lanes",
              [](Known i) {
                return begins(i, "v_permlane_bcast") || begins(i, "v_permlane_up") ||
                       begins(i, "v_permlane_down") || begins(i, "v_permlane_xor");
              },
              Assumed, "AMD's HIP header, which makes shuffles of them"},
    ResultRow{"named barriers",
              [](Known i) { return i.name == "s_barrier_init" || i.name == "s_barrier_join"; },
              Assumed, "what LLVM compiles to them; kernels that use them"},
    ResultRow{"loads of a cluster", [](Known i) { return begins(i, "cluster_load"); }, Assumed,
              "the plain load, as rocjitsu and AMD's Comgr run them"},
    ResultRow{"integers, bits, moves and lanes of vectors",
              [](Known i) { return i.op->cls == Class::Valu; }, Defined,
              "ISA manuals; parameters of permutes and DPP as LLVM's assembler encodes them"},
    ResultRow{"scalar instructions, branches, messages",
              [](Known i) {
                return i.op->cls == Class::Salu || i.op->cls == Class::Branch ||
                       i.op->cls == Class::Message || i.op->cls == Class::Other;
              },
              Defined, "ISA manuals"},
    ResultRow{"LDS", [](Known i) { return i.op->cls == Class::Lds; }, Defined,
              "ISA manuals; transposing reads of gfx950 as Composable Kernel uses them"},
    ResultRow{"memory, vector and scalar", isAny, Defined,
              "ISA manuals; order and caches by LLVM's memory model (AMDGPUUsage)"},
};

unsigned issueOf(Known i, const TimingFigures &f) { return vectorCycles(*i.op, f); }
unsigned matrixOf(Known i, const TimingFigures &) {
  return matrix::cyclesOf(*i.matrix, *i.machine->processor);
}
bool isCdnaMatrix(Known i) { return i.matrix && i.matrix->core == matrix::MatrixCore::Cdna; }
bool isVector(Known i, Cost cost) { return i.op->cls == Class::Valu && i.op->cost == cost; }

constexpr std::array kTimes = {
    TimeRow{
        "matrix products, MFMA of CDNA2 and CDNA3",
        [](Known i) {
          return isCdnaMatrix(i) && i.machine->processor->family != flydsl::Family::cdna4;
        },
        matrixOf, TimeEvidence::Documented,
        "passes of the ISA manuals and of AMD's matrix instruction calculator. What issues "
        "meanwhile: the calculator, traces on MI308X and MI350X (LLVM's pull request 233721), and "
        "LLVM's wait states. How many wait for the unit is not known, and taken to be one"},
    TimeRow{"matrix products, MFMA of CDNA4", isCdnaMatrix, matrixOf, TimeEvidence::Documented,
            "as CDNA3's; of f8f6f4 the 16 and 32 cycles of traces on MI355X (FlyDSL's notes on "
            "its MFMA coverage, by which some issue 8 cycles after the last one); f64 at half of "
            "CDNA3's rate (AMD's peak rates)"},
    TimeRow{
        "matrix products, WMMA of RDNA",
        [](Known i) { return i.matrix && !i.machine->isGfx1250(); }, matrixOf,
        TimeEvidence::Documented,
        "AMD's matrix instruction calculator, by which no vector instruction executes meanwhile; "
        "16 and 8 cycles on RDNA4 in a trace (tinygrad), in which scalar instructions issue "
        "meanwhile and eight of a wave are under way"},
    TimeRow{
        "matrix products, WMMA of gfx1250", [](Known i) { return i.matrix != nullptr; }, matrixOf,
        TimeEvidence::Compiler,
        "LLVM's scheduling model (GFX1250SpeedModel); what issues meanwhile as on RDNA4, though "
        "LLVM lets vector instructions, too"},
    TimeRow{"double precision",
            [](Known i) { return i.op->cls == Class::Valu && i.op->isDouble(); }, issueOf,
            TimeEvidence::Documented, "AMD's peak rates; functions by LLVM's scheduling models"},
    TimeRow{"transcendental functions", [](Known i) { return isVector(i, Cost::Transcendental); },
            issueOf, TimeEvidence::Documented,
            "a quarter of the rate: ISA manuals; 4 cycles on RDNA4 in traces (tinygrad)"},
    TimeRow{"32-bit integer products", [](Known i) { return isVector(i, Cost::Product); }, issueOf,
            TimeEvidence::Compiler, "LLVM's scheduling models"},
    TimeRow{"conversions between f32 and narrower types or integers",
            [](Known i) { return isVector(i, Cost::Conversion); }, issueOf, TimeEvidence::Compiler,
            "LLVM's scheduling models"},
    TimeRow{"sums of absolute differences of four",
            [](Known i) { return isVector(i, Cost::Quarter); }, issueOf, TimeEvidence::Compiler,
            "LLVM's scheduling models"},
    TimeRow{"vector instructions besides", [](Known i) { return i.op->cls == Class::Valu; },
            issueOf, TimeEvidence::Documented,
            "lanes of a SIMD: ISA manuals. One that reads the result of another waits for it, 4 "
            "or 5 cycles by traces (tinygrad). That RDNA issues two at once is not modelled, nor "
            "are the 2 cycles of 64-bit shifts there"},
    TimeRow{"LDS", [](Known i) { return i.op->cls == Class::Lds; },
            [](Known, const TimingFigures &f) { return f.ldsLatency; }, TimeEvidence::Measured,
            "32 to 33 cycles on RDNA, 32 to 52 on gfx950 in traces (tinygrad); and the cycles of "
            "its phases, by the table below"},
    TimeRow{"scalar memory", [](Known i) { return i.op->cls == Class::Smem; },
            [](Known, const TimingFigures &f) { return f.scalarLatency; }, TimeEvidence::Assumed,
            "RDNA3 has 128 to 161 ns by Chips and Cheese, which is more; CDNA: no figure was "
            "found. A first load takes what traces say, once a launch"},
    TimeRow{"vector memory",
            [](Known i) { return i.op->cls == Class::VmemRead || i.op->cls == Class::VmemWrite; },
            [](Known, const TimingFigures &f) { return f.memoryLatency; }, TimeEvidence::Measured,
            "pointer chases: MI300X 420 and MI210 346 ns (RRZE's gpu-benches), 7900 XTX 150 ns "
            "(Chips and Cheese); and 2 cycles a line. CDNA4's 525 ns are fitted to FlyDSL's "
            "products on MI355X; RDNA4 is taken to be as RDNA3, and gfx1250 as CDNA3. What the "
            "workgroup itself has loaded before comes earlier, from the vector cache or L2, and so "
            "does scratch; what workgroups have loaded that had ended, from the last cache (MI300X "
            "218 ns by RRZE). Stores have ended when L2 has their data (ISA manuals)"},
    TimeRow{"scalar arithmetic, branches, waits, barriers", isAny,
            [](Known, const TimingFigures &f) { return f.scalar; }, TimeEvidence::Documented,
            "issue cycles: ISA manuals; of s_nop as many times that as it says. A barrier takes 12 "
            "more on RDNA, by traces (tinygrad). A "
            "branch's refill (19 cycles on gfx1201) is not modelled, nor that CDNA issues those "
            "of one wave with vector instructions of another"},
};

} // namespace

const char *nameOf(Nearness nearness) {
  switch (nearness) {
  case Nearness::Defined:
    return "exact, by definition";
  case Nearness::Measured:
    return "exact, as measured";
  case Nearness::Assumed:
    return "assumed";
  case Nearness::Near:
    return "near";
  }
  return "";
}

const char *nameOf(TimeEvidence evidence) {
  switch (evidence) {
  case TimeEvidence::Measured:
    return "measured by others";
  case TimeEvidence::Documented:
    return "documented by AMD";
  case TimeEvidence::Compiler:
    return "LLVM's model";
  case TimeEvidence::Assumed:
    return "not known, assumed";
  }
  return "";
}

std::span<const ResultRow> resultRows() { return kResults; }
std::span<const TimeRow> timeRows() { return kTimes; }

void eachKnown(const Machine &machine, const std::function<void(const KnownInstruction &)> &visit) {
  for (const std::string &name : coverage(machine.name()).implemented) {
    KnownInstruction instruction{name, findOp(name), &machine};
    std::optional<matrix::MatrixOp> product;
    if (!instruction.op) {
      instruction.op = findMatrixOp(name, machine);
      product = matrix::parseMatrixOp(name, *machine.processor);
      instruction.matrix = product ? &*product : nullptr;
    }
    visit(instruction);
  }
}

} // namespace flyemu
