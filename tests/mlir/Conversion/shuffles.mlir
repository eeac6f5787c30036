// RUN: fly-opt %s --fly-lower-shuffles=chipset=gfx942 | FileCheck %s --check-prefixes=CHECK,CDNA3
// RUN: fly-opt %s --fly-lower-shuffles=chipset=gfx950 | FileCheck %s --check-prefixes=CHECK,CDNA4
// RUN: fly-opt %s --fly-lower-shuffles=chipset=gfx1201 | FileCheck %s --check-prefixes=CHECK,RDNA
// RUN: not fly-opt %s --fly-lower-shuffles=chipset=gfx1 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: no processor is called 'gfx1'

// Within a row of 16 lanes: DPP.
// CHECK-LABEL: @rows
// CHECK-SAME: (%[[X:.*]]: i32)
func.func @rows(%x: i32) -> (i32, i32, i32, i32) {
  %width = arith.constant 32 : i32
  %1 = arith.constant 1 : i32
  %4 = arith.constant 4 : i32
  %8 = arith.constant 8 : i32
  %10 = arith.constant 10 : i32
  // CHECK: rocdl.update.dpp %[[X]], %[[X]] with 177, 15, 15, true : i32
  %a, %va = gpu.shuffle xor %x, %1, %width : i32
  // CDNA3: %[[MIRROR:.*]] = rocdl.update.dpp %[[X]], %[[X]] with 321, 15, 15, true : i32
  // CDNA3: rocdl.update.dpp %[[MIRROR]], %[[MIRROR]] with 27, 15, 15, true : i32
  // RDNA: rocdl.update.dpp %[[X]], %[[X]] with 356, 15, 15, true : i32
  %b, %vb = gpu.shuffle xor %x, %4, %width : i32
  // CDNA3: rocdl.update.dpp %[[X]], %[[X]] with 296, 15, 15, true : i32
  // RDNA: rocdl.update.dpp %[[X]], %[[X]] with 360, 15, 15, true : i32
  %c, %vc = gpu.shuffle xor %x, %8, %width : i32
  // The offset of ds_swizzle has the mask in bits 10 to 14.
  // CDNA3: %[[OFFSET:.*]] = arith.constant 10271 : i32
  // CDNA3: llvm.call_intrinsic "llvm.amdgcn.ds.swizzle"(%[[X]], %[[OFFSET]]) : (i32, i32) -> i32
  // RDNA: rocdl.update.dpp %[[X]], %[[X]] with 362, 15, 15, true : i32
  %d, %vd = gpu.shuffle xor %x, %10, %width : i32
  return %a, %b, %c, %d : i32, i32, i32, i32
}

// Between rows.
// CHECK-LABEL: @across
// CHECK-SAME: (%[[X:.*]]: f32)
func.func @across(%x: f32) -> (f32, i1) {
  %width = arith.constant 32 : i32
  %16 = arith.constant 16 : i32
  // CHECK: %[[BITS:.*]] = arith.bitcast %[[X]] : f32 to i32
  // CDNA3: llvm.call_intrinsic "llvm.amdgcn.ds.swizzle"
  // CDNA4: %[[BOTH:.*]] = rocdl.permlane16.swap %[[BITS]], %[[BITS]], false, false
  // CDNA4: %[[LOWER:.*]] = llvm.extractvalue %[[BOTH]][0]
  // CDNA4: %[[UPPER:.*]] = llvm.extractvalue %[[BOTH]][1]
  // CDNA4: arith.select %{{.*}}, %[[LOWER]], %[[UPPER]] : i32
  // RDNA: llvm.call_intrinsic "llvm.amdgcn.permlanex16"(%[[BITS]], %[[BITS]]
  // CHECK: arith.bitcast %{{.*}} : i32 to f32
  // Each lane has a partner.
  // CHECK: arith.constant true
  // CHECK-NOT: gpu.shuffle
  %a, %valid = gpu.shuffle xor %x, %16, %width : f32
  return %a, %valid : f32, i1
}

// Past 32 lanes, which RDNA's waves do not have: there the shuffle stays.
// CHECK-LABEL: @halves
func.func @halves(%x: i32) -> i32 {
  %width = arith.constant 64 : i32
  %32 = arith.constant 32 : i32
  // CDNA3: rocdl.ds_bpermute
  // CDNA4: rocdl.permlane32.swap
  // RDNA: gpu.shuffle
  %a, %v = gpu.shuffle xor %x, %32, %width : i32
  return %a : i32
}

// The value of one lane of the wave.
// CHECK-LABEL: @broadcast
func.func @broadcast(%x: i32) -> (i32, i32) {
  %w64 = arith.constant 64 : i32
  %w32 = arith.constant 32 : i32
  %5 = arith.constant 5 : i32
  // CDNA3: rocdl.readlane
  // RDNA: gpu.shuffle idx
  %a, %va = gpu.shuffle idx %x, %5, %w64 : i32
  // CDNA3: gpu.shuffle idx
  // RDNA: rocdl.readlane
  %b, %vb = gpu.shuffle idx %x, %5, %w32 : i32
  return %a, %b : i32, i32
}

// Values of other widths move by words.
// CHECK-LABEL: @widths
// CHECK-SAME: (%[[D:.*]]: f64, %[[H:.*]]: f16)
func.func @widths(%d: f64, %h: f16) -> (f64, f16) {
  %width = arith.constant 32 : i32
  %2 = arith.constant 2 : i32
  // CHECK: arith.bitcast %[[D]] : f64 to i64
  // CHECK-COUNT-2: rocdl.update.dpp %{{.*}} with 78, 15, 15, true : i32
  // CHECK: arith.bitcast %{{.*}} : i64 to f64
  %a, %va = gpu.shuffle xor %d, %2, %width : f64
  // CHECK: %[[BITS:.*]] = arith.bitcast %[[H]] : f16 to i16
  // CHECK: arith.extui %[[BITS]] : i16 to i32
  // CHECK: rocdl.update.dpp %{{.*}} with 78, 15, 15, true : i32
  // CHECK: arith.trunci %{{.*}} : i32 to i16
  %b, %vb = gpu.shuffle xor %h, %2, %width : f16
  return %a, %b : f64, f16
}

// Lanes that only the run knows, groups that do not have the lane, and moves up and down stay.
// CHECK-LABEL: @stay
func.func @stay(%x: i32, %lane: i32) {
  %width = arith.constant 8 : i32
  %8 = arith.constant 8 : i32
  %1 = arith.constant 1 : i32
  // CHECK-COUNT-5: gpu.shuffle
  %a, %va = gpu.shuffle xor %x, %lane, %width : i32
  %b, %vb = gpu.shuffle xor %x, %8, %width : i32
  %c, %vc = gpu.shuffle idx %x, %1, %width : i32
  %d, %vd = gpu.shuffle up %x, %1, %width : i32
  %e, %ve = gpu.shuffle down %x, %1, %width : i32
  return
}
