// RUN: not fly-opt %s --convert-fly-to-llvm=address-spaces=0,1 2>&1 | FileCheck %s
// CHECK: address-spaces takes 4 numbers, for generic, global, shared and register memory, not 2
module {}
