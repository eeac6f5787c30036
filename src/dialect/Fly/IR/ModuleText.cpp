#include "dialect/Fly/IR/ModuleText.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Regex.h"

#include <optional>

namespace mlir::fly {

/// The bits of llvm.amdgcn.sched.barrier's mask (LLVM, AMDGPUUsage).
static std::optional<unsigned> schedMask(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<unsigned>>(name)
      .Case("none", 0)
      .Case("non_mem_non_sideeffect", 0x1)
      .Case("valu", 0x2)
      .Case("salu", 0x4)
      .Case("mfma_wmma", 0x8)
      .Case("all_vmem", 0x10)
      .Case("vmem_read", 0x20)
      .Case("vmem_write", 0x40)
      .Case("all_ds", 0x80)
      .Case("ds_read", 0x100)
      .Case("ds_write", 0x200)
      .Case("transcendental", 0x400)
      .Default(std::nullopt);
}

/// `valu|ds_read` as a number.
static std::optional<unsigned> schedMasks(llvm::StringRef names) {
  llvm::SmallVector<llvm::StringRef, 4> parts;
  names.split(parts, '|');
  unsigned mask = 0;
  for (llvm::StringRef part : parts) {
    std::optional<unsigned> bits = schedMask(part.trim());
    if (!bits)
      return std::nullopt;
    mask |= *bits;
  }
  return mask;
}

/// Numbers, formats of `rocdl.mfma.scale`'s operands and permutations of B, as the immediates count
/// them.
static std::optional<int64_t> immediate(llvm::StringRef token) {
  int64_t number;
  if (!token.getAsInteger(10, number))
    return number;
  return llvm::StringSwitch<std::optional<int64_t>>(token)
      .Case("fp8_e4m3", 0)
      .Case("fp8_e5m2", 1)
      .Case("fp6_e2m3", 2)
      .Case("fp6_e3m2", 3)
      .Case("fp4_e2m1", 4)
      .Case("none", 0)
      .Case("bcast_first_32", 1)
      .Case("bcast_second_32", 2)
      .Case("rotate_16_right", 3)
      .Case("bcast_first_16", 4)
      .Case("bcast_second_16", 5)
      .Case("bcast_third_16", 6)
      .Case("bcast_fourth_16", 7)
      .Default(std::nullopt);
}

/// Where the statement begins whose operation is to follow `text`: in front of its results.
static size_t statementStart(llvm::StringRef text) {
  static const llvm::Regex results("(%[A-Za-z0-9_$.-]+(:[0-9]+)? *,? *)+= *$");
  llvm::SmallVector<llvm::StringRef> found;
  size_t line = text.rfind('\n') + 1; // npos + 1 is the text's start
  if (!results.match(text.drop_front(line), &found))
    return text.size();
  return static_cast<size_t>(found[0].data() - text.data());
}

/// The parts of a list at its outermost commas.
static llvm::SmallVector<llvm::StringRef> splitList(llvm::StringRef list) {
  llvm::SmallVector<llvm::StringRef> parts;
  int depth = 0;
  size_t from = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    char c = list[i];
    depth += (c == '<' || c == '(') - (c == '>' || c == ')');
    if (c == ',' && depth == 0) {
      parts.push_back(list.slice(from, i).trim());
      from = i + 1;
    }
  }
  if (!list.trim().empty())
    parts.push_back(list.drop_front(from).trim());
  return parts;
}

/// The operation gives the memory's old value in later versions alone; the intrinsic always did.
static bool hasResultOnlyLater(llvm::StringRef name) {
  return name.consume_front("rocdl.raw.ptr.buffer.atomic.") && name != "cmpswap";
}

