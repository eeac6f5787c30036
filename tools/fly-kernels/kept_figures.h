// Figures of problems that are kept in a file, so that a change which makes one worse is seen where
// no GPU is: estimated times, instructions, registers and memory of a call, summed over its launches;
// or instructions, registers and memory of code that is not run.
#pragma once

#include <flydsl/host/counters.h>
#include <flydsl/host/executable.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace fly_kernels {

/// Classes of instructions; those of `scheduling` are no figure, because the scheduler puts them in.
enum class CodeClass { matrix, vector, scalar, scalar_memory, memory, lds, scheduling };
/// How many instructions of each class there are.
using CodeCounts = std::array<std::size_t, static_cast<std::size_t>(CodeClass::scheduling) + 1>;

/// What a call did: its launches, and the code that they ran.
struct CallRecord {
  std::vector<flydsl::LaunchCounters> launches;
  std::vector<flydsl::Executable> code;
  CodeCounts counts = {}; ///< of the code; figuresOf fills them in
};

/// A figure of a call: how it is named in a file and in messages, and by how much it may grow. It is
/// worse when it has grown by more than its share and by more than its absolute allowance.
struct FigureKind {
  const char *name;
  const char *what;
  double (*of)(const CallRecord &);
  double share;    ///< of the kept figure
  double absolute; ///< in the figure's unit
  bool moreIsBetter = false;
};

/// What is looked at: a call that ran, or code alone, whose instructions are counted once each.
enum class FiguresOf { call, code };

/// All figures, in the order of a file's columns.
std::span<const FigureKind> figureKinds(FiguresOf of = FiguresOf::call);

/// The figures of a call with a number of rows, or of a configuration's code.
struct CallFigures {
  std::string problem;             ///< with its rows; of code, also with its configuration
  std::string configuration = {};  ///< empty where the target does not support the problem
  std::vector<double> values = {}; ///< as figureKinds(); empty where the problem is not supported

  bool operator==(const CallFigures &) const = default;
};

/// The values of a call, as figureKinds(of).
std::vector<double> figuresOf(const CallRecord &call, FiguresOf of = FiguresOf::call);

/// What a file keeps: the figures of one product.
struct KeptFigures {
  std::string device; ///< its name, which tells the target and the product
  std::vector<CallFigures> calls;
  FiguresOf of = FiguresOf::call;

  bool operator==(const KeptFigures &) const = default;

  /// Throws flydsl::Error for a file that can't be read, or has another form than `write` gives it.
  static KeptFigures read(const std::string &path);
  /// Throws flydsl::Error for a file that can't be written.
  void write(const std::string &path) const;
};

/// How figures differ from those that are kept: a sentence each.
struct FigureChanges {
  std::vector<std::string> worse;  ///< slower, more of something, or gone
  std::vector<std::string> better; ///< changed without being worse; the file should keep them
  bool same() const { return worse.empty() && better.empty(); }
};
FigureChanges changesOf(const KeptFigures &kept, const KeptFigures &now);

} // namespace fly_kernels
