#include "emulator/hip/device/properties.h"

#include <cstdio>
#include <cstring>

namespace flyemu::hip {
namespace {

constexpr int kMaxGrid = 2147483647;
constexpr int kMaxGridYZ = 65536; // what HIP reports for y and z

std::string deviceName(const Device &device) {
  return std::string("FlyDSL emulator (") + device.figures().name() + ", as " +
         std::string(device.figures().product->name) + ")";
}

hipDeviceArch_t archFlags() {
  hipDeviceArch_t arch = {};
  arch.hasGlobalInt32Atomics = 1;
  arch.hasGlobalFloatAtomicExch = 1;
  arch.hasSharedInt32Atomics = 1;
  arch.hasSharedFloatAtomicExch = 1;
  arch.hasFloatAtomicAdd = 1;
  arch.hasGlobalInt64Atomics = 1;
  arch.hasSharedInt64Atomics = 1;
  arch.hasDoubles = 1;
  arch.hasWarpVote = 1;
  arch.hasWarpBallot = 1;
  arch.hasWarpShuffle = 1;
  arch.hasThreadFenceSystem = 1;
  arch.has3dGrid = 1;
  return arch;
}

/// What both layouts call by the same names.
template <typename Properties> void fillCommon(const Device &device, Properties &p) {
  const DeviceFigures &info = device.figures();
  std::memset(&p, 0, sizeof(p));
  std::snprintf(p.name, sizeof(p.name), "%s", deviceName(device).c_str());
  std::snprintf(p.gcnArchName, sizeof(p.gcnArchName), "%s", device.target().str().c_str());
  p.totalGlobalMem = device.space().capacity();
  p.sharedMemPerBlock = info.ldsBytes();
  p.maxSharedMemoryPerMultiProcessor = info.ldsBytes();
  p.regsPerBlock = info.registersPerBlock;
  p.warpSize = info.waveSize();
  p.memPitch = 2147483647;
  p.maxThreadsPerBlock = info.maxBlockSize();
  for (int &limit : p.maxThreadsDim)
    limit = info.maxBlockSize();
  p.maxGridSize[0] = kMaxGrid;
  p.maxGridSize[1] = p.maxGridSize[2] = kMaxGridYZ;
  p.clockRate = info.clockKhz;
  p.memoryClockRate = info.memoryClockKhz;
  p.memoryBusWidth = info.memoryBusBits;
  p.totalConstMem = 2147483647;
  p.major = info.major;
  p.minor = info.minor;
  p.cooperativeLaunch = 1;
  p.textureAlignment = 256;
  p.texturePitchAlignment = 256;
  p.multiProcessorCount = info.computeUnits;
  p.maxThreadsPerMultiProcessor = info.threadsPerUnit;
  p.l2CacheSize = info.l2Bytes;
  p.clockInstructionRate = 100000; // the constant 100 MHz counter behind s_memrealtime
  p.arch = archFlags();
  p.concurrentKernels = 1;
  p.pciBusID = 1 + device.index();
  p.canMapHostMemory = 1;
  p.managedMemory = 1;
  p.concurrentManagedAccess = 1;
  p.directManagedMemAccessFromHost = 1;
  p.isLargeBar = 1;
}

} // namespace

void fillProperties(const Device &device, hipDeviceProp_t &result) {
  fillCommon(device, result);
  std::string digits = device.figures().name().substr(3);
  result.gcnArch = static_cast<int>(std::strtol(digits.c_str(), nullptr, 16));
}

void fillProperties(const Device &device, PropertiesR0600 &result) {
  static_assert(offsetof(PropertiesR0600, gcnArchName) == 1160, "the layout of HIP 6");
  static_assert(sizeof(PropertiesR0600) == 1472, "the layout of HIP 6");
  fillCommon(device, result);
  std::snprintf(result.uuid, sizeof(result.uuid), "flyemu%d", device.index());
  result.sharedMemPerMultiprocessor = device.figures().ldsBytes();
  result.sharedMemPerBlockOptin = device.figures().ldsBytes();
  result.regsPerMultiprocessor = device.figures().registersPerBlock;
  result.unifiedAddressing = 1;
  result.streamPrioritiesSupported = 1;
  result.hostNativeAtomicSupported = 1;
  result.canUseHostPointerForRegisteredMem = 1;
  result.hostRegisterSupported = 1;
  result.maxBlocksPerMultiProcessor = device.figures().threadsPerUnit / device.figures().waveSize();
}

int deviceAttribute(const Device &device, hipDeviceAttribute_t attribute) {
  hipDeviceProp_t p;
  fillProperties(device, p);
  // HIP 7's hipDeviceAttributeNumberOfXccs, which older headers do not have.
  constexpr int kNumberOfXccs = 10018;
  switch (static_cast<int>(attribute)) {
  case kNumberOfXccs:
    return device.figures().dies();
  case hipDeviceAttributeCanMapHostMemory:
  case hipDeviceAttributeCanUseHostPointerForRegisteredMem:
  case hipDeviceAttributeConcurrentKernels:
  case hipDeviceAttributeConcurrentManagedAccess:
  case hipDeviceAttributeDirectManagedMemAccessFromHost:
  case hipDeviceAttributeHostNativeAtomicSupported:
  case hipDeviceAttributeManagedMemory:
  case hipDeviceAttributeStreamPrioritiesSupported:
  case hipDeviceAttributeUnifiedAddressing:
  case hipDeviceAttributeIsLargeBar:
  case hipDeviceAttributeCanUseStreamWaitValue:
  case hipDeviceAttributeFineGrainSupport:
  case hipDeviceAttributeCooperativeLaunch:
    return 1;
  case hipDeviceAttributeEccEnabled:
  case hipDeviceAttributeAsyncEngineCount:
  case hipDeviceAttributeComputeMode:
  case hipDeviceAttributeComputePreemptionSupported:
  case hipDeviceAttributeCooperativeMultiDeviceLaunch:
  case hipDeviceAttributeDeviceOverlap:
  case hipDeviceAttributeGlobalL1CacheSupported:
  case hipDeviceAttributeLocalL1CacheSupported:
  case hipDeviceAttributeIntegrated:
  case hipDeviceAttributeIsMultiGpuBoard:
  case hipDeviceAttributeKernelExecTimeout:
  case hipDeviceAttributePageableMemoryAccess:
  case hipDeviceAttributePageableMemoryAccessUsesHostPageTables:
  case hipDeviceAttributePciDeviceId:
  case hipDeviceAttributePciDomainID:
  case hipDeviceAttributeMemoryPoolsSupported:
  case hipDeviceAttributeImageSupport:
  case hipDeviceAttributeAsicRevision:
  case hipDeviceAttributeCooperativeMultiDeviceUnmatchedFunc:
  case hipDeviceAttributeCooperativeMultiDeviceUnmatchedGridDim:
  case hipDeviceAttributeCooperativeMultiDeviceUnmatchedBlockDim:
  case hipDeviceAttributeCooperativeMultiDeviceUnmatchedSharedMem:
  case hipDeviceAttributeReservedSharedMemPerBlock:
    return 0;
  case hipDeviceAttributeClockRate:
    return p.clockRate;
  case hipDeviceAttributeClockInstructionRate:
    return p.clockInstructionRate;
  case hipDeviceAttributeL2CacheSize:
    return p.l2CacheSize;
  case hipDeviceAttributeComputeCapabilityMajor:
    return p.major;
  case hipDeviceAttributeComputeCapabilityMinor:
    return p.minor;
  case hipDeviceAttributeMaxBlocksPerMultiProcessor:
    return device.figures().threadsPerUnit / device.figures().waveSize();
  case hipDeviceAttributeMaxBlockDimX:
  case hipDeviceAttributeMaxBlockDimY:
  case hipDeviceAttributeMaxBlockDimZ:
  case hipDeviceAttributeMaxThreadsPerBlock:
    return p.maxThreadsPerBlock;
  case hipDeviceAttributeMaxGridDimX:
    return kMaxGrid;
  case hipDeviceAttributeMaxGridDimY:
  case hipDeviceAttributeMaxGridDimZ:
    return kMaxGridYZ;
  case hipDeviceAttributeMaxThreadsPerMultiProcessor:
    return p.maxThreadsPerMultiProcessor;
  case hipDeviceAttributeMaxPitch:
    return 2147483647;
  case hipDeviceAttributeMemoryBusWidth:
    return p.memoryBusWidth;
  case hipDeviceAttributeMemoryClockRate:
    return p.memoryClockRate;
  case hipDeviceAttributeMultiprocessorCount:
  case hipDeviceAttributePhysicalMultiProcessorCount:
    return p.multiProcessorCount;
  case hipDeviceAttributePciBusId:
    return p.pciBusID;
  case hipDeviceAttributeMaxRegistersPerBlock:
  case hipDeviceAttributeMaxRegistersPerMultiprocessor:
    return p.regsPerBlock;
  case hipDeviceAttributeMaxSharedMemoryPerBlock:
  case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor:
  case hipDeviceAttributeSharedMemPerBlockOptin:
  case hipDeviceAttributeSharedMemPerMultiprocessor:
    return static_cast<int>(p.sharedMemPerBlock);
  case hipDeviceAttributeTextureAlignment:
  case hipDeviceAttributeTexturePitchAlignment:
    return 256;
  case hipDeviceAttributeTotalConstantMemory:
    return 2147483647;
  case hipDeviceAttributeWarpSize:
    return p.warpSize;
  case hipDeviceAttributeGcnArch:
    return p.gcnArch;
  default:
    fail(hipErrorInvalidValue,
         "device attribute " + std::to_string(attribute) + " is not known here");
  }
}

} // namespace flyemu::hip
