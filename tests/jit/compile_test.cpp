#include "jit/compile/compiler.h"
#include "jit/compile/disassemble.h"
#include "jit/compile/module/context_pool.h"
#include "jit/compile/options/dump.h"
#include "module_text.h"
#include "time_limit.h"

#include <flydsl/error.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace flydsl;
using namespace flydsl::jit;

namespace {

std::shared_ptr<const CodeObject> compileText(const std::string &text, CompileOptions options) {
  ContextLease context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  REQUIRE(module);
  return compileModule(*module, options);
}

CompileOptions forTarget(const char *name) {
  CompileOptions options;
  options.target = Target::parse(name);
  return options;
}

} // namespace

TEST_CASE("A kernel in gpu, scf, arith and llvm compiles for every supported target") {
  for (const Target &target : Target::all()) {
    CAPTURE(target.name());
    auto object = compileText(test::scaleKernel(), forTarget(target.name().c_str()));
    const KernelMetadata &kernel = object->kernel();
    CHECK(object->target == target.name());
    CHECK(kernel.name == "scale");
    CHECK(kernel.waveSize == unsigned(target.wave_size()));
    CHECK(kernel.maxWorkgroupSize == 128);
    CHECK(kernel.requiredBlock[0] == 128);
    CHECK(kernel.vgprs > 0);
    CHECK(kernel.vgprSpills == 0);
    CHECK(kernel.scratchBytes == 0);
    CHECK(kernel.codeBytes > 0);
    // A pointer, a packed struct of 16 bytes, a pointer; nothing hidden.
    REQUIRE(kernel.arguments.size() == 3);
    CHECK(kernel.arguments[0].offset == 0);
    CHECK(kernel.arguments[0].kind == "global_buffer");
    CHECK(kernel.arguments[1].offset == 8);
    CHECK(kernel.arguments[1].size == 16);
    CHECK(kernel.arguments[2].offset == 24);
    CHECK(kernel.kernargBytes == 32);
    // What is read from the bytes is what the compiler said.
    CodeObject again = readCodeObject(object->bytes);
    CHECK(again.kernels == object->kernels);
  }
}

TEST_CASE("Target features end up in the code object") {
  auto object = compileText(test::scaleKernel(), forTarget("gfx942:sramecc+:xnack-"));
  CHECK(object->target == "gfx942:sramecc+:xnack-");
  CHECK(readCodeObject(object->bytes).target == "gfx942:sramecc+:xnack-");
}

TEST_CASE("Compiling again gives the same bytes and leaves the module as it was") {
  ContextLease context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(test::scaleKernel(), context.get());
  REQUIRE(module);
  auto first = compileModule(*module, forTarget("gfx942"));
  auto second = compileModule(*module, forTarget("gfx942"));
  CHECK(first->bytes == second->bytes);
}

TEST_CASE("Optimization levels compile; level 0 is larger") {
  CompileOptions none = forTarget("gfx942"), full = none;
  none.optLevel = 0;
  full.optLevel = 3;
  CHECK(compileText(test::scaleKernel(), none)->kernel().codeBytes >
        compileText(test::scaleKernel(), full)->kernel().codeBytes);
}

TEST_CASE("Dumps write a file per stage, LLVM IR and ISA") {
  std::string dir = std::filesystem::temp_directory_path() / "flydsl-dump-test";
  std::filesystem::remove_all(dir);
  CompileOptions options = forTarget("gfx942");
  options.dumpDir = dir;
  auto dumped = compileText(test::scaleKernel(), options);
  options.dumpDir.clear();
  CHECK(dumped->bytes == compileText(test::scaleKernel(), options)->bytes);
  auto contains = [&](const std::string &start, const char *text) {
    std::string all;
    for (const auto &entry : std::filesystem::directory_iterator(dir + "/scale"))
      if (entry.path().filename().string().starts_with(start)) {
        std::ifstream in(entry.path());
        all.assign(std::istreambuf_iterator<char>(in), {});
      }
    CAPTURE(start);
    CHECK(all.find(text) != std::string::npos);
  };
  contains("00_origin.mlir", "gpu.func @scale");
  contains("01_canonicalize.mlir", "gpu.func @scale");
  contains("02_fly_lower_ktrace_", "llvm.func @scale"); // names of long stages are cut
  contains("03_llvm_ir.ll", "define amdgpu_kernel void @scale");
  contains("04_llvm_ir_optimized.ll", "define amdgpu_kernel void @scale");
  contains("05_final_isa.s", "global_load_dword");
  std::filesystem::remove_all(dir);
}

