// MessagePack documents of files that may hold anything, such as the metadata of code objects. The
// includer links nlohmann_json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace flydsl::support {

/// Stops at lists and maps that are nested more than 16 deep.
class MsgpackDepth final : public nlohmann::json_sax<nlohmann::json> {
public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool key(string_t &) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ <= kMaxDepth; }
  bool start_array(std::size_t) override { return ++depth_ <= kMaxDepth; }
  bool end_object() override { return --depth_, true; }
  bool end_array() override { return --depth_, true; }
  bool parse_error(std::size_t, const std::string &, const nlohmann::json::exception &) override {
    return false;
  }

private:
  static constexpr int kMaxDepth = 16;
  int depth_ = 0;
};

/// The document, or null if the bytes are none or are nested too deep. nlohmann's reader calls
/// itself for each level, so a damaged document could exhaust the stack: a first pass measures the
/// depth.
inline nlohmann::json readMsgpack(const std::uint8_t *begin, const std::uint8_t *end) {
  using nlohmann::json;
  MsgpackDepth depth;
  if (begin == end || !json::sax_parse(begin, end, &depth, json::input_format_t::msgpack))
    return nullptr;
  return json::from_msgpack(begin, end, /*strict=*/true, /*allow_exceptions=*/false);
}

} // namespace flydsl::support
