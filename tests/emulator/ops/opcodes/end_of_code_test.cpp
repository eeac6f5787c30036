// Code that ends where memory ends: no decoder reads past the last instruction.
#include "machine.h"

#include "emulator/isa/encodings.h"
#include "emulator/ops/decode_program.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <cstring>
#include <set>
#include <sys/mman.h>
#include <unistd.h>

namespace flyemu::test {

namespace {
/// A page of memory, and a page after it that no one may read.
class GuardedPage {
public:
  GuardedPage() : size(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    void *pages =
        mmap(nullptr, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    memory = static_cast<char *>(pages);
    REQUIRE(mprotect(memory + size, size, PROT_NONE) == 0);
  }
  GuardedPage(const GuardedPage &) = delete;
  GuardedPage &operator=(const GuardedPage &) = delete;
  ~GuardedPage() { munmap(memory, 2 * size); }

  /// The bytes, such that their last one is the last of the page.
  const void *atEnd(const void *bytes, size_t count) {
    return std::memcpy(memory + size - count, bytes, count);
  }

private:
  size_t size;
  char *memory = nullptr;
};
} // namespace

TEST_CASE("an instruction at the end of mapped memory is decoded without a read past it") {
  GuardedPage page;
  for (const char *target : kTargets) {
    const flyemu::Machine &info = *findMachine(target);
    const McTarget mc(info.name(), info.disassembler);
    std::set<unsigned> opcodes;
    size_t known = 0;
    eachEncoding(info, mc, [&](const EncodingWords &encoding, const McInstruction &i) {
      if (!opcodes.insert(i.opcode).second)
        return;
      const auto program = decodeProgram(target, page.atEnd(encoding.data(), i.size), i.size);
      known += program->insts[0].op != nullptr;
    });
    INFO(target);
    CHECK(known > 800);
  }
}

} // namespace flyemu::test
