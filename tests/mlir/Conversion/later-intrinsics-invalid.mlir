// RUN: fly-opt %s --split-input-file --fly-lower-later-intrinsics="chipset=gfx1201" --verify-diagnostics

func.func @group(%a: vector<4xi32>, %b: vector<8xi32>) {
  // expected-error @+1 {{the tensor data mover of gfx1250 takes four groups of a descriptor; expected zeros in the fifth}}
  rocdl.tensor.load.to.lds %a, %b, %a, %a, %b, 0 : vector<4xi32>, vector<8xi32>
  return
}

// -----

func.func @marks() {
  // expected-error @+1 {{waits for asynchronous loads into LDS, which gfx1201 does not have}}
  rocdl.wait.asyncmark 1
  return
}
