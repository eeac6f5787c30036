// Device memory of an engine, which is allocated when it starts, and parts of it as arguments.
#pragma once

#include <flydsl/host/device_array.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

namespace samples {

namespace fx = flydsl;

/// `count` of a tensor's extent `mode`, from `from` on.
inline fx::TensorArg part(const fx::TensorArg &of, int mode, std::int64_t from,
                          std::int64_t count) {
  std::array<std::int64_t, fx::TensorArg::maxRank> shape{};
  std::copy(of.shape().begin(), of.shape().end(), shape.begin());
  shape[std::size_t(mode)] = count;
  auto *data = static_cast<std::uint8_t *>(of.data());
  return {data + from * of.strides()[std::size_t(mode)] * of.dtype().bytes(), of.dtype(),
          std::span(shape).first(std::size_t(of.rank())), of.strides()};
}

/// Elements of each row of (m, columns), from `first` on, as (m, count, each).
inline fx::TensorArg headsOf(const fx::TensorArg &of, std::int64_t first, std::int64_t count,
                             std::int64_t each) {
  const fx::TensorArg columns = part(of, 1, first, count * each);
  return {columns.data(), of.dtype(), fx::Extents{of.shape()[0], count, each},
          fx::Extents{of.strides()[0], each, 1}};
}
/// The same elements, which follow one another, in another shape.
inline fx::TensorArg reshaped(const fx::TensorArg &of, const fx::Extents &shape) {
  return {of.data(), of.dtype(), shape};
}

/// Tensors that live as long as the room.
class DeviceRoom {
public:
  fx::TensorArg room(fx::DType dtype, const fx::Extents &shape) {
    const fx::TensorArg::Dims extents = shape;
    const auto size =
        std::accumulate(extents.begin(), extents.end(), std::int64_t(1), std::multiplies());
    memory_.push_back(fx::DeviceArray<std::uint8_t>({size * dtype.bytes()}));
    return {memory_.back().data(), dtype, extents};
  }
  template <class T> fx::TensorArg upload(const std::vector<T> &values, const fx::Extents &shape) {
    const fx::TensorArg made = room(fx::dtype_of<T>, shape);
    memory_.back().copy_from(
        {reinterpret_cast<const std::uint8_t *>(values.data()), values.size() * sizeof(T)});
    return made;
  }
  fx::TensorArg zeros(fx::DType dtype, const fx::Extents &shape) {
    const fx::TensorArg made = room(dtype, shape);
    memory_.back().fill(0);
    return made;
  }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto &array : memory_)
      sum += array.bytes();
    return sum;
  }

private:
  std::vector<fx::DeviceArray<std::uint8_t>> memory_;
};

/// Whole numbers for kernels that change from step to step, on the host and on the device. All of
/// them lie in one array, so that one copy brings them over.
class StepInputs {
public:
  struct Input {
    std::int32_t *host;
    fx::TensorArg device;
  };
  /// Room for so many numbers.
  explicit StepInputs(std::size_t numbers) : host_(numbers), device_({numbers}) {}

  Input add(const fx::Extents &shape) {
    const Input made{host_.data() + placed_, fx::tensor(device_.data() + placed_, shape)};
    placed_ += std::size_t(made.device.size());
    return made;
  }
  /// Numbers from 0 to 255; four take the room of one.
  struct Bytes {
    std::uint8_t *host;
    fx::TensorArg device;
  };
  static std::size_t roomOfBytes(std::int64_t count) { return std::size_t(count + 3) / 4; }
  Bytes addBytes(std::int64_t count) {
    const Bytes made{
        reinterpret_cast<std::uint8_t *>(host_.data() + placed_),
        fx::tensor(reinterpret_cast<std::uint8_t *>(device_.data() + placed_), {count})};
    placed_ += roomOfBytes(count);
    return made;
  }
  void send() { device_.copy_from(host_); }
  std::size_t bytes() const { return device_.bytes(); }

private:
  std::vector<std::int32_t> host_;
  fx::DeviceArray<std::int32_t> device_;
  std::size_t placed_ = 0;
};

} // namespace samples
