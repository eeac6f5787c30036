#include "runtime/dlpack_abi.h"

#include <flydsl/host/args.h>

#include <catch2/catch.hpp>

namespace fx = flydsl;

namespace {
alignas(64) char storage[256];

struct Managed : DLManagedTensor {
  std::int64_t shape[2] = {4, 8}, strides[2] = {16, 1};
  Managed() : DLManagedTensor{} {
    dl_tensor = {storage, {10, 0}, 2, {2, 16, 1}, shape, strides, 64};
  }
};

std::string str(const fx::TensorArg &tensor) {
  fx::ArgPack pack;
  pack.tensor(tensor);
  return pack.types().at(0).str();
}
} // namespace

TEST_CASE("a DLPack tensor is static until marked") {
  Managed m;
  fx::TensorArg t = fx::from_dlpack(&m);
  CHECK(t.data() == storage + 64);
  CHECK(str(t) == "tensor<f16, (4,8):(16,1)>");
  CHECK(str(t.mark_layout_dynamic(1, 16)) == "tensor<f16, (?,?):(?{i64 div=16},1)>");
  m.dl_tensor.strides = nullptr;
  CHECK(str(fx::from_dlpack(&m)) == "tensor<f16, (4,8):(8,1)>");
}

TEST_CASE("element types by DLPack's codes") {
  Managed m;
  auto dtype = [&](std::uint8_t code, std::uint8_t bits) {
    m.dl_tensor.dtype = {code, bits, 1};
    return fx::from_dlpack(&m).dtype();
  };
  CHECK(dtype(0, 32) == fx::i32);
  CHECK(dtype(1, 8) == fx::u8);
  CHECK(dtype(2, 64) == fx::f64);
  CHECK(dtype(4, 16) == fx::bf16);
  CHECK(dtype(11, 8) == fx::f8E4M3FNUZ);
  CHECK(dtype(17, 4) == fx::f4E2M1FN);
  CHECK_THROWS_WITH(dtype(2, 128),
                    Catch::Contains("no element type for DLPack code 2 with 128 bits"));
  m.dl_tensor.dtype = {2, 32, 4};
  CHECK_THROWS_WITH(fx::from_dlpack(&m), Catch::Contains("4 lanes"));
}

TEST_CASE("memory of another kind of device is refused") {
  Managed m;
  m.dl_tensor.device.device_type = 2; // CUDA
  CHECK_THROWS_WITH(fx::from_dlpack(&m), Catch::Contains("DLPack device type 2"));
  CHECK_THROWS_AS(fx::from_dlpack(nullptr), fx::TraceError);
}

TEST_CASE("a tensor without a shape, or with an offset out of memory, is refused") {
  Managed m;
  m.dl_tensor.shape = nullptr;
  CHECK_THROWS_WITH(fx::from_dlpack(&m), Catch::Contains("without a shape"));
  Managed n;
  n.dl_tensor.byte_offset = ~std::uint64_t(0) - 63;
  CHECK_THROWS_WITH(fx::from_dlpack(&n), Catch::Contains("leaves the address space"));
}
