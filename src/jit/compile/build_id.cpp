// The build ids are read from the notes of the loaded objects, where the linker put them.
#include "jit/compile/build_id.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LLVMContext.h"

#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/stat.h>

namespace flydsl::jit {

namespace {

struct Search {
  const char *address; ///< something inside of the object that is looked for
  std::string id;      ///< its build id in hexadecimal; empty if it has none
};

bool contains(const dl_phdr_info &object, const char *address) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto &segment = object.dlpi_phdr[i];
    const char *start = reinterpret_cast<const char *>(object.dlpi_addr + segment.p_vaddr);
    if (segment.p_type == PT_LOAD && address >= start && address < start + segment.p_memsz)
      return true;
  }
  return false;
}

int readBuildId(dl_phdr_info *object, std::size_t, void *data) {
  auto &search = *static_cast<Search *>(data);
  if (!contains(*object, search.address))
    return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto &segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE)
      continue;
    const char *at = reinterpret_cast<const char *>(object->dlpi_addr + segment.p_vaddr);
    const char *end = at + segment.p_memsz;
    while (end - at >= static_cast<std::ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const char *name = at + sizeof note;
      const char *content = name + (note.n_namesz + 3) / 4 * 4;
      at = content + (note.n_descsz + 3) / 4 * 4;
      if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || std::memcmp(name, "GNU", 4) != 0)
        continue;
      for (unsigned byte = 0; byte < note.n_descsz; ++byte) {
        static const char digits[] = "0123456789abcdef";
        search.id += digits[static_cast<unsigned char>(content[byte]) >> 4];
        search.id += digits[content[byte] & 15];
      }
      return 1;
    }
  }
  return 1;
}

std::string identityOf(const void *address) {
  Search search{static_cast<const char *>(address), {}};
  dl_iterate_phdr(readBuildId, &search);
  if (!search.id.empty())
    return search.id;
  // Linked without a build id: the file itself is the best that is left.
  Dl_info info;
  struct stat file;
  if (dladdr(address, &info) && info.dli_fname && stat(info.dli_fname, &file) == 0)
    return std::string(info.dli_fname) + "/" + std::to_string(file.st_size) + "/" +
           std::to_string(file.st_mtim.tv_sec) + "." + std::to_string(file.st_mtim.tv_nsec);
  return "unknown";
}

} // namespace

const std::string &buildIdentity() {
  static const std::string identity = [] {
    static const char here = 0;
    auto llvmFunction = &llvm::LLVMContext::getMDKindID;
    auto mlirFunction = &mlir::MLIRContext::isMultithreadingEnabled;
    // A pointer to a non-virtual member function starts with the function's address (Itanium C++
    // ABI).
    const void *inLlvm = nullptr, *inMlir = nullptr;
    std::memcpy(&inLlvm, &llvmFunction, sizeof inLlvm);
    std::memcpy(&inMlir, &mlirFunction, sizeof inMlir);
    return std::string("flydsl ") + identityOf(&here) + " mlir " + identityOf(inMlir) + " llvm " +
           LLVM_VERSION_STRING + " " + identityOf(inLlvm);
  }();
  return identity;
}

} // namespace flydsl::jit
