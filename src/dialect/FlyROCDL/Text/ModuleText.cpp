#include "dialect/FlyROCDL/Text/ModuleText.h"

#include "dialect/Fly/Text/StatementText.h"
#include "dialect/FlyROCDL/Text/LaterRocdl.h"

#include "llvm/ADT/StringExtras.h"

#include <optional>

namespace mlir::fly_rocdl {

using fly::splitList;
using fly::StatementText;
using fly::StatementWriter;

namespace {

/// Rewrites one operation at a time. The writer's text ends with the operation's name, and `rest`
/// follows it; what a function rewrites it takes off `rest`. What it does not understand it leaves
/// as it is.
class LaterSpelling {
public:
  explicit LaterSpelling(StatementWriter &out) : out_(out) {}

  void spell(llvm::StringRef name, llvm::StringRef &rest) {
    out_.dropConstants();
    if (const LaterIntrinsic *row = findLaterIntrinsic(name))
      return call(*row, name, rest);
    if (name.starts_with("rocdl.raw.ptr.buffer.") || name.starts_with("rocdl.raw.buffer.") ||
        name.starts_with("rocdl.mfma.") || name.starts_with("rocdl.smfmac."))
      return immediates(name, rest);
    if (name == "rocdl.sched.barrier" || name == "rocdl.sched.group.barrier")
      return masks(rest);
    if (name.starts_with("rocdl.wmma."))
      return namedImmediates(rest);
    if (name == "rocdl.global.prefetch" || name == "rocdl.flat.prefetch")
      return prefetch(rest);
    if (name == "gpu.ballot")
      return out_.replaceName(name, "rocdl.ballot");
    if (name == "gpu.barrier")
      return barrier(name, rest);
    if (name == "arith.extui" || name == "arith.index_castui" || name == "arith.uitofp")
      return dropWord(rest, " nneg");
    if (name == "llvm.fpext" || name == "llvm.fptrunc")
      return drop(rest, " fastmath<", '>');
  }

private:
  /// An operation of later versions becomes a call of its intrinsic.
  void call(const LaterIntrinsic &row, llvm::StringRef name, llvm::StringRef &rest) {
    const StatementText statement(rest);
    llvm::StringRef operandText = statement.operands, result = statement.types;
    if (name == "rocdl.rsq") { // `%x f32 -> f32`, without a colon
      auto [operand, types] = operandText.split(' ');
      return finish(row, name, rest, statement, operand, types.split("->").first.trim(),
                    types.split("->").second.trim());
    }
    switch (row.text) {
    case TypesText::None:
      return finish(row, name, rest, statement, operandText, row.types, {});
    case TypesText::Operands:
      return finish(row, name, rest, statement, operandText, statement.types, {});
    case TypesText::Result:
      // A range of an id is a promise that nothing depends on.
      return finish(row, name, rest, statement, row.arguments.empty() ? "" : operandText, row.types,
                    result);
    case TypesText::Function: {
      auto [operands, to] = statement.types.split("->");
      operands = operands.trim();
      if (!operands.consume_front("(") || !operands.consume_back(")"))
        return;
      return finish(row, name, rest, statement, operandText, operands, to.trim());
    }
    }
  }

  void finish(const LaterIntrinsic &row, llvm::StringRef name, llvm::StringRef &rest,
              const StatementText &statement, llvm::StringRef operandText,
              llvm::StringRef operandTypes, llvm::StringRef result) {
    llvm::SmallVector<llvm::StringRef> operands = splitList(operandText),
                                       types = splitList(operandTypes);
    std::string values, valueTypes;
    size_t nextOperand = 0, nextType = 0;
    auto put = [&](llvm::StringRef value, const llvm::Twine &type) {
      values += (values.empty() ? "" : ", ") + value.str();
      valueTypes += (valueTypes.empty() ? "" : ", ") + type.str();
    };
    for (const IntrinsicArgument &argument : row.arguments) {
      std::optional<int64_t> number;
      if (argument.kind == IntrinsicArgument::Attribute) {
        number = attribute(statement.attributes, argument.name);
      } else {
        if (nextOperand == operands.size())
          return;
        llvm::StringRef operand = operands[nextOperand++];
        if (argument.kind == IntrinsicArgument::Operand) {
          if (!operand.starts_with("%") || nextType == types.size())
            return;
          put(operand, types[nextType++]);
          continue;
        }
        number = immediateNumber(operand);
      }
      if (!number)
        return;
      put(out_.constant(*number, argument.bits), "i" + llvm::Twine(unsigned(argument.bits)));
    }
    if (nextOperand != operands.size())
      return;
    out_.placeConstants(name);
    out_.replaceName(name, ("llvm.call_intrinsic \"llvm.amdgcn." + row.name + "\"(" + values +
                            ") : (" + valueTypes + ") -> " + (result.empty() ? "()" : result))
                               .str());
    rest = statement.rest;
  }

