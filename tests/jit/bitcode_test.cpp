#include "jit/compile/compiler.h"
#include "jit/compile/disassemble.h"
#include "jit/compile/ir_key.h"
#include "jit/compile/kernel_cache.h"
#include "jit/compile/link/bitcode.h"
#include "jit/compile/module/context_pool.h"

#include <flydsl/error.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace flydsl;
using namespace flydsl::jit;

namespace {

struct Scratch {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("flydsl-bitcode-" + std::to_string(getpid()));
  Scratch() { std::filesystem::create_directories(path); }
  ~Scratch() { std::filesystem::remove_all(path); }

  /// Writes LLVM IR as bitcode; returns the path.
  std::string bitcode(const std::string &name, const std::string &text) {
    llvm::LLVMContext context;
    llvm::SMDiagnostic error;
    std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
    REQUIRE(module);
    std::string bytes;
    llvm::raw_string_ostream stream(bytes);
    llvm::WriteBitcodeToFile(*module, stream);
    return file(name, bytes);
  }
  std::string file(const std::string &name, const std::string &bytes) {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return (path / name).string();
  }
};

/// Functions as another compiler leaves them: a triple, a processor and a code object version of
/// their own.
std::string library(const std::string &functions) {
  return "target triple = \"amdgcn-amd-amdhsa\"\n" + functions +
         "attributes #0 = { \"target-cpu\"=\"gfx90a\" \"target-features\"=\"+mai-insts\" }\n"
         "!llvm.module.flags = !{!0}\n!0 = !{i32 1, !\"amdhsa_code_object_version\", i32 400}\n";
}

std::string scaleBy(const std::string &factor) {
  return library("define float @scale(float %x) #0 {\n  %y = fmul float %x, " + factor +
                 "\n  ret float %y\n}\n");
}

/// p[0] = scale(p[0]), with `scale` out of the files.
std::string kernel(const std::string &paths, const std::string &function = "scale") {
  return "gpu.module @kernels attributes {fly.link_libs = [" + paths +
         "]} {\n"
         "llvm.func @" +
         function +
         "(f32) -> f32\n"
         "gpu.func @k(%p: !llvm.ptr<1>) kernel {\n"
         "%x = llvm.load %p : !llvm.ptr<1> -> f32\n%y = llvm.call @" +
         function +
         "(%x) : (f32) -> f32\n"
         "llvm.store %y, %p : f32, !llvm.ptr<1>\ngpu.return } }";
}

std::string inQuotes(const std::string &text) { return '"' + text + '"'; }

CompileOptions gfx942() {
  CompileOptions options;
  options.target = Target::parse("gfx942");
  return options;
}

std::shared_ptr<const CodeObject> compileText(const std::string &text) {
  ContextLease context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  REQUIRE(module);
  return compileModule(*module, gfx942());
}

} // namespace

TEST_CASE("A kernel calls a function out of a bitcode file, and it is inlined") {
  Scratch scratch;
  std::string path = scratch.bitcode("scale.bc", scaleBy("3.0"));
  auto object = compileText(kernel(inQuotes(path)));
  CHECK(object->target == "gfx942");
  CHECK(object->kernel().arguments.size() == 1);
  std::string isa = disassemble(*object);
  CHECK_THAT(isa, Catch::Contains("v_mul_f32") && !Catch::Contains("s_swappc_b64"));
}

TEST_CASE("Files may need each other and the device library; unused ones add nothing") {
  Scratch scratch;
  std::string first = scratch.bitcode(
      "first.bc", library("declare float @second(float)\n"
                          "define float @helper(float %x) #0 {\n  ret float %x\n}\n"
                          "define float @scale(float %x) #0 {\n"
                          "  %y = call float @second(float %x)\n  ret float %y\n}\n"));
  std::string second = scratch.bitcode(
      "second.bc", library("declare float @helper(float)\ndeclare float @__ocml_erf_f32(float)\n"
                           "define float @second(float %x) #0 {\n"
                           "  %y = call float @helper(float %x)\n"
                           "  %z = call float @__ocml_erf_f32(float %y)\n  ret float %z\n}\n"));
  std::string plain = scratch.bitcode("plain.bc", scaleBy("3.0"));
  auto object = compileText(kernel(inQuotes(second) + ", " + inQuotes(first)));
  CHECK(object->kernel().codeBytes > 200);
  CHECK(compileText(kernel(inQuotes(plain) + ", " + inQuotes(second)))->bytes ==
        compileText(kernel(inQuotes(plain)))->bytes);
}

