// What may be named where: processors, IR as text, vendors, and words of messages.
#include "rules.h"

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <set>

namespace house {
namespace {

std::string stripped(const std::string &line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first == std::string::npos ? "" : line.substr(first);
}

bool isSource(const File &file) { return file.path.ends_with(".h") || file.path.ends_with(".cpp"); }

/// Whether a name is a vendor's: it has one of these parts.
bool namesVendor(const std::string &word) {
  static const std::regex parts("amd|rocm|rocdl|hip|hsa|gfx|mfma|wmma|vgpr|agpr|sgpr|waves_per_eu|"
                                "soffset|imm_offset|cuda|nvidia",
                                std::regex::icase);
  return !word.starts_with("FLYDSL") && std::regex_search(word, parts);
}

/// A folder whose files name no vendor.
struct Neutral {
  std::string folder;
  bool isDeep;                     ///< the folders in it are meant, too
  std::vector<std::string> except; ///< files and folders that the rule leaves out
};
const std::vector<Neutral> kNeutral{
    {.folder = "include/flydsl",
     .isDeep = false,
     .except =
         {
             "include/flydsl/flydsl.h",           // the umbrella
             "include/flydsl/rocdl.h",            // the former places of AMD's headers
             "include/flydsl/rocdl_intrinsics.h", //
             "include/flydsl/emulator.h",         // the C interface of a HIP library
         }},
    {.folder = "include/flydsl/coop", .isDeep = true, .except = {}},
    {.folder = "include/flydsl/detail", .isDeep = true, .except = {}},
    {.folder = "include/flydsl/host", .isDeep = true, .except = {}},
    {.folder = "include/flydsl/kernel", .isDeep = true, .except = {}},
    {.folder = "include/flydsl/layout", .isDeep = true, .except = {}},
    {.folder = "src/builder",
     .isDeep = true,
     .except = {"src/builder/rocdl", "src/builder/vendors/vendors.cpp"}}, // and the vendors' table
    {.folder = "src/dialect/Fly", .isDeep = true, .except = {}},
};

/// The vendor's names that public headers have, for reasons that docs/house.md gives. The builder and
/// the neutral dialect have none.
const std::map<std::string, std::set<std::string>> kNamed{
    {"include/flydsl/kernel/copy.h", {"imm_offset", "soffset"}},
    {"include/flydsl/detail/kernel_spec.h", {"waves_per_eu"}},
    {"include/flydsl/host/executable.h", {"hsaco"}},
    {"include/flydsl/host/stream.h", {"ihipEvent_t", "ihipStream_t"}},
    {"include/flydsl/target.h", {"amd", "gfx1250", "mfma", "mfma_scale", "wmma", "wmma_scale"}},
};

std::vector<std::string> vendorsIn(const File &file) {
  std::vector<std::string> found;
  for (const std::string &line : file.lines)
    for (const std::string &word : wordsOf(codeOf(line, Texts::emptied)))
      if (namesVendor(word))
        found.push_back(word);
  for (const Include &include : includesOf(file))
    for (const std::string &word : wordsOf(include.target))
      if (namesVendor(word))
        found.push_back(word);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

} // namespace

Findings targetNames(const Tree &tree) {
  // Names stand in tables, where they are looked up whole. A test whether a text is a target id at
  // all ("gfx", no digit) is no decision by a name.
  static const std::string name = "\"gfx[0-9]";
  static const std::regex comparison(
      "(substr|compare|find|startsWith|starts_with|startswith|consume|consume_front|equals|strcmp|"
      "strncmp|memcmp)\\([^\"]*" +
      name + "|[=!]= *" + name + "|" + name + "[a-z0-9]*\" *[=!]=|" + "Cases?\\(\\{? *" + name);
  Findings found;
  for (const File &file : tree.files)
    if (file.isIn("src") && isSource(file))
      for (const std::string &line : file.lines)
        if (line.find("\"gfx") != std::string::npos && std::regex_search(line, comparison))
          found.push_back(file.path + ": " + stripped(line));
  return found;
}

namespace {
/// A table with rows for processors.
struct TargetTable {
  std::string path;
  bool byName; ///< by their names; otherwise by their generations
};
const std::vector<TargetTable> kTargetTables{
    {"src/emulator/isa/machine.cpp", true}, // the emulator's machine, and how its LDS serves lanes
    {"src/emulator/loader/target_id.cpp", true}, // the number in an ELF file
    {"src/target/matrix_table.cpp", false},      // matrix instructions
    {"src/target/processors.cpp", true},         // what code may do
    {"src/target/products.cpp", true},           // GPUs as they are sold
};
} // namespace

std::vector<std::string> targetTables() {
  std::vector<std::string> paths;
  for (const TargetTable &table : kTargetTables)
    paths.push_back(table.path);
  return paths;
}

Findings targetPlaces(const Tree &tree) {
  static const std::regex whole("gfx[0-9]+[a-f]?");
  Findings found;
  for (const File &file : tree.files) {
    if (!file.isIn("src") && !file.isIn("include") && !file.isIn("kernels") && !file.isIn("tools"))
      continue;
    std::string first;
    for (const std::string &line : file.lines) {
      if (line.find("\"gfx") == std::string::npos)
        continue;
      for (const std::string &text : textsOf(line))
        if (first.empty() && std::regex_match(text, whole))
          first = stripped(line);
    }
    const auto table = std::find_if(kTargetTables.begin(), kTargetTables.end(),
                                    [&](const TargetTable &row) { return row.path == file.path; });
    const bool may = table != kTargetTables.end() && table->byName;
    if (!first.empty() && !may)
      found.push_back(file.path + " names a processor outside of the tables: " + first);
    if (first.empty() && may)
      found.push_back(file.path + " names no processor any more: take it out of kTargetTables");
  }
  return found;
}

Findings builderText(const Tree &tree) {
  static const std::string dialects =
      "(fly|fly_rocdl|arith|math|scf|gpu|vector|func|memref|rocdl|llvm)";
  static const std::regex text(
      "\"" + dialects + "\\.[a-z_]|" +  // an operation: "arith.addi"
      "\"[!#]" + dialects + "[.<\"]|" + // a type or an attribute: "!fly.layout<"
      "(parseType|parseAttribute|parseSourceString|parseSourceFile)\\(|" +
      "(str|typeText|describe|getStringRef)\\([^()]*(\\([^()]*\\))?[^()]*\\)\\.(find|rfind|"
      "contains|"
      "substr|compare|starts_with|ends_with|startswith|endswith|split)\\(|" +
      "getStringRef\\(\\) *[=!]=");
  static const std::regex intrinsic(
      "\"llvm\\.(amdgcn\\.|trap|readsteadycounter)"); // they have no classes
  Findings found;
  for (const File &file : tree.files)
    if ((file.isIn("src/builder") || file.isIn("include/flydsl")) && isSource(file))
      for (const std::string &line : file.lines) {
        const std::string code = codeOf(line, Texts::kept);
        if (code.find_first_of("\"(") == std::string::npos ||
            stripped(code).starts_with("#include"))
          continue;
        if (std::regex_search(std::regex_replace(code, intrinsic, "\""), text))
          found.push_back(file.path + ": " + stripped(line));
      }
  return found;
}

Findings neutralNames(const Tree &tree) {
  Findings found;
  for (const Neutral &neutral : kNeutral)
    for (const File &file : tree.files) {
      if (neutral.isDeep ? !file.isIn(neutral.folder) : file.folder() != neutral.folder)
        continue;
      if (std::any_of(neutral.except.begin(), neutral.except.end(), [&](const std::string &left) {
            return file.path == left || file.isIn(left);
          }))
        continue;
      const auto row = kNamed.find(file.path);
      const std::set<std::string> may = row == kNamed.end() ? std::set<std::string>() : row->second;
      const std::vector<std::string> has = vendorsIn(file);
      for (const std::string &word : has)
        if (!may.contains(word))
          found.push_back(file.path + " names a vendor: " + word);
      for (const std::string &word : may)
        if (!std::binary_search(has.begin(), has.end(), word))
          found.push_back(file.path + " does not have " + word +
                          " any more: take it out of tests/house/names.cpp");
    }
  return found;
}

Findings messageWords(const Tree &tree) {
  struct Word {
    std::string what, better;
  };
  static const std::array<Word, 7> kWords{{
      {"\\b(has|have) not([.,;:]|$)", "does not have"},
      {"\\bnobody\\b", "no thread, no caller"},
      {"\\bbeside\\b", "besides, next to"},
      {"\\bof which\\b", "whose, or two sentences"},
      {"\\bapart\\b", "stride, distance"},
      {"\\bbehind\\b", "after"},
      {"\\bas many [a-z]+ as there are\\b", "a sentence with its subject first"},
  }};
  static const std::vector<std::pair<std::regex, std::string>> patterns = [] {
    std::vector<std::pair<std::regex, std::string>> made;
    for (const Word &word : kWords)
      made.emplace_back(std::regex(word.what), word.better);
    return made;
  }();
  Findings found;
  for (const File &file : tree.files)
    if (file.isIn("src") || file.isIn("include") || file.isIn("kernels") || file.isIn("tools"))
      for (const std::string &line : file.lines) {
        if (line.find('"') == std::string::npos)
          continue;
        for (const std::string &text : textsOf(line))
          for (const auto &[pattern, better] : patterns)
            if (text.find(' ') != std::string::npos && std::regex_search(text, pattern))
              found.push_back(file.path + ": \"" + text + "\"; better: " + better);
      }
  return found;
}

} // namespace house