  /// The value of a named attribute of a dictionary's inside; 0 where it is not there.
  static std::optional<int64_t> attribute(llvm::StringRef dictionary, llvm::StringRef name) {
    for (llvm::StringRef entry : splitList(dictionary)) {
      auto [key, value] = entry.split('=');
      if (key.trim() == name)
        return immediateNumber(value.trim().split(' ').first);
    }
    return 0;
  }

  /// Immediates among the operands become constants.
  void immediates(llvm::StringRef name, llvm::StringRef &rest) {
    const StatementText statement(rest);
    std::string spelled;
    llvm::SmallVector<bool> isImmediate;
    for (llvm::StringRef operand : splitList(statement.operands)) {
      std::optional<int64_t> number = immediateNumber(operand);
      if (!number && !operand.starts_with("%"))
        return;
      isImmediate.push_back(number.has_value());
      spelled +=
          (spelled.empty() ? "" : ", ") + (number ? out_.constant(*number, 32) : operand.str());
    }
    if (!llvm::is_contained(isImmediate, true))
      return;
    std::string types = statement.types.str();
    if (statement.types.starts_with("(") && !withImmediates(statement.types, isImmediate, types))
      return;
    out_.placeConstants(name);
    if (out_.hasResults(name) && hasResultOnlyLater(name)) {
      const llvm::StringRef resource =
          name.starts_with("rocdl.raw.ptr.") ? "!llvm.ptr<8>" : "vector<4xi32>";
      out_.replaceName(name, ("llvm.call_intrinsic \"llvm.amdgcn." + name.drop_front(6) + "\"(" +
                              spelled + ") : (" + types + ", " + resource + ", i32, i32, i32) -> " +
                              types)
                                 .str());
    } else {
      out_.append(" " + spelled);
      if (!statement.attributes.empty())
        out_.append((" {" + statement.attributes + "}").str());
      if (!types.empty())
        out_.append(" : " + types);
    }
    rest = statement.rest;
  }

  /// The operation gives the memory's old value in later versions alone; the intrinsic always did.
  static bool hasResultOnlyLater(llvm::StringRef name) {
    return (name.consume_front("rocdl.raw.ptr.buffer.atomic.") ||
            name.consume_front("rocdl.raw.buffer.atomic.")) &&
           name != "cmpswap";
  }

  /// `(types) -> type` with an i32 for each immediate.
  static bool withImmediates(llvm::StringRef type, llvm::ArrayRef<bool> isImmediate,
                             std::string &spelled) {
    auto [operands, result] = type.split("->");
    operands = operands.trim();
    llvm::SmallVector<llvm::StringRef> given = splitList(operands.drop_front().drop_back());
    spelled = "(";
    size_t next = 0;
    for (size_t i = 0; i < isImmediate.size(); ++i) {
      if (!isImmediate[i] && next == given.size())
        return false;
      spelled += i ? ", " : "";
      spelled += isImmediate[i] ? "i32" : given[next++];
    }
    spelled += (") -> " + result.trim()).str();
    return next == given.size();
  }

  /// Masks by name become numbers.
  void masks(llvm::StringRef &rest) {
    llvm::StringRef names =
        rest.ltrim(' ').take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '|'; });
    if (std::optional<unsigned> mask = schedMasks(names)) {
      out_.append(" " + std::to_string(*mask));
      rest = rest.drop_front(static_cast<size_t>(names.end() - rest.begin()));
    }
  }

