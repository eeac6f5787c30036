#include "emulator/hip/stream/copy.h"

namespace flyemu::hip {
namespace {

uint64_t addressOf(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }

/// The distance from the first byte to one past the last; throws when it overflows.
uint64_t spanOf(uint64_t width, uint64_t height, uint64_t depth, uint64_t pitch, uint64_t slice) {
  unsigned __int128 span =
      (unsigned __int128)(depth - 1) * slice + (unsigned __int128)(height - 1) * pitch + width;
  require(span < (uint64_t(1) << 62), "the size overflows");
  return static_cast<uint64_t>(span);
}

bool isKnown(uint64_t address) { return Runtime::get().space().find(address).has_value(); }

/// Known memory must hold the whole span; unknown memory is the host's own, which is allowed only
/// where the direction says so.
void checkSide(uint64_t address, uint64_t span, bool mustBeKnown, const char *side) {
  DeviceMemory &space = Runtime::get().space();
  require(address, "a pointer is null");
  if (!isKnown(address)) {
    if (mustBeKnown)
      fail(hipErrorInvalidValue,
           std::string("the ") + side + " is no device memory: " + space.describe(address));
    return;
  }
  if (!space.covers(address, span))
    fail(hipErrorInvalidValue, std::string("the ") + side + " of " + std::to_string(span) +
                                   " bytes runs past its allocation: " + space.describe(address));
}

uint64_t sourceSpan(const CopyOperation &c) {
  return spanOf(c.width, c.height, c.depth, c.sourcePitch, c.sourceSlice);
}
uint64_t targetSpan(const CopyOperation &c) {
  return spanOf(c.width, c.height, c.depth, c.targetPitch, c.targetSlice);
}

} // namespace

CopyOperation plainCopy(void *target, const void *source, size_t size) {
  CopyOperation operation;
  operation.target = addressOf(target);
  operation.source = addressOf(source);
  operation.width = size;
  return operation;
}

CopyOperation copyFrom3D(const hipMemcpy3DParms &p) {
  if (p.srcArray || p.dstArray)
    fail(hipErrorNotSupported, "there are no arrays on the emulator");
  CopyOperation operation;
  operation.width = p.extent.width;
  operation.height = p.extent.height;
  operation.depth = p.extent.depth;
  if (p.extent.width > p.srcPtr.pitch || p.extent.width > p.dstPtr.pitch)
    fail(hipErrorInvalidPitchValue, "a row is wider than its pitch");
  operation.sourcePitch = p.srcPtr.pitch;
  operation.targetPitch = p.dstPtr.pitch;
  require(!__builtin_mul_overflow(p.srcPtr.pitch, p.srcPtr.ysize, &operation.sourceSlice) &&
              !__builtin_mul_overflow(p.dstPtr.pitch, p.dstPtr.ysize, &operation.targetSlice),
          "the size of a slice overflows");
  operation.source = addressOf(p.srcPtr.ptr) + p.srcPos.z * operation.sourceSlice +
                     p.srcPos.y * operation.sourcePitch + p.srcPos.x;
  operation.target = addressOf(p.dstPtr.ptr) + p.dstPos.z * operation.targetSlice +
                     p.dstPos.y * operation.targetPitch + p.dstPos.x;
  return operation;
}

void checkCopy(const CopyOperation &operation, hipMemcpyKind kind) {
  bool targetKnown = kind == hipMemcpyHostToDevice || kind == hipMemcpyDeviceToDevice;
  bool sourceKnown = kind == hipMemcpyDeviceToHost || kind == hipMemcpyDeviceToDevice;
  if (!targetKnown && !sourceKnown && kind != hipMemcpyHostToHost && kind != hipMemcpyDefault)
    fail(hipErrorInvalidMemcpyDirection, "unknown kind of copy");
  checkSide(operation.target, targetSpan(operation), targetKnown, "target");
  checkSide(operation.source, sourceSpan(operation), sourceKnown, "source");
}

void checkFill(const FillOperation &operation) {
  require(operation.target % operation.elementSize == 0,
          "the target is not aligned to its elements");
  require(operation.width <= (uint64_t(1) << 60), "the size overflows");
  checkSide(
      operation.target,
      spanOf(operation.width * operation.elementSize, operation.height, 1, operation.pitch, 0),
      true, "target");
}

void submitCopy(const StreamRef &stream, CopyOperation operation, hipMemcpyKind kind, bool wait) {
  checkCopy(operation, kind);
  if (wait)
    return submitAndWait(stream, std::move(operation));
  bool pageableSource = !isKnown(operation.source), pageableTarget = !isKnown(operation.target);
  bool capturing = stream->capturing; // a graph reads host memory when it runs
  if (pageableSource && !capturing) {
    auto *bytes = reinterpret_cast<const uint8_t *>(operation.source);
    operation.staged = std::make_shared<std::vector<uint8_t>>(bytes, bytes + sourceSpan(operation));
  }
  CompletionRef completion = submit(stream, std::move(operation), hipGraphNodeTypeMemcpy);
  if (pageableTarget && completion) {
    waitOnHost(completion);
    stream->device().requireHealthy();
  }
}

void submitFill(const StreamRef &stream, FillOperation operation, bool wait) {
  checkFill(operation);
  if (wait)
    return submitAndWait(stream, operation);
  submit(stream, operation, hipGraphNodeTypeMemset);
}

} // namespace flyemu::hip
