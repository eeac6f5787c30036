// RUN: fly-opt %s --fly-convert-native-math | FileCheck %s

// Flags stay with the function: without them the code is exact, with them one instruction.
// CHECK-LABEL: @flags
// CHECK-SAME: (%[[X:.*]]: f32, %{{.*}}: f64)
func.func @flags(%x: f32, %d: f64) {
  // CHECK: llvm.call_intrinsic "llvm.log2"(%[[X]]) : (f32) -> f32
  %0 = math.log2 %x : f32
  // CHECK: llvm.call_intrinsic "llvm.sqrt"(%[[X]]) {fastmathFlags = #llvm.fastmath<nnan, afn>} : (f32) -> f32
  %1 = math.sqrt %x fastmath<nnan,afn> : f32
  // CHECK: %[[ROOT:.*]] = llvm.intr.sqrt(%[[X]]) {fastmathFlags = #llvm.fastmath<fast>} : (f32) -> f32
  // CHECK: %[[ONE:.*]] = llvm.mlir.constant(1.000000e+00 : f32) : f32
  // CHECK: llvm.fdiv %[[ONE]], %[[ROOT]] {fastmathFlags = #llvm.fastmath<fast>} : f32
  %2 = math.rsqrt %x fastmath<fast> : f32
  // CHECK: llvm.call_intrinsic "llvm.floor"(%{{.*}}) : (f64) -> f64
  %3 = math.floor %d : f64
  return
}

// The exact reciprocal root is the hardware's, with subnormal arguments scaled. It has no form of 64 bits.
// CHECK-LABEL: @reciprocal_root
// CHECK-SAME: (%[[X:.*]]: f32, %[[D:.*]]: f64)
func.func @reciprocal_root(%x: f32, %d: f64) -> (f32, f64) {
  // CHECK: %[[NORMAL:.*]] = llvm.mlir.constant(1.17549435E-38 : f32) : f32
  // CHECK: %[[SMALL:.*]] = arith.cmpf olt, %[[X]], %[[NORMAL]]
  // CHECK: %[[UP:.*]] = llvm.mlir.constant(0x4B800000 : f32) : f32
  // CHECK: %[[SCALED:.*]] = llvm.fmul %[[X]], %[[UP]]
  // CHECK: %[[A:.*]] = arith.select %[[SMALL]], %[[SCALED]], %[[X]]
  // CHECK: %[[R:.*]] = llvm.call_intrinsic "llvm.amdgcn.rsq"(%[[A]]) : (f32) -> f32
  // CHECK: %[[DOWN:.*]] = llvm.mlir.constant(4.096000e+03 : f32) : f32
  // CHECK: %[[S:.*]] = llvm.fmul %[[R]], %[[DOWN]]
  // CHECK: %[[Y:.*]] = arith.select %[[SMALL]], %[[S]], %[[R]]
  %0 = math.rsqrt %x : f32
  // CHECK: llvm.intr.sqrt(%[[D]])
  %1 = math.rsqrt %d : f64
  // CHECK: return %[[Y]]
  return %0, %1 : f32, f64
}

// Approximate exponentials are the hardware's; exact ones leave the scaling to the code generator.
// CHECK-LABEL: @exponentials
// CHECK-SAME: (%[[X:.*]]: f32, %[[H:.*]]: f16, %[[V:.*]]: vector<2xf32>)
func.func @exponentials(%x: f32, %h: f16, %v: vector<2xf32>) {
  // CHECK: llvm.call_intrinsic "llvm.exp2"(%[[X]]) : (f32) -> f32
  %0 = math.exp2 %x : f32
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.exp2"(%[[X]]) : (f32) -> f32
  %1 = math.exp2 %x fastmath<afn> : f32
  // CHECK: llvm.call_intrinsic "llvm.exp2"(%[[H]]) {fastmathFlags = #llvm.fastmath<afn>} : (f16) -> f16
  %2 = math.exp2 %h fastmath<afn> : f16
  // CHECK: %[[LOG2E:.*]] = llvm.mlir.constant(dense<1.44269502> : vector<2xf32>) : vector<2xf32>
  // CHECK: %[[M:.*]] = llvm.fmul %[[V]], %[[LOG2E]] {fastmathFlags = #llvm.fastmath<fast>} : vector<2xf32>
  // CHECK: %[[A:.*]] = vector.extract %[[M]][0]
  // CHECK: %[[EA:.*]] = llvm.call_intrinsic "llvm.amdgcn.exp2"(%[[A]])
  // CHECK: %[[B:.*]] = vector.extract %[[M]][1]
  // CHECK: %[[EB:.*]] = llvm.call_intrinsic "llvm.amdgcn.exp2"(%[[B]])
  // CHECK: vector.from_elements %[[EA]], %[[EB]] : vector<2xf32>
  %3 = math.exp %v fastmath<fast> : vector<2xf32>
  return
}

// bf16 is computed in f32. What is for the device library stays.
// CHECK-LABEL: @others
// CHECK-SAME: (%[[X:.*]]: bf16, %[[Y:.*]]: f32, %[[D:.*]]: f64)
func.func @others(%x: bf16, %y: f32, %d: f64) {
  // CHECK: %[[W:.*]] = arith.extf %[[X]] : bf16 to f32
  // CHECK: %[[E:.*]] = llvm.call_intrinsic "llvm.log"(%[[W]]) : (f32) -> f32
  // CHECK: arith.truncf %[[E]] : f32 to bf16
  %0 = math.log %x : bf16
  // CHECK: math.sin %[[Y]]
  %1 = math.sin %y : f32
  // CHECK: math.exp %[[D]]
  %2 = math.exp %d : f64
  return
}
