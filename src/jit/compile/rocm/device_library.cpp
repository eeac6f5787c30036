// The assembler puts the bitcode of the device library into the read-only data of this library.
#include "jit/compile/rocm/device_library.h"

// FLYDSL_OCML_FILE and FLYDSL_OCKL_FILE are paths that CMake found.
asm(R"(
  .pushsection .rodata.flydsl_device_library, "a", @progbits
  .balign 16
flydsl_ocml_begin:
  .incbin ")" FLYDSL_OCML_FILE R"("
flydsl_ocml_end:
  .balign 16
flydsl_ockl_begin:
  .incbin ")" FLYDSL_OCKL_FILE R"("
flydsl_ockl_end:
  .popsection
)");

extern "C" {
extern const char kFlydslOcmlBegin[] asm("flydsl_ocml_begin");
extern const char kFlydslOcmlEnd[] asm("flydsl_ocml_end");
extern const char kFlydslOcklBegin[] asm("flydsl_ockl_begin");
extern const char kFlydslOcklEnd[] asm("flydsl_ockl_end");
}

namespace flydsl::jit {

std::string_view ocmlBitcode() {
  return {kFlydslOcmlBegin, static_cast<std::size_t>(kFlydslOcmlEnd - kFlydslOcmlBegin)};
}

std::string_view ocklBitcode() {
  return {kFlydslOcklBegin, static_cast<std::size_t>(kFlydslOcklEnd - kFlydslOcklBegin)};
}

} // namespace flydsl::jit
