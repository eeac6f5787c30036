// RUN: fly-opt %s --split-input-file --fly-lower-ktrace="chipset=gfx942" --verify-diagnostics

gpu.module @kernels {
  gpu.func @without(%n: i32) kernel {
    // expected-error @+1 {{records into the kernel's last argument, which must be a pointer into global memory (!fly.ptr<i8, global>); the kernel without has no such argument}}
    fly_ktrace.mark "start"
    gpu.return
  }
}

// -----

gpu.module @kernels {
  func.func @helper() {
    // expected-error @+1 {{stands in a function that is no kernel; events are recorded by kernels alone}}
    fly_ktrace.mark "start"
    return
  }
}
