// Parameter types that stand for traced values, and a build() that makes an executable without a
// compiler and counts its calls.
#pragma once

#include <flydsl/kernel.h>

#include <atomic>

struct FakeTensor {
  static constexpr auto param_kind = flydsl::detail::ArgType::Kind::tensor;
  static FakeTensor from_param(const flydsl::detail::ParamHandle &) { return {}; }
};
template <flydsl::DType::Kind K> struct FakeScalar {
  static constexpr auto param_kind = flydsl::detail::ArgType::Kind::scalar;
  static constexpr flydsl::DType param_dtype{K};
  static FakeScalar from_param(const flydsl::detail::ParamHandle &) { return {}; }
};
using FakeInt32 = FakeScalar<flydsl::DType::Kind::i32>;
using FakeInt64 = FakeScalar<flydsl::DType::Kind::i64>;
using FakeUInt8 = FakeScalar<flydsl::DType::Kind::u8>;
using FakeFloat32 = FakeScalar<flydsl::DType::Kind::f32>;
using FakeBoolean = FakeScalar<flydsl::DType::Kind::boolean>;

struct FakeStatic {
  static constexpr auto param_kind = flydsl::detail::ArgType::Kind::staticValue;
  static FakeStatic from_param(const flydsl::detail::ParamHandle &handle) {
    return *static_cast<const FakeStatic *>(handle.type->staticArg.object);
  }
  flydsl::detail::StaticArg static_arg() const {
    return {this, {static_cast<std::uint64_t>(value), 0}};
  }
  int value = 0;
};

struct FakeBuild {
  std::atomic<int> builds{0};
  unsigned maxBlock = 1024; ///< what the made code says of itself
  std::size_t sharedBytes = 0, dynamicBytes = 0;
  unsigned spills = 0;
  std::string target;             ///< empty: the one that was asked for
  std::vector<std::string> types; ///< of the last build
};
FakeBuild &fakeBuild();
