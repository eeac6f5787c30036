// AMD's instructions for the functions of flydsl/kernel/gpu.h.
#pragma once

namespace flydsl::builder {

class VendorInstructions;

const VendorInstructions &amdInstructions();

} // namespace flydsl::builder
