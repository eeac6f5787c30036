// The function under fuzzing: it reads bytes that come from outside. These are files of caches and of
// compiled kernels, code objects, messages of kernels, and URLs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flydsl::fuzz {

/// The readers, as the first byte of an input names them.
enum class FileKind : std::uint8_t { cacheEntry, aot, metadata, codeObject, remoteUrl, printf };
inline constexpr unsigned kFileKinds = 6;

/// Reads the bytes after the first one. A reader takes them, or refuses them with its own error. What
/// it takes must come back from its writer: throws std::logic_error where it does not. Returns whether
/// the bytes were taken.
bool runFile(const std::uint8_t *data, std::size_t size);

} // namespace flydsl::fuzz
