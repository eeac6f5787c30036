// Atoms of the tensor data mover made of a tensor and a tile. The types that the functions return are
// those that FlyDSL 0.4.2 infers for the same operations; an operation that inferred another type
// would not fit.
// RUN: fly-opt %s | fly-opt | FileCheck %s

!tile = !fly.tile<[128|64]>
!packed = !fly.layout<(128,64):(64,1)>
!rows = !fly.memref<f16, global, (256,512):(512,1)>
!coords = !fly.coord_tensor<(0,0), (256,512):(1E1,1E0)>

// Four waves share the rows. What a move is told beside the box is printed where it is not 0.
// CHECK-LABEL: @waves
// CHECK: fly_rocdl.make_tiled_tdm_load_atom %{{.*}}, %{{.*}}, %{{.*}} {atomicBarrier = true, cacheModifier = 2 : i32, numWarps = 4 : i32} : !fly.memref<f16, global, (256,512):(512,1)>, !fly.layout<(128,64):(64,1)>, !fly.tile<[128|64]>
// CHECK: return %{{.*}} : !fly.copy_atom<!fly_rocdl.cdna5.tensor_load<shape = [32, 64], elem = f16, tensor2tdm = (1E0,1E1), atomicBarrier = true, cacheModifier = 2>, 16>, !fly.coord_tensor<(0,0), (256,512):(1E1,1E0)>
func.func @waves(%t: !rows, %l: !packed, %s: !tile) -> (!fly.copy_atom<!fly_rocdl.cdna5.tensor_load<shape = [32, 64], elem = f16, tensor2tdm = (1E0,1E1), atomicBarrier = true, cacheModifier = 2>, 16>, !coords) {
  %a, %c = fly_rocdl.make_tiled_tdm_load_atom %t, %l, %s {atomicBarrier = true, cacheModifier = 2 : i32, numWarps = 4 : i32} : !rows, !packed, !tile
  return %a, %c : !fly.copy_atom<!fly_rocdl.cdna5.tensor_load<shape = [32, 64], elem = f16, tensor2tdm = (1E0,1E1), atomicBarrier = true, cacheModifier = 2>, 16>, !coords
}

// A tensor whose columns are contiguous.
!columns = !fly.memref<f16, global, (256,512):(1,256)>
func.func @columns(%t: !columns, %l: !fly.layout<(128,64):(1,128)>, %s: !tile) -> (!fly.copy_atom<!fly_rocdl.cdna5.tensor_load<shape = [64, 128], elem = f16, tensor2tdm = (1E1,1E0)>, 16>, !fly.coord_tensor<(0,0), (256,512):(1E0,1E1)>) {
  %a, %c = fly_rocdl.make_tiled_tdm_load_atom %t, %l, %s : !columns, !fly.layout<(128,64):(1,128)>, !tile
  return %a, %c : !fly.copy_atom<!fly_rocdl.cdna5.tensor_load<shape = [64, 128], elem = f16, tensor2tdm = (1E1,1E0)>, 16>, !fly.coord_tensor<(0,0), (256,512):(1E0,1E1)>
}

// Extents and strides that are known at run time.
!dynamic = !fly.memref<f16, global, (?,?):(?{i64},1)>
func.func @dynamic(%t: !dynamic, %l: !packed, %s: !tile) -> (!fly.copy_atom<!fly_rocdl.cdna5.tensor_load<shape = [128, 64], elem = f16, tensor2tdm = (1E0,1E1)>, 16>, !fly.coord_tensor<(0,0), (?,?):(1E1,1E0)>) {
  %a, %c = fly_rocdl.make_tiled_tdm_load_atom %t, %l, %s : !dynamic, !packed, !tile
  return %a, %c : !fly.copy_atom<!fly_rocdl.cdna5.tensor_load<shape = [128, 64], elem = f16, tensor2tdm = (1E0,1E1)>, 16>, !fly.coord_tensor<(0,0), (?,?):(1E1,1E0)>
}

// A gap after each row of LDS, and one after eight rows.
func.func @gaps(%t: !rows, %l: !fly.layout<(128,64):(72,1)>, %e: !fly.layout<((8,16),64):((64,576),1)>, %s: !tile) -> (!fly.copy_atom<!fly_rocdl.cdna5.tensor_load<shape = [128, 64], elem = f16, tensor2tdm = (1E0,1E1), padInterval = 64, padAmount = 8>, 16>, !fly.copy_atom<!fly_rocdl.cdna5.tensor_load<shape = [8, 64], elem = f16, tensor2tdm = (1E0,1E1), padInterval = 512, padAmount = 64>, 16>) {
  %a, %c = fly_rocdl.make_tiled_tdm_load_atom %t, %l, %s : !rows, !fly.layout<(128,64):(72,1)>, !tile
  %b, %d = fly_rocdl.make_tiled_tdm_load_atom %t, %e, %s {numWarps = 16 : i32} : !rows, !fly.layout<((8,16),64):((64,576),1)>, !tile
  return %a, %b : !fly.copy_atom<!fly_rocdl.cdna5.tensor_load<shape = [128, 64], elem = f16, tensor2tdm = (1E0,1E1), padInterval = 64, padAmount = 8>, 16>, !fly.copy_atom<!fly_rocdl.cdna5.tensor_load<shape = [8, 64], elem = f16, tensor2tdm = (1E0,1E1), padInterval = 512, padAmount = 64>, 16>
}

