// Rewrites the entries of a cache directory. Every byte is valid, but the metadata do not fit the
// kernel's calls, or the kernel's name contains a sequence that clears a terminal.
//   forge_entries DIRECTORY [name]
#include "cache/disk_cache.h"
#include "jit/code_object/code_object.h"

#include <cstdio>

using namespace flydsl;

int main(int argc, char **argv) {
  if (argc != 2 && argc != 3)
    return 2;
  int forged = 0;
  for (const cache::EntryFile &entry : cache::listEntries(argv[1])) {
    cache::Decoded decoded = cache::readEntry(entry.path, entry.key, {});
    if (!decoded.blob)
      return 1;
    jit::CodeObject object =
        jit::decodeMetadata(decoded.blob->metadata.data(), decoded.blob->metadata.size());
    for (jit::KernelMetadata &kernel : object.kernels) {
      if (argc == 3)
        kernel.name = "evil\x1b[2J";
      else
        for (jit::KernelArgument &argument : kernel.arguments)
          argument.offset += 8;
    }
    decoded.blob->metadata = jit::encodeMetadata(object);
    if (!support::writeFile(entry.path, cache::encodeEntry(entry.key, *decoded.blob),
                            support::ownOptions({}))
             .empty())
      return 1;
    ++forged;
  }
  std::printf("%d\n", forged);
  return forged ? 0 : 1;
}
