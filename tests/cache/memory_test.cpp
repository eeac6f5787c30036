#include "cache/memory_table.h"
#include "scratch.h"

#include <catch2/catch.hpp>
#include <stdexcept>
#include <vector>

using namespace flydsl::cache;
using namespace flydsl::cache::test;

namespace {

using Value = std::vector<char>;
using Table = MemoryTable<Value>;

/// Asks for a key; whether it was made.
bool made(Table &table, std::uint64_t number, std::size_t bytes) {
  bool here = false;
  auto value =
      table.findOrMake(keyOf(number), [&] { return std::make_shared<const Value>(bytes); }, here);
  CHECK(value->size() == bytes);
  return here;
}

} // namespace

TEST_CASE("What is kept in memory stays within its limit, and what was made first goes") {
  Table table(1000, [](const Value &bytes) { return bytes.size(); });
  for (std::uint64_t i = 0; i < 500; ++i) {
    CHECK(made(table, i, 100));
    CHECK(table.size() <= 10);
  }
  for (std::uint64_t i = 490; i < 500; ++i)
    CHECK_FALSE(made(table, i, 100));
  CHECK(made(table, 489, 100)); // it had gone; 490 goes for it
  CHECK(table.find(keyOf(490)) == nullptr);
  auto held = table.find(keyOf(491));
  CHECK(made(table, 1000, 5000)); // over the limit alone: it is kept, until the next one
  CHECK(table.size() == 1);
  CHECK(held->size() == 100);
  CHECK_FALSE(made(table, 1000, 5000));
  CHECK(made(table, 1001, 100));
  CHECK(table.size() == 1);
}

TEST_CASE("A failure weighs nothing, and an empty table keeps as much as a new one") {
  Table table(1000, [](const Value &bytes) { return bytes.size(); });
  bool here = false;
  for (std::uint64_t i = 0; i < 100; ++i)
    CHECK_THROWS_AS(table.findOrMake(
                        keyOf(i), []() -> Table::Value { throw std::runtime_error("no"); }, here),
                    std::runtime_error);
  for (std::uint64_t i = 0; i < 10; ++i)
    CHECK(made(table, i, 100));
  table.clear();
  for (std::uint64_t i = 0; i < 10; ++i)
    CHECK(made(table, i, 100));
  CHECK(table.size() == 10);
}