TEST_CASE("Dumps of two kernels have two folders, and nothing in them is waited for or written "
          "through") {
  namespace fs = std::filesystem;
  std::string pattern = fs::temp_directory_path() / "flydsl-dump-XXXXXX";
  const std::string root = mkdtemp(pattern.data());
  const flydsl::testing::TimeLimit limit(30);
  std::set<std::string> folders;
  for (const char *name : {"a/b", "a b", "a_b",
                           "a\x1b"
                           "b",
                           "../a", ".a"})
    folders.insert(Dump(root, name).folder());
  CHECK(folders.size() == 6);
  for (const std::string &folder : folders)
    CHECK(fs::path(folder).parent_path() == root);
  const std::string first = root + "/plain/00_first.txt";
  fs::create_directories(root + "/plain");
  REQUIRE(mkfifo(first.c_str(), 0600) == 0);
  const std::string elsewhere = root + "/elsewhere";
  std::ofstream(elsewhere) << "kept";
  fs::create_symlink(elsewhere, root + "/plain/01_second.txt");
  Dump dump(root, "plain");
  CHECK(dump.write("first", "txt", "one") == first);
  CHECK(dump.write("second", "txt", "two") == root + "/plain/01_second.txt");
  CHECK(fs::is_regular_file(fs::symlink_status(first)));
  std::string kept;
  std::ifstream(elsewhere) >> kept;
  CHECK(kept == "kept");
  fs::remove_all(root);
}

TEST_CASE("Disassembly lists the kernel's instructions") {
  auto object = compileText(test::scaleKernel(), forTarget("gfx942"));
  std::string isa = disassemble(*object);
  CHECK_THAT(isa, Catch::StartsWith("scale:\n"));
  for (const char *instruction : {"global_load_dword", "v_add_f32", "s_endpgm"})
    CHECK_THAT(isa, Catch::Contains(instruction));
  CHECK(isa.find(".byte") == std::string::npos);
}

TEST_CASE("Line tables name the user's file and change no code") {
  ContextLease context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(test::scaleKernel(), context.get(),
                                                        "some_user_file.cpp");
  REQUIRE(module);
  CompileOptions options = forTarget("gfx942");
  auto plain = compileModule(*module, options);
  options.lineTables = true;
  auto lines = compileModule(*module, options);
  std::string_view bytes(reinterpret_cast<const char *>(lines->bytes.data()), lines->bytes.size());
  CHECK(bytes.find(".debug_line") != bytes.npos);
  CHECK(bytes.find("some_user_file.cpp") != bytes.npos);
  CHECK(lines->kernels == plain->kernels);
  auto withoutAddresses = [](const std::string &isa) {
    std::string text;
    std::istringstream in(isa);
    for (std::string line; std::getline(in, line);)
      text += line.substr(0, line.find("\t//")) + "\n";
    return text;
  };
  CHECK(withoutAddresses(disassemble(*lines)) == withoutAddresses(disassemble(*plain)));
}

namespace {
std::string mathKernel(const std::string &operation, const std::string &type = "f32") {
  return "gpu.module @kernels { gpu.func @f(%p: !llvm.ptr<1>) kernel {\n"
         "%x = llvm.load %p : !llvm.ptr<1> -> " +
         type + "\n%y = math." + operation + " %x : " + type + "\nllvm.store %y, %p : " + type +
         ", !llvm.ptr<1>\ngpu.return } }";
}
} // namespace

