// A directory for one test alone, and blobs to put into a cache there.
#pragma once

#include "cache/disk_cache.h"

#include <filesystem>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace flydsl::cache::test {

struct Scratch {
  std::string path;
  Scratch() {
    std::string pattern = std::filesystem::temp_directory_path() / "flydsl-cache-XXXXXX";
    path = mkdtemp(pattern.data());
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Scratch(const Scratch &) = delete;
};

inline CacheConfig configIn(const std::string &directory) {
  CacheConfig config;
  config.directory = directory;
  return config;
}

/// The bytes of a file that is there.
inline Bytes contentsOf(const std::string &path) {
  support::FileContents file = support::readAll(path, kMaxEntryBytes * 8);
  if (!file.bytes)
    throw std::runtime_error(path + ": " + file.problem);
  return std::move(*file.bytes);
}

inline Key keyOf(std::uint64_t number) { return KeyBuilder().add("test", number).finish(); }

/// Contents that only this key has, of a size that depends on it.
inline Blob blobOf(std::uint64_t number, std::size_t bytes = 600) {
  Blob blob;
  std::string name = "kernel " + std::to_string(number);
  blob.metadata.assign(name.begin(), name.end());
  blob.payload.resize(bytes + number % 100);
  std::uint64_t state = number * 2654435761u + 1;
  for (std::uint8_t &byte : blob.payload) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<std::uint8_t>(state >> 56) & 63;
  }
  return blob;
}

inline bool same(const Blob &a, const Blob &b) {
  return a.metadata == b.metadata && a.payload == b.payload;
}

} // namespace flydsl::cache::test
