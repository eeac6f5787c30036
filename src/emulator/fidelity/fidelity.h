// What is known of each instruction: whether its results are the hardware's to the bit, by which
// source, and where its time in the estimate comes from. A row of a table takes the instructions for
// which the same is known.
#pragma once

#include "emulator/isa/machine.h"
#include "emulator/isa/op.h"
#include "emulator/matrix/matrix_op.h"
#include "emulator/observe/timing.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flyemu {

/// An instruction of a target.
struct KnownInstruction {
  std::string name; ///< its base mnemonic
  const OpDef *op = nullptr;
  const Machine *machine = nullptr;
  const matrix::MatrixOp *matrix = nullptr; ///< null where it is none
};

/// How near results are to those of hardware.
enum class Nearness : uint8_t {
  Defined,  ///< one result is right by a public definition
  Measured, ///< a public model that was compared with hardware bit by bit
  Assumed,  ///< a model that no public source has compared with this hardware
  Near,     ///< within a bound of the exact value; the hardware's bits are not published
};
const char *nameOf(Nearness nearness);

struct ResultRow {
  const char *what;
  bool (*takes)(const KnownInstruction &);
  Nearness nearness;
  const char *known; ///< what the emulator computes, and the source
};
/// In order: the first row that takes an instruction is its own. The last one takes all.
std::span<const ResultRow> resultRows();

/// Where the cycles of instructions come from.
enum class TimeEvidence : uint8_t {
  Measured,   ///< on hardware, by others: traces of waves, pointer chases
  Documented, ///< by AMD: ISA manuals, tables of passes, peak rates
  Compiler,   ///< LLVM's scheduling models, which its authors do not say to have measured
  Assumed,    ///< no source was found
};
const char *nameOf(TimeEvidence evidence);

struct TimeRow {
  const char *what;
  bool (*takes)(const KnownInstruction &);
  /// In the estimate: issue cycles, or cycles until the data of an access are there.
  unsigned (*cycles)(const KnownInstruction &, const TimingFigures &);
  TimeEvidence evidence;
  const char *known; ///< the source, and what is not modelled
};
std::span<const TimeRow> timeRows();

/// The place of the row that takes an instruction.
template <class Row>
std::size_t rowOf(std::span<const Row> rows, const KnownInstruction &instruction) {
  std::size_t at = 0;
  while (!rows[at].takes(instruction))
    ++at;
  return at;
}

/// Calls visit for each instruction that the emulator has of a target.
void eachKnown(const Machine &machine, const std::function<void(const KnownInstruction &)> &visit);

/// The report in Markdown: a table of results and one of times, over the targets.
std::string fidelityReport(const std::vector<std::string> &targets);

} // namespace flyemu
