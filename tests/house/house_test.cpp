// The rules of the house, held against the source tree, and each against a breach that is planted.
#include "rules.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace {
using house::Findings;
using house::Tree;

const Tree &theTree() {
  static const Tree tree = Tree::read(PROJECT_SOURCE);
  return tree;
}

std::string listed(const Findings &found) {
  std::string text;
  for (const std::string &line : found)
    text += "\n  " + line;
  return text;
}

/// The tree keeps a rule.
void expectKept(Findings (*rule)(const Tree &)) {
  REQUIRE(theTree().files.size() > 1000); // otherwise this looks in the wrong place
  const Findings found = rule(theTree());
  INFO(listed(found));
  CHECK(found.empty());
}

/// A rule finds one breach in a tree of one file, and names it.
void expectFound(Findings (*rule)(const Tree &), const std::string &path, const std::string &text,
                 const std::string &says) {
  const Findings found = rule(Tree().add(path, text));
  INFO(path << ": " << text << listed(found));
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0], Catch::Contains(says));
}
void expectNothing(Findings (*rule)(const Tree &), const std::string &path,
                   const std::string &text) {
  const Findings found = rule(Tree().add(path, text));
  INFO(path << ": " << text << listed(found));
  CHECK(found.empty());
}

} // namespace

TEST_CASE("rooms include only the rooms below them") {
  expectKept(house::roomIncludes);
  expectFound(house::roomIncludes, "src/layout/a.h", "#include \"builder/trace/tracer.h\"\n",
              "src/layout/a.h may not include builder");
  expectFound(house::roomIncludes, "kernels/gemm/a.h", "#  include <llvm/ADT/Twine.h>\n",
              "may not include llvm");
  expectFound(house::roomIncludes, "src/emulator/a.h", "#include <flydsl/error.h>\n",
              "may not include flydsl");
  expectNothing(house::roomIncludes, "src/emulator/a.h", "#include <flydsl/emulator.h>\n");
  expectNothing(house::roomIncludes, "src/jit/a.h", "#include <vector>\n#include \"jit/b.h\"\n");
}

TEST_CASE("folders of a room include only those below them, and each is in the table") {
  expectKept(house::folderIncludes);
  expectFound(house::folderIncludes, "src/jit/compile/guard/a.cpp",
              "#include \"jit/launch/launch.h\"\n", "may not include jit/launch");
  expectFound(house::folderIncludes, "src/emulator/core/deep/a.cpp",
              "#include \"emulator/hip/stream/stream.h\"\n", "may not include emulator/hip");
  expectFound(house::folderIncludes, "src/runtime/driver/a.h", "#include \"runtime/device.h\"\n",
              "may not include runtime/.");
  expectFound(house::folderIncludes, "src/builder/new/a.h", "", "does not know");
  expectNothing(house::folderIncludes, "src/jit/launch/a.cpp", "#include \"jit/binding/b.h\"\n");
}

TEST_CASE("LLVM, AMD's dialects and HIP stand behind their doors") {
  expectKept(house::doors);
  expectFound(house::doors, "src/emulator/isa/op.h", "#include <llvm/MC/MCInst.h>\n",
              "is no door to LLVM");
  expectFound(house::doors, "src/jit/launch/a.cpp",
              "#include <mlir/Dialect/LLVMIR/ROCDLDialect.h>\n", "knows nothing of AMD");
  expectFound(house::doors, "src/runtime/device.cpp", "#include <hip/hip_runtime.h>\n",
              "knows nothing of HIP");
  expectFound(house::doors, "src/dialect/Fly/IR/A.cpp",
              "#include <mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h>\n", "shared by all backends");
  expectNothing(house::doors, "src/emulator/isa/mc.cpp", "#include <llvm/MC/MCInst.h>\n");
}

TEST_CASE("files have at most 900 lines") {
  expectKept(house::fileSizes);
  std::string lines;
  for (int i = 0; i < 900; ++i)
    lines += "int a;\n\n"; // blank lines do not count
  expectNothing(house::fileSizes, "src/a.cpp", lines);
  expectFound(house::fileSizes, "src/a.cpp", lines + "int b;\n", "has 901 lines");
}

TEST_CASE("folders have at most 40 files") {
  expectKept(house::folderSizes);
  Tree tree;
  for (int i = 0; i < 40; ++i)
    tree.add("src/room/" + std::to_string(i) + ".cpp", "");
  CHECK(house::folderSizes(tree).empty());
  const Findings found = house::folderSizes(tree.add("src/room/more.cpp", ""));
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0], Catch::Contains("src/room has 41 files"));
  // Tests too; folders inside count for themselves.
  Tree tests;
  for (int i = 0; i < 40; ++i)
    tests.add("tests/room/" + std::to_string(i) + "_test.cpp", "");
  CHECK(house::folderSizes(tests.add("tests/room/inside/a_test.cpp", "")).empty());
  CHECK(house::folderSizes(tests.add("tests/room/more_test.cpp", "")).size() == 1);
}