  /// `%a, %b, modC = neg {reuseA = true}` becomes `%a, %b {modC = 1 : i16, reuseA = true}`.
  void namedImmediates(llvm::StringRef &rest) {
    const StatementText statement(rest);
    std::string operands, attributes;
    for (llvm::StringRef operand : splitList(statement.operands)) {
      if (!operand.contains('=')) {
        operands += (operands.empty() ? "" : ", ") + operand.str();
        continue;
      }
      auto [key, value] = operand.split('=');
      std::optional<int64_t> number = immediateNumber(value.trim());
      if (!number)
        return;
      attributes += (attributes.empty() ? "" : ", ") + key.trim().str() + " = " +
                    std::to_string(*number) + (key.trim() == "modC" ? " : i16" : " : i32");
    }
    if (attributes.empty())
      return;
    if (!statement.attributes.empty())
      attributes += ", " + statement.attributes.str();
    out_.append(" " + operands + " {" + attributes + "} : " + statement.types.str());
    rest = statement.rest;
  }

  /// `%ptr, 8` becomes `%ptr, scope 8`.
  void prefetch(llvm::StringRef &rest) {
    const StatementText statement(rest);
    auto [pointer, policy] = statement.operands.split(',');
    if (!immediateNumber(policy.trim()))
      return;
    out_.append((" " + pointer + ", scope " + policy.trim() + " : " + statement.types).str());
    rest = statement.rest;
  }

  /// `gpu.barrier memfence [...] scope <subgroup>`. Without a scope it is one of the workgroup,
  /// which this version's is too; it orders all memories. A wave needs no more than that the
  /// compiler keeps its order.
  void barrier(llvm::StringRef name, llvm::StringRef &rest) {
    const StatementText statement(rest);
    llvm::StringRef scope = statement.operands.split("scope <").second.split('>').first;
    if (scope == "subgroup")
      out_.replaceName(name, "llvm.fence syncscope(\"wavefront\") release "
                             "llvm.call_intrinsic \"llvm.amdgcn.wave.barrier\"() : () -> () "
                             "llvm.fence syncscope(\"wavefront\") acquire");
    else if (!scope.empty() && scope != "workgroup")
      return;
    rest = statement.rest;
  }

  /// Leaves out `begin...end` of the statement, a promise or a permission that this version can't
  /// write.
  void drop(llvm::StringRef &rest, llvm::StringRef begin, char end) {
    const size_t line = std::min(rest.find('\n'), rest.size()), from = rest.find(begin);
    const size_t to = from < line ? rest.find(end, from) : llvm::StringRef::npos;
    if (to >= line)
      return;
    out_.append(rest.take_front(from));
    rest = rest.drop_front(to + 1);
  }
  void dropWord(llvm::StringRef &rest, llvm::StringRef word) {
    const size_t line = std::min(rest.find('\n'), rest.size()), from = rest.find(word);
    if (from >= line)
      return;
    out_.append(rest.take_front(from));
    rest = rest.drop_front(from + word.size());
  }

  StatementWriter &out_;
};

/// Whether an operation's name can stand behind this text: at the start of a line, or behind a
/// space.
bool mayBegin(char before) { return before == ' ' || before == '\n' || before == '\t'; }

} // namespace

std::string forThisMlir(llvm::StringRef text) {
  constexpr llvm::StringLiteral bytecode("ML\xefR");
  if (text.starts_with(bytecode))
    return text.str();
  StatementWriter out;
  LaterSpelling spelling(out);
  char before = '\n';
  for (;;) {
    const size_t at = text.find_first_of("rgal\""); // the dialects' first letters, and strings
    out.append(text.take_front(at));
    if (at == llvm::StringRef::npos)
      return out.take();
    if (at)
      before = text[at - 1];
    text = text.drop_front(at);
    if (text.front() == '"') {
      const size_t end = std::min(text.find_first_of("\"\n", 1), text.size() - 1) + 1;
      out.append(text.take_front(end));
      text = text.drop_front(end);
      before = '"';
      continue;
    }
    llvm::StringRef name =
        text.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    out.append(name);
    text = text.drop_front(name.size());
    if (mayBegin(before) && (name.starts_with("rocdl.") || name.starts_with("gpu.") ||
                             name.starts_with("arith.") || name.starts_with("llvm.")))
      spelling.spell(name, text);
    before = 'x';
  }
}

} // namespace mlir::fly_rocdl