// Rows that follow each other without a gap are one dimension.
!whole = !fly.memref<f16, global, (64,64):(64,1)>
func.func @whole(%t: !whole, %l: !fly.layout<(64,64):(64,1)>, %s: !fly.tile<[64|64]>) -> (!fly.copy_atom<!fly_rocdl.cdna5.tensor_store<shape = [4096], elem = f16, tensor2tdm = (64E0,1E0)>, 16>, !fly.coord_tensor<(0), (64,64):(64E0,1E0)>) {
  %a, %c = fly_rocdl.make_tiled_tdm_store_atom %t, %l, %s : !whole, !fly.layout<(64,64):(64,1)>, !fly.tile<[64|64]>
  return %a, %c : !fly.copy_atom<!fly_rocdl.cdna5.tensor_store<shape = [4096], elem = f16, tensor2tdm = (64E0,1E0)>, 16>, !fly.coord_tensor<(0), (64,64):(64E0,1E0)>
}

// Modes along which the tile does not move, and modes where the tensor has one element.
!three = !fly.memref<f16, global, (256,512,4):(512,1,131072)>
!flat = !fly.memref<f16, global, (1,512,4,9):(5,1,512,2048)>
func.func @still(%t: !three, %f: !flat, %l: !fly.layout<(128,1,4):(1,128,128)>, %k: !fly.layout<(1,64,2,1):(64,1,64,64)>, %s: !fly.tile<[128|1|4]>, %r: !fly.tile<[1|64|2|1]>) -> (!fly.copy_atom<!fly_rocdl.cdna5.tensor_load<shape = [4, 128, 1], elem = f16, tensor2tdm = (1E1,1E2,1E0)>, 16>, !fly.coord_tensor<(0,0,0), (1,512,4,9):(0,1E0,1E1,1E2)>) {
  %a, %c = fly_rocdl.make_tiled_tdm_load_atom %t, %l, %s : !three, !fly.layout<(128,1,4):(1,128,128)>, !fly.tile<[128|1|4]>
  %b, %d = fly_rocdl.make_tiled_tdm_load_atom %f, %k, %r : !flat, !fly.layout<(1,64,2,1):(64,1,64,64)>, !fly.tile<[1|64|2|1]>
  return %a, %d : !fly.copy_atom<!fly_rocdl.cdna5.tensor_load<shape = [4, 128, 1], elem = f16, tensor2tdm = (1E1,1E2,1E0)>, 16>, !fly.coord_tensor<(0,0,0), (1,512,4,9):(0,1E0,1E1,1E2)>
}

// Nested modes, and several modes in one dimension.
!nested = !fly.memref<f16, global, (256,(8,64)):(512,(1,16))>
!five = !fly.memref<f16, global, (4,4,4,4,64):(16384,4096,1024,64,1)>
func.func @nested(%t: !nested, %f: !five, %l: !packed, %k: !fly.layout<(2,4,2,4,64):(4096,1024,512,128,1)>, %s: !tile, %r: !fly.tile<[2|4|2|4|64]>) -> (!fly.coord_tensor<(0,0,0), (256,(8,64)):(1E2,(1E0,1E1))>, !fly.copy_atom<!fly_rocdl.cdna5.tensor_load<shape = [2, 2, 256], elem = f16, tensor2tdm = (4E0,1E0,1E1,64E2,1E2), padInterval = 64, padAmount = 64>, 16>) {
  %a, %c = fly_rocdl.make_tiled_tdm_load_atom %t, %l, %s : !nested, !packed, !tile
  %b, %d = fly_rocdl.make_tiled_tdm_load_atom %f, %k, %r {numWarps = 4 : i32} : !five, !fly.layout<(2,4,2,4,64):(4096,1024,512,128,1)>, !fly.tile<[2|4|2|4|64]>
  return %c, %b : !fly.coord_tensor<(0,0,0), (256,(8,64)):(1E2,(1E0,1E1))>, !fly.copy_atom<!fly_rocdl.cdna5.tensor_load<shape = [2, 2, 256], elem = f16, tensor2tdm = (4E0,1E0,1E1,64E2,1E2), padInterval = 64, padAmount = 64>, 16>
}

// LDS in blocks of 16 columns: a box is one block, and a copy moves four.
func.func @blocks(%t: !rows, %l: !fly.layout<(64,(16,4)):(16,(1,1024))>, %s: !fly.tile<[64|64]>) -> (!fly.copy_atom<!fly_rocdl.cdna5.tensor_load<shape = [32, 16], elem = f16, tensor2tdm = (1E0,1E1)>, 16>) {
  %a, %c = fly_rocdl.make_tiled_tdm_load_atom %t, %l, %s {numWarps = 2 : i32} : !rows, !fly.layout<(64,(16,4)):(16,(1,1024))>, !fly.tile<[64|64]>
  return %a : !fly.copy_atom<!fly_rocdl.cdna5.tensor_load<shape = [32, 16], elem = f16, tensor2tdm = (1E0,1E1)>, 16>
}

// A store by coordinates writes memory that no operand is: it stays.
// RUN: fly-opt %s -fly-canonicalize | FileCheck %s --check-prefix=KEPT
// KEPT-LABEL: @stored
// KEPT: fly.copy(
func.func @stored(%t: !whole, %lds: !fly.memref<f16, shared, (64,64):(64,1)>) {
  %l = fly.static : !fly.layout<(64,64):(64,1)>
  %s = fly.static : !fly.tile<[64|64]>
  %a, %c = fly_rocdl.make_tiled_tdm_store_atom %t, %l, %s : !whole, !fly.layout<(64,64):(64,1)>, !fly.tile<[64|64]>
  fly.copy(%a, %lds, %c) : (!fly.copy_atom<!fly_rocdl.cdna5.tensor_store<shape = [4096], elem = f16, tensor2tdm = (64E0,1E0)>, 16>, !fly.memref<f16, shared, (64,64):(64,1)>, !fly.coord_tensor<(0), (64,64):(64E0,1E0)>) -> ()
  return
}
