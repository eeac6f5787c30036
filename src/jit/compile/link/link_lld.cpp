// LLD works on files and keeps global state, so it gets anonymous files and runs under a lock.
#include "jit/compile/link/link_lld.h"
#include "jit/compile/guard/llvm_recovery.h"
#include "support/descriptor.h"

#include <flydsl/error.h>

#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

namespace flydsl::jit {

namespace {

using support::Descriptor;

/// Ends a thread that reads from a pipe, by closing the end that is written, when anything throws.
class CloseFirst {
public:
  CloseFirst(Descriptor &writeEnd, std::jthread &reader) : writeEnd_(writeEnd), reader_(reader) {}
  ~CloseFirst() {
    writeEnd_.reset();
    reader_ = {};
  }
  CloseFirst(const CloseFirst &) = delete;
  CloseFirst &operator=(const CloseFirst &) = delete;

private:
  Descriptor &writeEnd_;
  std::jthread &reader_;
};

[[noreturn]] void refuse(const std::string &why) {
  throw CompileError("linking in memory: " + why);
}

} // namespace

// LLD takes paths. The object is an anonymous file; the result goes into a pipe, because LLD
// replaces a regular output file by renaming, while it writes to anything else in place.
std::optional<Bytes> linkWithLld(std::span<const char> object, const Target &target) {
  std::string problem;
  const Descriptor input = support::memoryFile(
      "flydsl-object", {reinterpret_cast<const std::uint8_t *>(object.data()), object.size()},
      problem);
  if (!input)
    refuse(problem);
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    refuse(std::string("pipe: ") + std::strerror(errno));
  Descriptor readEnd(ends[0]), writeEnd(ends[1]);

  Bytes linked;
  std::exception_ptr noRoom; // for what is linked
  // It ends when the write end is closed, which is so before it is waited for.
  std::jthread drain;
  const CloseFirst closing(writeEnd, drain);
  drain = std::jthread([&] {
    std::array<std::uint8_t, 1 << 16> chunk;
    for (;;) {
      ssize_t n = ::read(readEnd.get(), chunk.data(), chunk.size());
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        break;
      try {
        if (!noRoom) // LLD must come to its end all the same
          linked.insert(linked.end(), chunk.data(), chunk.data() + n);
      } catch (const std::bad_alloc &) {
        noRoom = std::current_exception();
      }
    }
  });

  bool outOfUse = false;
  std::string inputPath = input.path(), outputPath = writeEnd.path(), messages;
  lld::Result result{1, true};
  {
    static std::mutex mutex;
    static bool usable = true;
    std::lock_guard lock(mutex);
    outOfUse = !usable;
    if (usable) {
      llvm::raw_string_ostream out(messages);
      const char *arguments[] = {
          "ld.lld", "-shared",          "--no-undefined", "--threads=1", "--no-mmap-output-file",
          "-o",     outputPath.c_str(), inputPath.c_str()};
      // A crash that is no fault of the input may come outside of LLD's own recovery.
      const bool returned = runUnderLlvmRecovery([&] {
        result = lld::lldMain(arguments, out, out, {{lld::Gnu, &lld::elf::link}});
      });
      usable = returned && result.canRunAgain;
    }
  }
  writeEnd.reset();
  drain.join();
  if (noRoom)
    std::rethrow_exception(noRoom);
  if (outOfUse)
    return std::nullopt;
  if (result.retCode != 0 || linked.empty())
    throw CompileError("linking for " + target.id() + " failed" +
                       (messages.empty()
                            ? ", and LLD does not say why; there may be not enough memory"
                            : ": " + messages));
  return linked;
}

} // namespace flydsl::jit
