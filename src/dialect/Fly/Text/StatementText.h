// The text of one operation in its own syntax, taken apart and put together again.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::fly {

/// `operands {attributes} : types`, which is what follows an operation's name. What is not there is
/// empty. It ends with its line, or where the operation's location begins.
struct StatementText {
  llvm::StringRef operands, attributes, types;
  llvm::StringRef rest; ///< What follows the statement: its location, the next lines.

  explicit StatementText(llvm::StringRef afterName);
};

/// The parts of a list at its outermost commas, without the spaces around them.
llvm::SmallVector<llvm::StringRef> splitList(llvm::StringRef list);

/// A module's text as it is rewritten. Operations that are put in front of another one stand in its
/// line, so that lines keep their numbers.
class StatementWriter {
public:
  void append(llvm::StringRef text) { out_ += text; }
  /// Puts `text` in place of the last characters, an operation's name.
  void replaceName(llvm::StringRef name, llvm::StringRef text);
  /// Makes an integer constant in front of the operation that is being written; gives its name.
  std::string constant(int64_t value, unsigned bits);
  /// Forgets the constants of an operation that is left as it was.
  void dropConstants() { constants_.clear(); }
  /// Writes the constants that were made. The text ends with the name of the operation.
  void placeConstants(llvm::StringRef name);
  /// Whether results stand in front of the operation with which the text ends.
  bool hasResults(llvm::StringRef name) const;
  std::string take() { return std::move(out_); }

private:
  size_t statementStart(llvm::StringRef name) const;

  std::string out_, constants_;
  unsigned count_ = 0;
};

} // namespace mlir::fly