TEST_CASE("no room decides by a processor's name") {
  expectKept(house::targetNames);
  for (const char *text : {"if (name == \"gfx942\")", "name.starts_with(\"gfx94\")",
                           "\"gfx90a\" != name", ".Case(\"gfx1100\", 1)"})
    expectFound(house::targetNames, "src/jit/a.cpp", text, text);
  expectNothing(house::targetNames, "src/jit/a.cpp", "name.starts_with(\"gfx\")");
  expectNothing(house::targetNames, "src/target/a.cpp", "{.name = \"gfx942\"},");
}

TEST_CASE("facts about a processor stand in the tables that docs/house.md names") {
  expectKept(house::targetPlaces);
  expectFound(house::targetPlaces, "kernels/gemm/a.cpp", "{\"gfx942\", 304},",
              "names a processor outside of the tables: {\"gfx942\", 304}");
  expectFound(house::targetPlaces, "src/target/products.cpp", "// \"gfx\"",
              "names no processor any more");
  expectNothing(house::targetPlaces, "kernels/a.cpp", "no(\"gfx950 has it\"); // \"gfx942\"");
  expectNothing(house::targetPlaces, "src/target/products.cpp", ".processor = \"gfx942\",");
  // The page: the tables, and the list of targets that tests run on.
  std::ifstream page(std::string(PROJECT_SOURCE) + "/docs/house.md");
  const std::string text(std::istreambuf_iterator<char>(page), {});
  const std::size_t begin = text.find("\n## A new target"), end = text.find("\n## ", begin + 1);
  REQUIRE(begin != std::string::npos);
  const std::string section = text.substr(begin, end - begin);
  std::size_t named = 0;
  for (const std::string &path : house::targetTables()) {
    INFO(path);
    CHECK(section.find("`" + path + "`") != std::string::npos);
    CHECK(std::filesystem::exists(std::string(PROJECT_SOURCE) + "/" + path));
  }
  for (std::size_t at = section.find("| `"); at != std::string::npos;
       at = section.find("| `", at + 1))
    ++named;
  CHECK(named == house::targetTables().size() + 1); // and cmake/FlydslGpus.cmake
  CHECK(section.find("`cmake/FlydslGpus.cmake`") != std::string::npos);
}

TEST_CASE("the builder holds no IR as text") {
  expectKept(house::builderText);
  for (const char *text :
       {"create(\"arith.addi\");", "get(\"!fly.layout<1>\");", "parseType(text);",
        "str(type).find(\"x\");", "name.getStringRef() == other;"})
    expectFound(house::builderText, "src/builder/a.cpp", text, text);
  expectNothing(house::builderText, "src/builder/a.cpp", "call(\"llvm.amdgcn.s.barrier\");");
  expectNothing(house::builderText, "src/builder/a.cpp", "// such as \"arith.addi\"");
}

TEST_CASE("neutral files name no vendor") {
  expectKept(house::neutralNames);
  expectFound(house::neutralNames, "include/flydsl/a.h", "int vgprs();", "names a vendor: vgprs");
  expectFound(house::neutralNames, "src/builder/trace/a.cpp",
              "#include \"dialect/FlyROCDL/IR/Dialect.h\"\n", "names a vendor: FlyROCDL");
  expectNothing(house::neutralNames, "include/flydsl/a.h",
                "int a(); // AMD's\nauto b = \"rocdl\";");
  expectNothing(house::neutralNames, "src/builder/rocdl/a.cpp", "int vgprs();");
}

TEST_CASE("lines of the kernel library that make tensors end in their shapes") {
  expectKept(house::shapeComments);
  for (const char *text :
       {"const Tensor a = flat_divide(x, 4);", "put(own(_, i));",
        "copy(to(make_coord(_, 0), 1), b);", "return make_view(p,\n  make_layout(4)); // a view",
        "gain(p.scale.view(f32, 1)(0));", "auto a = mma.make_fragment_A(x); // the first",
        "f(make_tile(4), x(_, 0));", "f(make_tile(_, g(4)), x(_, 0));"})
    expectFound(house::shapeComments, "kernels/gemm/a.h", text,
                "kernels/gemm/a.h:1 makes a tensor");
  expectFound(house::shapeComments, "include/flydsl/kernels/a.h", "local_tile(x, 4, 0);", "shape");
  for (const char *text :
       {"const Tensor a = flat_divide(x, 4); // (4, n / 4)",
        "const Tensor a =\n  make_view(p,\n  make_layout(4)); // (4)", "// make_view(p, l);",
        "make_tile(_, _, alongK(form));", "f(make_tile(_, g(4)), x);", "make_tile(_, g(4),\n  8);",
        "Tile({Tile::Mode(_), keys()});", "f(\"a_divide(_)\");", "int a_ = preview(b);"})
    expectNothing(house::shapeComments, "kernels/gemm/a.h", text);
  expectNothing(house::shapeComments, "samples/a.cpp", "make_view(p, l);");
}

TEST_CASE("messages avoid words over which newcomers stumble") {
  expectKept(house::messageWords);
  expectFound(house::messageWords, "kernels/a.cpp", "no(\"loads, which it has not\")",
              "does not have");
  expectFound(house::messageWords, "src/a.cpp", "fail(\"read by nobody else\")", "no thread");
  expectNothing(house::messageWords, "src/a.cpp", "// nobody reads it\n#include \"apart.h\"\n");
  expectNothing(house::messageWords, "src/a.cpp", "fail(\"it has not been read\")");
}