namespace {
/// Writes operations with their immediates as constants in front of them.
class Immediates {
public:
  /// `out` ends with the operation's name; `rest` is what follows it, of which the operands and a
  /// functional type are taken.
  void spell(std::string &out, llvm::StringRef name, llvm::StringRef &rest) {
    const size_t end = std::min(rest.find_first_of(":{\n"), rest.find(" loc("));
    const llvm::StringRef list = rest.take_front(end);
    llvm::SmallVector<llvm::StringRef> operands = splitList(list);
    std::string constants, spelled;
    llvm::SmallVector<bool> isImmediate;
    for (llvm::StringRef operand : operands) {
      std::optional<int64_t> value = immediate(operand);
      if (!value && !operand.starts_with("%"))
        return;
      isImmediate.push_back(value.has_value());
      spelled += spelled.empty() ? " " : ", ";
      if (!value) {
        spelled += operand;
        continue;
      }
      const std::string constant = "%__immediate" + std::to_string(count_++);
      constants += constant + " = llvm.mlir.constant(" + std::to_string(*value) + " : i32) : i32 ";
      spelled += constant;
    }
    if (constants.empty())
      return;
    llvm::StringRef type = rest.drop_front(list.size());
    std::string types;
    if (type.starts_with(": (") && !spellTypes(type, isImmediate, types))
      return;
    const size_t nameAt = out.size() - name.size(),
                 start = statementStart(llvm::StringRef(out).take_front(nameAt));
    if (start != nameAt && hasResultOnlyLater(name) && type.consume_front(": ")) {
      llvm::StringRef value = type.take_front(std::min(type.find('\n'), type.find(" loc(")));
      type = type.drop_front(value.size());
      value = value.rtrim();
      out.resize(nameAt);
      out += ("llvm.call_intrinsic \"llvm.amdgcn." + name.drop_front(6) + "\"(" + spelled +
              ") : (" + value + ", !llvm.ptr<8>, i32, i32, i32) -> " + value)
                 .str();
    } else {
      out += spelled + " " + types;
    }
    out.insert(start, constants);
    rest = type;
  }

private:
  /// Takes ": (types" off `type`, with i32 where an operand is an immediate.
  static bool spellTypes(llvm::StringRef &type, llvm::ArrayRef<bool> isImmediate,
                         std::string &spelled) {
    const size_t close = type.find(')');
    if (close == llvm::StringRef::npos)
      return false;
    llvm::SmallVector<llvm::StringRef> given = splitList(type.slice(3, close));
    spelled = ": (";
    size_t next = 0;
    for (size_t i = 0; i < isImmediate.size(); ++i) {
      if (!isImmediate[i] && next == given.size())
        return false;
      spelled += i ? ", " : "";
      spelled += isImmediate[i] ? "i32" : given[next++];
    }
    type = type.drop_front(close);
    return next == given.size();
  }
  unsigned count_ = 0;
};
} // namespace

std::string forThisMlir(llvm::StringRef text) {
  constexpr llvm::StringLiteral bytecode("ML\xefR");
  if (text.starts_with(bytecode))
    return text.str();
  std::string out;
  out.reserve(text.size());
  Immediates immediates;
  for (;;) {
    size_t at = text.find("rocdl.");
    out += text.take_front(at);
    if (at == llvm::StringRef::npos)
      return out;
    text = text.drop_front(at);
    llvm::StringRef name =
        text.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    out += name;
    text = text.drop_front(name.size());
    if (name.starts_with("rocdl.raw.ptr.buffer.") || name.starts_with("rocdl.mfma.")) {
      immediates.spell(out, name, text);
    } else if (name == "rocdl.sched.barrier" || name == "rocdl.sched.group.barrier") {
      llvm::StringRef names = text.ltrim(' ').take_while(
          [](char c) { return llvm::isAlnum(c) || c == '_' || c == '|'; });
      if (std::optional<unsigned> mask = schedMasks(names)) {
        out += ' ' + std::to_string(*mask);
        text = text.drop_front(static_cast<size_t>(names.end() - text.begin()));
      }
    }
  }
}

} // namespace mlir::fly
