// An argument of a call as the command line gives it: a number, or a tensor with a source of its
// elements and a sink for them.
#pragma once

#include <flydsl/host/any_arg.h>
#include <flydsl/host/device_array.h>

#include <optional>
#include <string>
#include <vector>

namespace flydsl::tools {

/// How --arg is spelled, for the help.
inline constexpr const char *kArgumentForms =
    "  TYPE:NUMBER                      i32:70, f32:0.5\n"
    "  TYPE[EXTENTS]:SOURCE[=>SINK]     f32[4x32]:random=>show,8\n"
    "  TYPE[EXTENTS:STRIDES]:...        f32[4x32:40x1]:iota, strides in elements\n"
    "SOURCE: zero | iota | value,NUMBER | random[,SEED] | file,PATH (the elements' bytes)\n"
    "SINK:   show[,COUNT] | file,PATH\n"
    "TYPE:   an element type of whole bytes: i8 i16 i32 i64 u8 ... f16 bf16 f32 f64 f8E4M3FN ...\n"
    "Streams are given by the tool.\n";

/// One --arg.
class Argument {
public:
  /// Throws CLI::ValidationError for text of another form.
  explicit Argument(const std::string &text);

  /// What the call takes; a tensor's elements are on the device from here on.
  AnyArg onDevice();
  /// Brings the elements back to where the sink says, with `index` in what is shown.
  void deliver(std::size_t index) const;

private:
  void parseShape(const std::string &text);
  void parseSource(const std::string &source);
  void fill(const std::vector<std::string> &source);

  DType dtype_;
  double number_ = 0;
  std::int64_t integer_ = 0;
  std::vector<std::int64_t> shape_, strides_; ///< empty for a number
  std::vector<std::uint8_t> elements_;
  std::vector<std::string> sink_;
  std::optional<DeviceArray<std::uint8_t>> memory_;
  std::optional<TensorArg> tensor_;
};

} // namespace flydsl::tools