TEST_CASE("Math: the target's own instructions where it has them, else the device library") {
  for (const char *operation :
       {"exp",   "exp2",  "log",       "log2", "log10", "sqrt",  "rsqrt", "floor", "ceil",
        "trunc", "round", "roundeven", "absf", "tanh",  "sinh",  "cosh",  "sin",   "cos",
        "tan",   "asin",  "acos",      "atan", "erf",   "expm1", "log1p", "cbrt"}) {
    CAPTURE(operation);
    auto object = compileText(mathKernel(operation), forTarget("gfx942"));
    CHECK(object->kernel().name == "f");
    CHECK(object->kernel().arguments.size() == 1); // nothing hidden comes with the library
  }
  CHECK_THAT(disassemble(*compileText(mathKernel("exp2"), forTarget("gfx942"))),
             Catch::Contains("v_exp_f32"));
  CHECK_NOTHROW(compileText(mathKernel("exp", "f64"), forTarget("gfx950")));
  CHECK_NOTHROW(compileText(mathKernel("cos", "f16"), forTarget("gfx1201")));
  CompileOptions unoptimized = forTarget("gfx1250");
  unoptimized.optLevel = 0;
  CHECK_NOTHROW(compileText(mathKernel("erf"), unoptimized));
}

TEST_CASE("The size of block and grid needs no device library") {
  auto kernel = [](const std::string &operation, const std::string &attributes) {
    return "gpu.module @kernels { gpu.func @f(%p: !llvm.ptr<1>) kernel " + attributes +
           " {\n%x = gpu." + operation +
           "\n%i = arith.index_cast %x : index to i32\n"
           "llvm.store %i, %p : i32, !llvm.ptr<1>\ngpu.return } }";
  };
  const std::string known = "attributes {known_block_size = array<i32: 8, 24, 1>}";
  for (const Target &target : Target::all()) {
    CAPTURE(target.name());
    const CompileOptions options = forTarget(target.name().c_str());
    // Known, it is a constant and the kernel has its pointer alone.
    auto constant = compileText(kernel("block_dim y", known), options);
    CHECK(constant->kernel().kernargBytes == 8);
    CHECK_THAT(disassemble(*constant), Catch::Contains(", 24"));
    // Else the loader says it, in the implicit arguments.
    CHECK(compileText(kernel("block_dim y", ""), options)->kernel().kernargBytes > 8);
    CHECK(compileText(kernel("grid_dim z", known), options)->kernel().kernargBytes > 8);
  }
}

TEST_CASE("Vectors are loaded from memrefs in shared memory, under either name of it") {
  for (const char *space : {"#gpu.address_space<workgroup>", "3"}) {
    const std::string memory = "memref<256xf32, " + std::string(space) + ">";
    const std::string text = "gpu.module @kernels { memref.global @lds : " + memory +
                             " {alignment = 16 : i64}\ngpu.func @f(%p: !llvm.ptr<1>) kernel {\n"
                             "%t = gpu.thread_id x\n%m = memref.get_global @lds : " +
                             memory + "\n%v = vector.load %m[%t] : " + memory +
                             ", vector<2xf32>\nvector.store %v, %m[%t] : " + memory +
                             ", vector<2xf32>\nllvm.store %v, %p : vector<2xf32>, "
                             "!llvm.ptr<1>\ngpu.return } }";
    for (const char *target : {"gfx942", "gfx1201"}) {
      CAPTURE(space, target);
      auto object = compileText(text, forTarget(target));
      CHECK(object->kernel().ldsBytes == 1024);
      CHECK_THAT(disassemble(*object),
                 Catch::Contains("ds_read2_b32") || Catch::Contains("ds_load_2addr_b32"));
    }
  }
}