TEST_CASE("A variable of a bitcode file stays visible, for the host to set") {
  Scratch scratch;
  std::string path =
      scratch.bitcode("state.bc", library("@engine_state = addrspace(1) global float 1.0\n"
                                          "define float @scale(float %x) #0 {\n"
                                          "  %s = load float, ptr addrspace(1) @engine_state\n"
                                          "  %y = fmul float %x, %s\n  ret float %y\n}\n"));
  auto object = compileText(kernel(inQuotes(path)));
  std::string_view bytes(reinterpret_cast<const char *>(object->bytes.data()),
                         object->bytes.size());
  CHECK(bytes.find("engine_state") != bytes.npos);
}

TEST_CASE("The key goes by a file's content, not by its place") {
  Scratch scratch;
  std::string three = scratch.bitcode("three.bc", scaleBy("3.0"));
  std::string same = scratch.bitcode("same.bc", scaleBy("3.0"));
  std::string four = scratch.bitcode("four.bc", scaleBy("4.0"));
  cache::CacheConfig config;
  config.directory = (scratch.path / "cache").string();
  KernelCache cache(config);
  auto keyOf = [&](const std::string &path, CacheTier tier) {
    ContextLease context;
    auto module = mlir::parseSourceString<mlir::ModuleOp>(kernel(inQuotes(path)), context.get());
    CachedKernel kernel = cache.compile(*module, gfx942());
    CHECK(kernel.tier == tier);
    return kernel.key;
  };
  cache::Key key = keyOf(three, CacheTier::compiled);
  CHECK(keyOf(same, CacheTier::memory) == key);
  CHECK(keyOf(four, CacheTier::compiled) != key);
  scratch.bitcode("three.bc", scaleBy("4.0"));
  CHECK(keyOf(three, CacheTier::memory) != key);
}

TEST_CASE(
    "Bitcode that can't be linked is an error that names the file; so is what nobody defines") {
  Scratch scratch;
  CHECK_THROWS_WITH(compileText(kernel("\"/nowhere/lib.bc\"")),
                    Catch::Contains("/nowhere/lib.bc: No such file"));
  const std::string pipe = scratch.path / "pipe.bc";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(compileText(kernel(inQuotes(pipe))),
                    Catch::Contains(pipe) && Catch::Contains("a pipe"));
  std::string text = scratch.file("text.bc", "not bitcode");
  CHECK_THROWS_WITH(compileText(kernel(inQuotes(text))),
                    Catch::Contains(text) && Catch::Contains("no LLVM bitcode"));
  std::string good = scratch.bitcode("good.bc", scaleBy("3.0"));
  std::ifstream in(good, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  std::string cut = scratch.file("cut.bc", bytes.substr(0, bytes.size() / 2 & ~std::size_t(3)));
  CHECK_THROWS_WITH(compileText(kernel(inQuotes(cut))), Catch::Contains(cut));
  std::string host =
      scratch.bitcode("host.bc", "target triple = \"x86_64-linux-gnu\"\n"
                                 "define float @scale(float %x) {\n  ret float %x\n}\n");
  CHECK_THROWS_WITH(compileText(kernel(inQuotes(host))),
                    Catch::Contains(host) && Catch::Contains("x86_64"));
  CHECK_THROWS_WITH(compileText(kernel(inQuotes(good), "nobodys_function")),
                    Catch::Contains("nobodys_function"));
  CHECK_THROWS_WITH(compileText(kernel("4 : i32")), Catch::Contains("fly.link_libs"));
}
