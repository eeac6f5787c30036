#include "emulator/hip/graph/graph_nodes.h"

#include "emulator/hip/launch/launch.h"
#include "emulator/hip/module/registration.h"
#include "emulator/hip/stream/copy.h"

namespace flyemu::hip {
namespace {

std::array<uint32_t, 3> extent(const dim3 &size) { return {size.x, size.y, size.z}; }

hipPitchedPtr pitched(uint64_t address, size_t pitch, size_t width, size_t height) {
  hipPitchedPtr result = {};
  result.ptr = reinterpret_cast<void *>(address);
  result.pitch = pitch;
  result.xsize = width;
  result.ysize = height;
  return result;
}

/// The getters hand out pointers to the values in the node's own argument segment.
void describeKernel(GraphNode &node) {
  auto &operation = std::get<KernelOperation>(node.operation);
  node.kernelPointers.clear();
  for (const loader::KernelParameter &argument : operation.function->kernel->metadata.arguments)
    if (!argument.isHidden())
      node.kernelPointers.push_back(operation.kernarg.data() + argument.offset);
  const loader::LaunchShape &shape = operation.shape;
  // The function as the program named it; for a captured launch, as it would name it.
  if (!node.kernelParams.func) {
    const void *host = operation.function->hostAddress;
    node.kernelParams.func = host ? const_cast<void *>(host) : operation.function.get();
  }
  node.kernelParams.gridDim = dim3(shape.grid[0], shape.grid[1], shape.grid[2]);
  node.kernelParams.blockDim = dim3(shape.block[0], shape.block[1], shape.block[2]);
  node.kernelParams.sharedMemBytes = shape.dynamicLds;
  node.kernelParams.kernelParams = node.kernelPointers.data();
  node.kernelParams.extra = nullptr;
}

void describeCopy(GraphNode &node, const CopyOperation &copy) {
  hipMemcpy3DParms &p = node.copyParams;
  p = {};
  p.srcPtr = pitched(copy.source, copy.sourcePitch ? copy.sourcePitch : copy.width, copy.width,
                     copy.sourcePitch ? copy.sourceSlice / copy.sourcePitch : 1);
  p.dstPtr = pitched(copy.target, copy.targetPitch ? copy.targetPitch : copy.width, copy.width,
                     copy.targetPitch ? copy.targetSlice / copy.targetPitch : 1);
  p.extent.width = copy.width;
  p.extent.height = copy.height;
  p.extent.depth = copy.depth;
  p.kind = hipMemcpyDefault;
}

void describeFill(GraphNode &node, const FillOperation &fill) {
  node.fillParams = {reinterpret_cast<void *>(fill.target),
                     fill.elementSize,
                     fill.height,
                     fill.pitch,
                     fill.value,
                     fill.width};
}

} // namespace

void setKernel(GraphNode &node, const hipKernelNodeParams &p) {
  std::shared_ptr<Function> function = kernelOf(p.func, Runtime::get().currentDevice());
  loader::LaunchShape shape{extent(p.gridDim), extent(p.blockDim), p.sharedMemBytes};
  // The parameters of a node have no cluster, which stays what it was.
  if (const auto *before = std::get_if<KernelOperation>(&node.operation))
    shape.cluster = before->shape.cluster;
  node.operation = makeLaunch(std::move(function), shape, p.kernelParams, p.extra);
  node.kernelParams.func = p.func;
  describeKernel(node);
}

void setCopy(GraphNode &node, const hipMemcpy3DParms &p) {
  CopyOperation operation = copyFrom3D(p);
  require(operation.width && operation.height && operation.depth, "the copy is empty");
  checkCopy(operation, p.kind);
  node.copyParams = p;
  node.operation = std::move(operation);
}

void setCopy1D(GraphNode &node, void *target, const void *source, size_t size, hipMemcpyKind kind) {
  require(size, "the copy is empty");
  CopyOperation operation = plainCopy(target, source, size);
  checkCopy(operation, kind);
  describeCopy(node, operation);
  node.copyParams.kind = kind;
  node.operation = std::move(operation);
}

void setFill(GraphNode &node, const hipMemsetParams &p) {
  require(p.elementSize == 1 || p.elementSize == 2 || p.elementSize == 4,
          "an element has 1, 2 or 4 bytes");
  require(p.width && p.height, "the fill is empty");
  require(p.height == 1 || p.pitch / p.elementSize >= p.width, "a row is wider than its pitch");
  FillOperation operation;
  operation.target = reinterpret_cast<uint64_t>(p.dst);
  operation.value = p.value;
  operation.elementSize = p.elementSize;
  operation.width = p.width;
  operation.height = p.height;
  operation.pitch = p.pitch;
  checkFill(operation);
  node.fillParams = p;
  node.operation = operation;
}

void setHost(GraphNode &node, const hipHostNodeParams &p) {
  require(p.fn, "the function is null");
  node.hostParams = p;
  node.operation = HostOperation{[p](hipError_t) { p.fn(p.userData); }};
}

void describeCaptured(GraphNode &node) {
  if (std::holds_alternative<KernelOperation>(node.operation))
    describeKernel(node);
  else if (auto *copy = std::get_if<CopyOperation>(&node.operation))
    describeCopy(node, *copy);
  else if (auto *fill = std::get_if<FillOperation>(&node.operation))
    describeFill(node, *fill);
}

} // namespace flyemu::hip
