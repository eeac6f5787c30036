#include "scratch.h"

#include "cache/archive.h"

#include <flydsl/error.h>

#include <catch2/catch.hpp>
#include <fstream>

using namespace flydsl;
using namespace flydsl::cache;
using namespace flydsl::cache::test;

TEST_CASE("An archive carries entries to another directory; bad ones stay behind") {
  Scratch scratch;
  DiskCache from(configIn(scratch.path + "/from"));
  for (std::uint64_t n = 0; n < 5; ++n)
    from.store(keyOf(n), blobOf(n));
  std::filesystem::resize_file(entryPath(scratch.path + "/from", keyOf(3)), 70);
  std::string archive = scratch.path + "/kernels.fly";
  Transferred out = exportEntries(listEntries(scratch.path + "/from"), archive);
  CHECK(out.entries == 4);
  REQUIRE(out.skipped.size() == 1);
  CHECK_THAT(out.skipped[0], Catch::Contains(keyOf(3).hex()));

  DiskCache to(configIn(scratch.path + "/to"));
  CHECK(importEntries(archive, scratch.path + "/to").entries == 4);
  for (std::uint64_t n : {0, 1, 2, 4}) {
    auto blob = to.load(keyOf(n));
    REQUIRE(blob);
    CHECK(same(*blob, blobOf(n)));
  }
  CHECK_FALSE(to.load(keyOf(3)));
}

TEST_CASE("An archive that is cut or altered brings in nothing bad") {
  Scratch scratch;
  DiskCache from(configIn(scratch.path + "/from"));
  for (std::uint64_t n = 0; n < 3; ++n)
    from.store(keyOf(n), blobOf(n, 50));
  std::string archive = scratch.path + "/kernels.fly", bad = scratch.path + "/bad.fly";
  exportEntries(listEntries(scratch.path + "/from"), archive);
  Bytes good = contentsOf(archive);
  auto put = [&](const Bytes &bytes) {
    std::ofstream(bad, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  };
  for (std::size_t size = 0; size < good.size(); size += 7) {
    put(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)));
    CHECK_THROWS_AS(importEntries(bad, scratch.path + "/to"), Error);
  }
  CHECK(listEntries(scratch.path + "/to").empty());
  for (std::size_t at = 16; at < good.size(); at += 5) {
    Bytes altered = good;
    altered[at] ^= 8;
    put(altered);
    std::string to = scratch.path + "/to" + std::to_string(at);
    try {
      Transferred result = importEntries(bad, to);
      CHECK(result.entries == 2);
      CHECK(result.skipped.size() == 1);
    } catch (const Error &) {
      CHECK(listEntries(to).empty());
    }
    DiskCache cache(configIn(to));
    for (std::uint64_t n = 0; n < 3; ++n)
      if (auto blob = cache.load(keyOf(n)))
        CHECK(same(*blob, blobOf(n, 50)));
  }
}
