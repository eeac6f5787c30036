// Each public name of include/flydsl has a comment `///`: before it, or before the group of lines
// that it stands in. The test reads clang's syntax tree, so that nothing depends on how a
// declaration is written.
#include "markdown.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

using json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

struct Declaration {
  std::string file, name;
  std::size_t begin = 0, end = 0; ///< lines
  bool documented = false;
};

/// Collects the public declarations of one clang JSON dump. In it a location has a file and a line
/// only where they are not those of the location printed before, so that all of it is read in
/// order.
class Reader {
public:
  std::vector<Declaration> found;

  void read(const json &node, bool isPublic, const std::string &scope) {
    const std::string kind = node.value("kind", "");
    const std::string name = node.value("name", "");
    std::size_t begin = 0, end = 0;
    std::string file;
    bool documented = false;
    std::size_t index = npos;
    bool access = kind != "CXXRecordDecl" || node.value("tagUsed", "class") != "class";
    for (const auto &[key, value] : node.items()) {
      if (key == "loc") {
        location(value);
      } else if (key == "range") {
        location(value["begin"]);
        begin = line_;
        file = file_;
        location(value["end"]);
        end = line_;
        if (isPublic && wanted(node, kind, name) && !isConstructor(scope, name)) {
          index = found.size();
          found.push_back({file, scope + name, begin, end, false});
        }
      } else if (key == "inner") {
        for (const json &child : value) {
          const std::string childKind = child.value("kind", "");
          documented = documented || childKind == "FullComment";
          if (childKind == "AccessSpecDecl")
            access = child.value("access", "") == "public";
          read(child, isPublic && enters(node, kind, name) && access, scope + name + "::");
        }
      } else {
        skip(value);
      }
    }
    if (index != npos)
      found[index].documented = documented;
  }

private:
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  void location(const json &where) {
    if (where.contains("expansionLoc")) {
      location(where["spellingLoc"]);
      location(where["expansionLoc"]);
      return;
    }
    if (where.contains("file"))
      file_ = where["file"];
    if (where.contains("line"))
      line_ = where["line"];
  }
  /// Locations inside of what else a node has count too.
  void skip(const json &value) {
    if (!value.is_structured())
      return;
    if (value.is_object() && value.contains("offset"))
      return location(value);
    for (const auto &child : value)
      skip(child);
  }

  /// Whether the members of a node are looked at.
  static bool enters(const json &node, const std::string &kind, const std::string &name) {
    if (kind == "NamespaceDecl")
      return name != "detail" && name != "impl";
    if (kind == "ClassTemplateDecl")
      return true;
    return kind == "CXXRecordDecl" && node.contains("definitionData");
  }
  /// Templates of constructors have no kind of their own: the name is "Class", or "Class<T>".
  static bool isConstructor(const std::string &scope, const std::string &name) {
    return scope.ends_with("::" + name.substr(0, name.find('<')) + "::");
  }
  /// Whether a function is there to be refused by the compiler, as a deleted one is.
  static bool refused(const json &node) {
    if (!node.contains("inner"))
      return false;
    const bool isTemplate = node.value("kind", "") == "FunctionTemplateDecl";
    return std::any_of(node["inner"].begin(), node["inner"].end(), [&](const json &child) {
      return child.value("kind", "") == "UnavailableAttr" || (isTemplate && refused(child));
    });
  }
  static bool wanted(const json &node, const std::string &kind, const std::string &name) {
    static const std::set<std::string> kinds = {
        "FunctionDecl",  "FunctionTemplateDecl", "CXXMethodDecl",
        "CXXRecordDecl", "ClassTemplateDecl",    "EnumDecl",
        "VarDecl",       "CXXConversionDecl",    "ConceptDecl"};
    // What a kernel's parameters have in common (flydsl/detail/arg_type.h).
    static const std::set<std::string> plumbing = {"param_kind", "param_dtype", "from_param"};
    if (!kinds.count(kind) || name.empty() || node.value("isImplicit", false) ||
        node.contains("previousDecl") || node.contains("explicitlyDefaulted") ||
        node.contains("explicitlyDeleted") || name == "operator=" || plumbing.count(name) ||
        name[0] == '<' || refused(node))
      return false;
    return kind == "ClassTemplateDecl"
               ? std::any_of(node["inner"].begin(), node["inner"].end(),
                             [](const json &child) {
                               return child.value("kind", "") == "CXXRecordDecl" &&
                                      child.contains("definitionData");
                             })
               : kind != "CXXRecordDecl" || node.contains("definitionData");
  }

  std::string file_;
  std::size_t line_ = 0;
};

/// The dumps of all public headers: one object after the other.
std::vector<Declaration> publicDeclarations() {
  const fs::path scratch = FLYDSL_SCRATCH_DIR, include = fs::path(FLYDSL_SOURCE_DIR) / "include";
  fs::create_directories(scratch);
  std::ofstream all(scratch / "all.cpp");
  for (const auto &entry : fs::recursive_directory_iterator(include / "flydsl"))
    if (entry.path().extension() == ".h")
      all << "#include <" << fs::relative(entry.path(), include).string() << ">\n";
  all.close();
  const fs::path dump = scratch / "all.json";
  const std::string command = std::string(FLYDSL_CLANGXX) + " -std=c++20 -I'" + include.string() +
                              "' -fsyntax-only -fparse-all-comments -Xclang -ast-dump=json "
                              "-Xclang -ast-dump-filter=flydsl '" +
                              (scratch / "all.cpp").string() + "' > '" + dump.string() + "'";
  REQUIRE(std::system(command.c_str()) == 0);

  std::vector<Declaration> declarations;
  std::ifstream file(dump);
  while (file >> std::ws && file.peek() == '{') {
    json tree;
    file >> tree;
    if (tree.value("kind", "") != "NamespaceDecl" || tree.value("name", "") != "flydsl")
      continue;
    Reader reader;
    reader.read(tree, true, "");
    for (Declaration &declaration : reader.found)
      declarations.push_back(std::move(declaration));
  }
  return declarations;
}

} // namespace

TEST_CASE("each public declaration has a comment, or is of a group that has one", "[docs]") {
  std::vector<Declaration> declarations = publicDeclarations();
  std::size_t documented = 0;
  std::string missing;
  const Declaration *before = nullptr;
  for (Declaration &declaration : declarations) {
    const std::size_t at = declaration.file.find("include/flydsl/");
    if (declaration.file.find("/detail/", at) != std::string::npos)
      continue;
    // A comment speaks for the declarations that follow its own one on the next lines.
    if (before && before->documented && before->file == declaration.file &&
        before->end + 1 == declaration.begin)
      declaration.documented = true;
    documented += declaration.documented;
    if (!declaration.documented)
      missing += declaration.file.substr(at) + ":" + std::to_string(declaration.begin) + ": " +
                 declaration.name + "\n";
    before = &declaration;
  }
  CHECK(documented > 500);
  CHECK(missing == "");
}
