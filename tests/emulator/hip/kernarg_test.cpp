// The kernarg segment: explicit arguments in place, hidden ones filled, wrong sizes refused.
#include "emulator/loader/kernarg.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <stdexcept>

using namespace flyemu::loader;

namespace {

KernelNotes kernel() {
  KernelNotes k;
  k.name = "k";
  k.kernargSize = 88;
  k.arguments = {{"a", "global_buffer", 0, 8},          {"b", "by_value", 8, 4},
                 {"", "hidden_block_count_x", 16, 4},   {"", "hidden_block_count_y", 20, 4},
                 {"", "hidden_block_count_z", 24, 4},   {"", "hidden_group_size_x", 28, 2},
                 {"", "hidden_group_size_y", 30, 2},    {"", "hidden_group_size_z", 32, 2},
                 {"", "hidden_remainder_x", 34, 2},     {"", "hidden_global_offset_x", 40, 8},
                 {"", "hidden_grid_dims", 64, 2},       {"", "hidden_hostcall_buffer", 72, 8},
                 {"", "hidden_dynamic_lds_size", 80, 4}};
  return k;
}

template <typename T> T read(const std::vector<uint8_t> &segment, size_t offset) {
  T value;
  std::memcpy(&value, segment.data() + offset, sizeof(T));
  return value;
}

} // namespace

TEST_CASE("Explicit and hidden arguments land at their offsets") {
  uint64_t a = 0x1122334455667788;
  uint32_t b = 0x99AABBCC;
  void *values[] = {&a, &b};
  std::vector<uint8_t> segment = packArguments(kernel(), values);
  LaunchShape shape{{3, 70000, 5}, {6, 7, 8}, 4096};
  fillHiddenArguments(kernel(), shape, segment);
  REQUIRE(segment.size() == 88);
  CHECK(read<uint64_t>(segment, 0) == a);
  CHECK(read<uint32_t>(segment, 8) == b);
  CHECK(read<uint32_t>(segment, 16) == 3);
  CHECK(read<uint32_t>(segment, 20) == 70000);
  CHECK(read<uint32_t>(segment, 24) == 5);
  CHECK(read<uint16_t>(segment, 28) == 6);
  CHECK(read<uint16_t>(segment, 30) == 7);
  CHECK(read<uint16_t>(segment, 32) == 8);
  CHECK(read<uint16_t>(segment, 34) == 0);
  CHECK(read<uint64_t>(segment, 40) == 0);
  CHECK(read<uint16_t>(segment, 64) == 3);
  CHECK(read<uint64_t>(segment, 72) == 0);
  CHECK(read<uint32_t>(segment, 80) == 4096);
}

TEST_CASE("A packed buffer must hold the explicit arguments and fit the segment") {
  std::vector<uint8_t> bytes(200, 0x5A);
  CHECK(kernel().explicitSize() == 12);
  CHECK_THROWS_AS(packBuffer(kernel(), bytes.data(), 11), std::invalid_argument);
  CHECK_THROWS_AS(packBuffer(kernel(), bytes.data(), 89), std::invalid_argument);
  CHECK_THROWS_AS(packBuffer(kernel(), nullptr, 12), std::invalid_argument);
  CHECK(packBuffer(kernel(), bytes.data(), 12)[11] == 0x5A);
  CHECK(packBuffer(kernel(), bytes.data(), 16).size() == 88);
}

TEST_CASE("Missing pointers are refused, kernels without arguments need none") {
  void *values[] = {nullptr, nullptr};
  CHECK_THROWS_AS(packArguments(kernel(), values), std::invalid_argument);
  CHECK_THROWS_AS(packArguments(kernel(), nullptr), std::invalid_argument);
  KernelNotes none;
  CHECK(packArguments(none, nullptr).empty());
}

TEST_CASE("Hidden arguments that point into the flat address space have its bases") {
  KernelNotes k;
  k.name = "k";
  k.kernargSize = 8;
  k.arguments = {{"", "hidden_private_base", 0, 4}, {"", "hidden_shared_base", 4, 4}};
  std::vector<uint8_t> segment(8);
  fillHiddenArguments(k, {}, segment);
  CHECK(read<uint32_t>(segment, 0) == 0x00020000);
  CHECK(read<uint32_t>(segment, 4) == 0x00010000);
}

TEST_CASE("A hidden argument that is not known, or of another size, is refused by name") {
  std::vector<uint8_t> segment(88);
  KernelNotes newer = kernel();
  newer.arguments.push_back({"", "hidden_of_tomorrow", 40, 8});
  CHECK_THROWS_WITH(fillHiddenArguments(newer, {}, segment),
                    Catch::Contains("kernel k takes the hidden argument 'hidden_of_tomorrow'"));
  KernelNotes narrow = kernel();
  narrow.arguments.push_back({"", "hidden_heap_v1", 40, 4});
  CHECK_THROWS_WITH(fillHiddenArguments(narrow, {}, segment),
                    Catch::Contains("'hidden_heap_v1' has 4 bytes, not 8"));
}
