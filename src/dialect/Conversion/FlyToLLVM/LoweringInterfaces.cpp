#include "dialect/Conversion/FlyToLLVM/LoweringInterfaces.h"

#include "dialect/Conversion/FlyToLLVM/LoweringAttrInterfaces.cpp.inc"
#include "dialect/Conversion/FlyToLLVM/LoweringTypeInterfaces.cpp.inc"
