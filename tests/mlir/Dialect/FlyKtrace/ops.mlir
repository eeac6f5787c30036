// The text of FlyDSL's fly_ktrace dialect.
// RUN: fly-opt %s | fly-opt | FileCheck %s

// CHECK-LABEL: @events
func.func @events(%n: i64) {
  // CHECK: fly_ktrace.mark "start"
  fly_ktrace.mark "start"
  // CHECK: fly_ktrace.mark "value" payload %{{.*}} : i64 {payload_type = "float32"}
  fly_ktrace.mark "value" payload %n : i64 {payload_type = "float32"}
  // CHECK: fly_ktrace.range_push "phase" payload %{{.*}} : i64{{$}}
  fly_ktrace.range_push "phase" payload %n : i64 {payload_type = "uint64"}
  // CHECK: %[[NONE:.*]] = fly_ktrace.inactive_token -> !fly_ktrace.token
  %none = fly_ktrace.inactive_token -> !fly_ktrace.token
  // CHECK: fly_ktrace.range_stop %[[NONE]], "tile" : !fly_ktrace.token
  fly_ktrace.range_stop %none, "tile" : !fly_ktrace.token
  // CHECK: %[[T:.*]] = fly_ktrace.range_start "tile" payload %{{.*}} : i64 {payload_type = "int64"} -> !fly_ktrace.token
  %t = fly_ktrace.range_start "tile" payload %n : i64 {payload_type = "int64"} -> !fly_ktrace.token
  // CHECK: fly_ktrace.range_stop %[[T]], "tile" payload %{{.*}} : i64 {payload_type = "bool"} : !fly_ktrace.token
  fly_ktrace.range_stop %t, "tile" payload %n : i64 {payload_type = "bool"} : !fly_ktrace.token
  // CHECK: fly_ktrace.range_pop
  fly_ktrace.range_pop
  return
}
