// RUN: fly-opt %s --split-input-file --verify-diagnostics

func.func @type(%n: i64) {
  // expected-error @+1 {{expected payload_type to be one of uint64 int64 float32 float64 bool, found 'int32'}}
  fly_ktrace.mark "value" payload %n : i64 {payload_type = "int32"}
  return
}

// -----

func.func @narrow(%n: i32) {
  // expected-error @+1 {{operand #0 must be 64-bit signless integer}}
  "fly_ktrace.mark"(%n) <{event_name = "value"}> : (i32) -> ()
  return
}
