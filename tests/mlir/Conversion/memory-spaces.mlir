// RUN: fly-opt %s --fly-lower-memory-spaces | FileCheck %s

// Types of operations, arguments, globals and functions change.
// CHECK-LABEL: gpu.module @kernels
gpu.module @kernels {
  // CHECK: memref.global @lds : memref<16xf32, 3>
  memref.global @lds : memref<16xf32, #gpu.address_space<workgroup>>
  // CHECK: func.func @spaces(%{{.*}}: memref<?x4xf32, strided<[8, 1]>, 1>, %{{.*}}: memref<4xf32, 5>, %{{.*}}: memref<4xf32>)
  func.func @spaces(%a: memref<?x4xf32, strided<[8, 1]>, #gpu.address_space<global>>, %b: memref<4xf32, #gpu.address_space<private>>,
                    %c: memref<4xf32>) {
    %i = arith.constant 0 : index
    // CHECK: memref.get_global @lds : memref<16xf32, 3>
    %m = memref.get_global @lds : memref<16xf32, #gpu.address_space<workgroup>>
    // CHECK: vector.load %{{.*}} : memref<16xf32, 3>, vector<4xf32>
    %v = vector.load %m[%i] : memref<16xf32, #gpu.address_space<workgroup>>, vector<4xf32>
    return
  }
}
