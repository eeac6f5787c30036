// Who may include whom. docs/house.md has the same as a picture.
#include "rules.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>

namespace house {
namespace {
using Names = std::set<std::string, std::less<>>;

/// A room, and the first path components that its files may include besides the standard library's
/// headers.
struct Room {
  std::string folder;
  Names may;
};
const std::vector<Room> kRooms{
    {.folder = "src/support", .may = {"support", "flydsl", "spdlog"}},
    {.folder = "src/target", .may = {"target", "support", "flydsl"}},
    {.folder = "src/layout", .may = {"layout", "support"}},
    {.folder = "src/dialect",
     .may = {"dialect", "layout", "target", "support", "flydsl", "mlir", "llvm"}},
    {.folder = "src/builder",
     .may = {"builder", "dialect", "layout", "target", "support", "flydsl", "mlir", "llvm"}},
    {.folder = "src/runtime", .may = {"runtime", "target", "support", "flydsl", "hip"}},
    {.folder = "src/cache", .may = {"cache", "support", "flydsl"}},
    {.folder = "src/jit",
     .may = {"jit", "builder", "cache", "runtime", "dialect", "layout", "target", "support",
             "flydsl", "mlir", "llvm", "lld", "amd_comgr"}},
    {.folder = "src/emulator", .may = {"emulator", "target", "support", "hip", "llvm"}},
    {.folder = "include/flydsl", .may = {"flydsl"}},
    {.folder = "kernels", .may = {"flydsl"}}, // a user of the public API
    {.folder = "integrations", .may = {"flydsl"}}, // the same; each has its own engine's headers
};
const Names kGuarded{"support", "target", "layout", "dialect",  "builder",
                     "runtime", "cache",  "jit",    "emulator", "flydsl",
                     "mlir",    "llvm",   "lld",    "hip",      "amd_comgr"};

/// A folder of a room, and the room's other folders that its files may include; "." is the room's
/// own folder.
struct Folder {
  std::string name;
  Names may;
};
/// A room with its folders.
struct Inside {
  std::string room;     ///< below src
  bool takesSubfolders; ///< a folder's row speaks for the folders in it
  std::vector<Folder> folders;
};
const std::vector<Inside> kInside{
    {.room = "jit",
     .takesSubfolders = false,
     .folders =
         {
             {"code_object", {}},
             {"compile/options", {}},
             {"compile/guard", {}},
             {"compile/link", {"compile/guard"}},
             {"compile/codegen", {"compile/options", "compile/guard", "code_object"}},
             {"compile/rocm/schedule", {}},
             {"compile/rocm",
              {"compile/codegen", "compile/link", "compile/options", "compile/guard",
               "compile/rocm/schedule"}},
             {"compile/backends", {"compile/rocm", "compile/codegen"}},
             {"compile/module", {"compile/backends", "compile/options", "compile/guard"}},
             {"compile",
              {"compile/module", "compile/backends", "compile/codegen", "compile/options",
               "compile/guard", "code_object"}},
             {"binding", {"code_object"}},
             {"launch",
              {"binding", "compile", "compile/module", "compile/backends", "compile/options",
               "code_object"}},
             {"program", {"binding", "launch", "compile/module", "compile/options", "code_object"}},
             {"autotune", {"compile"}},
         }},
    // What every backend shares includes nothing of one backend.
    {.room = "dialect",
     .takesSubfolders = false,
     .folders =
         {
             {"Fly/Text", {}}, // knows no operation
             {"Fly/Interfaces", {}},
             {"Fly/IR", {"Fly/Text"}},
             {"Fly/Transforms", {"Fly/IR"}},
             {"FlyROCDL/Text", {"Fly/Text"}},
             {"FlyROCDL/IR", {"Fly/IR", "Fly/Interfaces", "Fly/Text"}},
             {"FlyKtrace/IR", {}},
             {"Vendors", {"FlyROCDL/IR"}},
             {"Conversion/FlyToLLVM", {"Fly/IR", "Fly/Transforms"}},
             {"Conversion/FlyToROCDL",
              {"Fly/IR", "Fly/Transforms", "FlyROCDL/IR", "FlyKtrace/IR", "Conversion/FlyToLLVM"}},
         }},
    {.room = "builder",
     .takesSubfolders = false,
     .folders =
         {
             {"trace", {}},
             {"values", {"trace"}},
             {"layout", {"trace"}},
             {"memory", {"trace", "values"}},
             {"atoms", {"trace", "layout"}},
             {"kernel", {"trace", "values", "memory"}},
             {"rocdl", {"trace", "values", "memory", "atoms", "kernel"}},
             {"vendors", {"trace", "kernel", "rocdl"}},
             {"random", {"vendors"}},
             {"coop", {"kernel", "vendors"}},
         }},
    {.room = "runtime",
     .takesSubfolders = false,
     .folders =
         {
             {"driver", {}},
             {"hip", {"driver"}},
             {"ktrace", {"."}},
             {"group", {"."}},
             {".", {"driver", "hip", "ktrace"}},
         }},
    {.room = "emulator",
     .takesSubfolders = true,
     .folders =
         {
             {"isa", {}},
             {"core", {"isa"}},
             {"matrix", {}}, // arithmetic over registers, which knows no waves
             {"ops", {"core", "isa", "matrix"}},
             {"observe", {"core", "isa", "matrix"}},
             {"fidelity", {"observe", "ops", "core", "isa", "matrix"}},
             {"loader", {"ops", "core", "isa"}},
             {"compat", {}}, // headers for programs, which no file of ours includes
             {"hip", {"observe", "loader", "ops", "core", "isa", "matrix"}},
         }},
};

/// Headers that only some files may include.
struct Door {
  std::string room;              ///< the rule is for the files of this folder
  std::string headers;           ///< which headers: a regular expression over the include's target
  std::vector<std::string> open; ///< files, or folders whose files, may include them
  std::string why;
};
const std::vector<Door> kDoors{
    {"src/emulator",
     "llvm/.*",
     {"src/emulator/isa/mc.cpp", "src/emulator/loader/offload_bundle.cpp",
      "src/emulator/loader/source_lines.cpp"},
     "is no door to LLVM"},
    {"src/emulator", "hip/.*", {"src/emulator/hip", "src/emulator/compat"}, "knows nothing of HIP"},
    {"src/jit", ".*(ROCDL|AMDGPU|amd_).*", {"src/jit/compile/rocm"}, "knows nothing of AMD"},
    {"src/jit/code_object", "(mlir|llvm|lld)[/-].*", {}, "knows no compiler"},
    {"src/jit/compile/options", "(mlir|llvm|lld)[/-].*", {}, "knows no compiler"},
    {"src/jit/autotune", "(mlir|llvm|lld)[/-].*", {}, "knows no compiler"},
    {"src/builder/random", "(mlir|llvm)[/-].*", {}, "uses the public API alone"},
    {"src/runtime", "hip/.*", {"src/runtime/hip"}, "knows nothing of HIP"},
    {"src/dialect",
     "mlir/.*(ROCDL|AMDGPU|NVVM|NVGPU).*",
     {"src/dialect/FlyROCDL", "src/dialect/Conversion/FlyToROCDL", "src/dialect/Vendors"},
     "is shared by all backends"},
};

std::string firstComponent(const std::string &target) {
  return target.substr(0, target.find_first_of("/."));
}

} // namespace

Findings roomIncludes(const Tree &tree) {
  Findings found;
  for (const Room &room : kRooms)
    for (const File &file : tree.files) {
      if (!file.isIn(room.folder))
        continue;
      for (const Include &include : includesOf(file)) {
        const std::string first = firstComponent(include.target);
        // The emulator implements the C interface that this header declares.
        const bool isOwn = room.folder == "src/emulator" && include.target == "flydsl/emulator.h";
        if (kGuarded.contains(first) && !room.may.contains(first) && !isOwn)
          found.push_back(file.path + " may not include " + first + ": " + include.line);
      }
    }
  return found;
}

Findings folderIncludes(const Tree &tree) {
  Findings found;
  for (const Inside &inside : kInside) {
    const auto folderOf = [&](const std::string &path) -> std::string { // path below the room
      const std::size_t end = inside.takesSubfolders ? path.find('/') : path.rfind('/');
      return end == std::string::npos ? "." : path.substr(0, end);
    };
    const std::string top = "src/" + inside.room + "/";
    for (const File &file : tree.files) {
      if (!file.path.starts_with(top) || file.path.ends_with(".td"))
        continue;
      const std::string name = folderOf(file.path.substr(top.size()));
      const auto row = std::find_if(inside.folders.begin(), inside.folders.end(),
                                    [&](const Folder &folder) { return folder.name == name; });
      if (row == inside.folders.end()) {
        found.push_back(file.path + " is in a folder that this rule does not know");
        continue;
      }
      for (const Include &include : includesOf(file)) {
        if (!include.target.starts_with(inside.room + "/"))
          continue;
        const std::string other = folderOf(include.target.substr(inside.room.size() + 1));
        if (other != name && !row->may.contains(other))
          found.push_back(file.path + " may not include " + inside.room + "/" + other + ": " +
                          include.line);
      }
    }
  }
  return found;
}

Findings doors(const Tree &tree) {
  Findings found;
  for (const Door &door : kDoors) {
    const std::regex headers(door.headers);
    for (const File &file : tree.files) {
      if (!file.isIn(door.room) ||
          std::any_of(door.open.begin(), door.open.end(), [&](const std::string &open) {
            return file.path == open || file.isIn(open);
          }))
        continue;
      for (const Include &include : includesOf(file))
        if (std::regex_match(include.target, headers))
          found.push_back(file.path + " " + door.why + ": " + include.line);
    }
  }
  return found;
}

} // namespace house
