// Clang's offload bundles: several code objects, one per target, in one image.
#pragma once

#include "emulator/loader/byte_view.h"
#include "emulator/loader/target_id.h"

#include <vector>

namespace flyemu::loader {

/// Whether the bytes start like a bundle (compressed ones included).
bool isOffloadBundle(ByteView image);

/// The code object in the bundle that fits the device best: one with fixed features before one that
/// runs either way, an exact processor before a generic one. A compressed bundle (zlib or zstd) is
/// expanded into \p storage, which the result points into then. Throws LoadError; when none fits,
/// the message lists what the bundle holds.
ByteView selectFromBundle(ByteView image, const TargetId &device, std::vector<uint8_t> &storage);

/// How many bytes a bundle spans, from what \p image holds of it; throws LoadError when its table
/// is not wholly in \p image, or it is a compressed one of version 1, which does not say.
uint64_t bundleExtent(ByteView image);

} // namespace flyemu::loader
