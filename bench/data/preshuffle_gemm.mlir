// Sample 04's kernel, 128 x 128 x 64 tiles for gfx942, as it is traced.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @preshuffle_gemm(%arg0: !fly.memref<f16, global, (?,?):(?{i64},1)>, %arg1: !fly.memref<f16, global, (?,?):(?{i64},1)>, %arg2: !fly.memref<f16, global, (?,?):(?{i64},1)>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
      %c2_i64 = arith.constant 2 : i64
      %c0_i16 = arith.constant 0 : i16
      %c159744_i32 = arith.constant 159744 : i32
      %0 = fly.static : !fly.layout<((16,16),(8,4,8)):((8,4096),(1,128,512))>
      %c65536_i64 = arith.constant 65536 : i64
      %1 = fly.static : !fly.tile<[128|64]>
      %block_id_x = gpu.block_id  x
      %2 = arith.index_cast %block_id_x : index to i32
      %block_id_y = gpu.block_id  y
      %3 = arith.index_cast %block_id_y : index to i32
      %4 = fly.static : !fly.tile<[128|128]>
      %5 = fly.static : !fly.composed_layout<S<3,3,3> o 0 o (128,64,2):(64,1,8192)>
      %6 = fly.static : !fly.tiled_copy<!fly.copy_atom<!fly.universal_copy<128>, 16>, !fly.layout<((8,32),(1,8)):((256,1),(1,32))>, !fly.tile<[32|64]>>
      %thread_id_x = gpu.thread_id  x
      %7 = arith.index_cast %thread_id_x : index to i32
      %8 = fly.make_copy_atom {valBits = 16 : i32} : !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>
      %9 = fly.static : !fly.layout<((16,4,4),(4,(1,2))):((1,128,0),(16,(0,64)))>
      %10 = fly.static : !fly.tile<[16:1|32:1]>
      %11 = fly.make_tiled_copy(%8, %9, %10) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, !fly.layout<((16,4,4),(4,(1,2))):((1,128,0),(16,(0,64)))>, !fly.tile<[16:1|32:1]>) -> !fly.tiled_copy<!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, !fly.layout<((16,4,4),(4,(1,2))):((1,128,0),(16,(0,64)))>, !fly.tile<[16:1|32:1]>>
      %12 = fly.static : !fly.layout<((16,4,4),(4,(1,2))):((1,512,16),(64,(0,256)))>
      %13 = fly.static : !fly.tile<[64:1|32:1]>
      %14 = fly.make_tiled_copy(%8, %12, %13) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, !fly.layout<((16,4,4),(4,(1,2))):((1,512,16),(64,(0,256)))>, !fly.tile<[64:1|32:1]>) -> !fly.tiled_copy<!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, !fly.layout<((16,4,4),(4,(1,2))):((1,512,16),(64,(0,256)))>, !fly.tile<[64:1|32:1]>>
      %15 = fly.make_copy_atom {valBits = 16 : i32} : !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<16>, 16>
      %16 = fly.static : !fly.layout<((16,4,4),((4,1),(1,1))):((16,4,256),((1,0),(0,0)))>
      %17 = fly.static : !fly.tile<[16:1|64:1]>
      %18 = fly.make_tiled_copy(%15, %16, %17) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<16>, 16>, !fly.layout<((16,4,4),((4,1),(1,1))):((16,4,256),((1,0),(0,0)))>, !fly.tile<[16:1|64:1]>) -> !fly.tiled_copy<!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<16>, 16>, !fly.layout<((16,4,4),((4,1),(1,1))):((16,4,256),((1,0),(0,0)))>, !fly.tile<[16:1|64:1]>>
      %19 = fly.make_int_tuple() : () -> !fly.int_tuple<(*,*,*,0)>
      %20 = fly.make_int_tuple() : () -> !fly.int_tuple<(*,*,0)>
      %21 = fly.static : !fly.tiled_mma<!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>, !fly.layout<(1,4,1):(0,1,0)>, !fly.tile<[*|*|(4,4,2):(1,8,4)]>>
      %cst = arith.constant 0.000000e+00 : f32
      %22 = fly.static : !fly.copy_atom<!fly.universal_copy<128>, 16>
      %c0_i32 = arith.constant 0 : i32
      %c2_i32 = arith.constant 2 : i32
      %c1_i32 = arith.constant 1 : i32
      %c64_i32 = arith.constant 64 : i32
      %c1024_i32 = arith.constant 1024 : i32
      %23 = fly.make_int_tuple() : () -> !fly.int_tuple<(*,*,*,1)>
      %24 = fly.make_int_tuple() : () -> !fly.int_tuple<(*,*,0,0)>
      %25 = fly.make_int_tuple() : () -> !fly.int_tuple<(*,*,(*,0))>
      %26 = fly.make_int_tuple() : () -> !fly.int_tuple<(*,*,(*,0),0)>
      %27 = fly.make_int_tuple() : () -> !fly.int_tuple<(*,*,1,0)>
      %28 = fly.make_int_tuple() : () -> !fly.int_tuple<(*,*,1)>
      %29 = fly.make_int_tuple() : () -> !fly.int_tuple<(*,*,(*,1))>
      %30 = fly.make_int_tuple() : () -> !fly.int_tuple<(*,*,(*,1),0)>
      %31 = fly.make_int_tuple() : () -> !fly.int_tuple<(*,*,0,1)>
      %32 = fly.make_int_tuple() : () -> !fly.int_tuple<(*,*,(*,0),1)>
      %33 = fly.make_int_tuple() : () -> !fly.int_tuple<(*,*,1,1)>
      %34 = fly.make_int_tuple() : () -> !fly.int_tuple<(*,*,(*,1),1)>
      %c3_i32 = arith.constant 3 : i32
      %35 = fly.cosize(%arg0) : (!fly.memref<f16, global, (?,?):(?{i64},1)>) -> !fly.int_tuple<?{i64}>
      %36 = fly.get_scalar(%35) : (!fly.int_tuple<?{i64}>) -> i64
      %37 = arith.muli %36, %c2_i64 : i64
      %38 = fly.get_iter(%arg0) : (!fly.memref<f16, global, (?,?):(?{i64},1)>) -> !fly.ptr<f16, global>
      %39 = fly.make_ptr(%38, %c0_i16, %37, %c159744_i32) : (!fly.ptr<f16, global>, i16, i64, i32) -> !fly.ptr<f16, #fly_rocdl.buffer_desc>
      %40 = fly.get_layout(%arg0) : (!fly.memref<f16, global, (?,?):(?{i64},1)>) -> !fly.layout<(?,?):(?{i64},1)>
      %41 = fly.make_view(%39, %40) : (!fly.ptr<f16, #fly_rocdl.buffer_desc>, !fly.layout<(?,?):(?{i64},1)>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, (?,?):(?{i64},1)>
      %42 = fly.get_iter(%arg1) : (!fly.memref<f16, global, (?,?):(?{i64},1)>) -> !fly.ptr<f16, global>
      %43 = fly.make_view(%42, %0) : (!fly.ptr<f16, global>, !fly.layout<((16,16),(8,4,8)):((8,4096),(1,128,512))>) -> !fly.memref<f16, global, ((16,16),(8,4,8)):((8,4096),(1,128,512))>
      %44 = arith.muli %c65536_i64, %c2_i64 : i64
      %45 = fly.get_iter(%43) : (!fly.memref<f16, global, ((16,16),(8,4,8)):((8,4096),(1,128,512))>) -> !fly.ptr<f16, global>
      %46 = fly.make_ptr(%45, %c0_i16, %44, %c159744_i32) : (!fly.ptr<f16, global>, i16, i64, i32) -> !fly.ptr<f16, #fly_rocdl.buffer_desc>
      %47 = fly.make_view(%46, %0) : (!fly.ptr<f16, #fly_rocdl.buffer_desc>, !fly.layout<((16,16),(8,4,8)):((8,4096),(1,128,512))>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, ((16,16),(8,4,8)):((8,4096),(1,128,512))>
      %48 = fly.cosize(%arg2) : (!fly.memref<f16, global, (?,?):(?{i64},1)>) -> !fly.int_tuple<?{i64}>
      %49 = fly.get_scalar(%48) : (!fly.int_tuple<?{i64}>) -> i64
      %50 = arith.muli %49, %c2_i64 : i64
      %51 = fly.get_iter(%arg2) : (!fly.memref<f16, global, (?,?):(?{i64},1)>) -> !fly.ptr<f16, global>
      %52 = fly.make_ptr(%51, %c0_i16, %50, %c159744_i32) : (!fly.ptr<f16, global>, i16, i64, i32) -> !fly.ptr<f16, #fly_rocdl.buffer_desc>
      %53 = fly.get_layout(%arg2) : (!fly.memref<f16, global, (?,?):(?{i64},1)>) -> !fly.layout<(?,?):(?{i64},1)>
      %54 = fly.make_view(%52, %53) : (!fly.ptr<f16, #fly_rocdl.buffer_desc>, !fly.layout<(?,?):(?{i64},1)>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, (?,?):(?{i64},1)>
      %55 = fly.flat_divide(%41, %1) : (!fly.memref<f16, #fly_rocdl.buffer_desc, (?,?):(?{i64},1)>, !fly.tile<[128|64]>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, (128,64,?,?):(?{i64},1,?{i64 div=128},64)>
      %56 = fly.make_int_tuple(%2) : (i32) -> !fly.int_tuple<(*,*,?,*)>
      %57 = fly.slice(%55, %56) : (!fly.memref<f16, #fly_rocdl.buffer_desc, (128,64,?,?):(?{i64},1,?{i64 div=128},64)>, !fly.int_tuple<(*,*,?,*)>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, (128,64,?):(?{i64},1,64)>
      %58 = fly.flat_divide(%47, %1) : (!fly.memref<f16, #fly_rocdl.buffer_desc, ((16,16),(8,4,8)):((8,4096),(1,128,512))>, !fly.tile<[128|64]>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, ((16,8),(8,8),2,4):((8,4096),(1,128),32768,1024)>
      %59 = fly.make_int_tuple(%3) : (i32) -> !fly.int_tuple<(*,*,?,*)>
      %60 = fly.slice(%58, %59) : (!fly.memref<f16, #fly_rocdl.buffer_desc, ((16,8),(8,8),2,4):((8,4096),(1,128),32768,1024)>, !fly.int_tuple<(*,*,?,*)>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, ((16,8),(8,8),4):((8,4096),(1,128),1024)>
      %61 = fly.flat_divide(%54, %4) : (!fly.memref<f16, #fly_rocdl.buffer_desc, (?,?):(?{i64},1)>, !fly.tile<[128|128]>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, (128,128,?,?):(?{i64},1,?{i64 div=128},128)>
      %62 = fly.make_int_tuple(%2, %3) : (i32, i32) -> !fly.int_tuple<(*,*,?,?)>
      %63 = fly.slice(%61, %62) : (!fly.memref<f16, #fly_rocdl.buffer_desc, (128,128,?,?):(?{i64},1,?{i64 div=128},128)>, !fly.int_tuple<(*,*,?,?)>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, (128,128):(?{i64},1)>
      %64 = fly.get_dyn_shared() : !fly.ptr<i8, shared, align<1024>>
      %65 = fly.recast_iter(%64) : (!fly.ptr<i8, shared, align<1024>>) -> !fly.ptr<f16, shared>
      %66 = fly.make_view(%65, %5) : (!fly.ptr<f16, shared>, !fly.composed_layout<S<3,3,3> o 0 o (128,64,2):(64,1,8192)>) -> !fly.memref<f16, shared, S<3,3,3> o 0 o (128,64,2):(64,1,8192)>
      %67 = fly.make_int_tuple(%7) : (i32) -> !fly.int_tuple<?>
      %68 = fly.tiled_copy.partition_src(%6, %57, %67) : (!fly.tiled_copy<!fly.copy_atom<!fly.universal_copy<128>, 16>, !fly.layout<((8,32),(1,8)):((256,1),(1,32))>, !fly.tile<[32|64]>>, !fly.memref<f16, #fly_rocdl.buffer_desc, (128,64,?):(?{i64},1,64)>, !fly.int_tuple<?>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),4,1,?):((1,0),?{i64 div=32},0,64)>
      %69 = fly.make_int_tuple(%7) : (i32) -> !fly.int_tuple<?>
      %70 = fly.tiled_copy.partition_dst(%6, %66, %69) : (!fly.tiled_copy<!fly.copy_atom<!fly.universal_copy<128>, 16>, !fly.layout<((8,32),(1,8)):((256,1),(1,32))>, !fly.tile<[32|64]>>, !fly.memref<f16, shared, S<3,3,3> o 0 o (128,64,2):(64,1,8192)>, !fly.int_tuple<?>) -> !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),4,1,2):((1,0),2048,0,8192)>
      %71 = fly.make_int_tuple(%7) : (i32) -> !fly.int_tuple<?>
      %72 = fly.tiled_copy.partition_src(%11, %66, %71) : (!fly.tiled_copy<!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, !fly.layout<((16,4,4),(4,(1,2))):((1,128,0),(16,(0,64)))>, !fly.tile<[16:1|32:1]>>, !fly.memref<f16, shared, S<3,3,3> o 0 o (128,64,2):(64,1,8192)>, !fly.int_tuple<?>) -> !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8,2,2):((1,0),1024,32,8192)>
      %73 = fly.make_int_tuple(%7) : (i32) -> !fly.int_tuple<?>
      %74 = fly.tiled_copy.partition_src(%14, %60, %73) : (!fly.tiled_copy<!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, !fly.layout<((16,4,4),(4,(1,2))):((1,512,16),(64,(0,256)))>, !fly.tile<[64:1|32:1]>>, !fly.memref<f16, #fly_rocdl.buffer_desc, ((16,8),(8,8),4):((8,4096),(1,128),1024)>, !fly.int_tuple<?>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),2,2,4):((1,0),16384,512,1024)>
      %75 = fly.make_int_tuple(%7) : (i32) -> !fly.int_tuple<?>
      %76 = fly.tiled_copy.partition_dst(%18, %63, %75) : (!fly.tiled_copy<!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<16>, 16>, !fly.layout<((16,4,4),((4,1),(1,1))):((16,4,256),((1,0),(0,0)))>, !fly.tile<[16:1|64:1]>>, !fly.memref<f16, #fly_rocdl.buffer_desc, (128,128):(?{i64},1)>, !fly.int_tuple<?>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, ((1,4),8,2):((0,?{i64}),?{i64 div=16},64)>
      %77 = fly.slice(%70, %19) : (!fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),4,1,2):((1,0),2048,0,8192)>, !fly.int_tuple<(*,*,*,0)>) -> !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),4,1):((1,0),2048,0)>
      %78 = fly.make_fragment_like(%77, f16) : (!fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),4,1):((1,0),2048,0)>) -> !fly.memref<f16, register, ((8,1),4,1):((1,0),8,0)>
      %79 = fly.slice(%66, %20) : (!fly.memref<f16, shared, S<3,3,3> o 0 o (128,64,2):(64,1,8192)>, !fly.int_tuple<(*,*,0)>) -> !fly.memref<f16, shared, S<3,3,3> o 0 o (128,64):(64,1)>
      %80 = fly.mma.make_fragment( a, %21, %79) : (!fly.tiled_mma<!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>, !fly.layout<(1,4,1):(0,1,0)>, !fly.tile<[*|*|(4,4,2):(1,8,4)]>>, !fly.memref<f16, shared, S<3,3,3> o 0 o (128,64):(64,1)>) -> !fly.memref<f16, register, (4,8,(2,2)):(1,16,(4,8))>
      %81 = fly.mma.make_fragment( b, %21, %60, stages = 2) : (!fly.tiled_mma<!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>, !fly.layout<(1,4,1):(0,1,0)>, !fly.tile<[*|*|(4,4,2):(1,8,4)]>>, !fly.memref<f16, #fly_rocdl.buffer_desc, ((16,8),(8,8),4):((8,4096),(1,128),1024)>) -> !fly.memref<f16, register, (4,2,(2,2),2):(1,16,(4,8),32)>
      %82 = fly.mma.make_fragment( c, %21, %63) : (!fly.tiled_mma<!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>, !fly.layout<(1,4,1):(0,1,0)>, !fly.tile<[*|*|(4,4,2):(1,8,4)]>>, !fly.memref<f16, #fly_rocdl.buffer_desc, (128,128):(?{i64},1)>) -> !fly.memref<f32, register, ((4,1),8,2):((1,0),8,4)>
      %83 = fly.tiled_copy.retile(%11, %80) : (!fly.tiled_copy<!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, !fly.layout<((16,4,4),(4,(1,2))):((1,128,0),(16,(0,64)))>, !fly.tile<[16:1|32:1]>>, !fly.memref<f16, register, (4,8,(2,2)):(1,16,(4,8))>) -> !fly.memref<f16, register, ((8,1),8,2):((1,0),16,8)>
      %84 = fly.tiled_copy.retile(%14, %81) : (!fly.tiled_copy<!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, !fly.layout<((16,4,4),(4,(1,2))):((1,512,16),(64,(0,256)))>, !fly.tile<[64:1|32:1]>>, !fly.memref<f16, register, (4,2,(2,2),2):(1,16,(4,8),32)>) -> !fly.memref<f16, register, ((8,1),2,2,2):((1,0),16,8,32)>
      %85 = fly.get_stride(%57) : (!fly.memref<f16, #fly_rocdl.buffer_desc, (128,64,?):(?{i64},1,64)>) -> !fly.int_tuple<(?{i64},1,64)>
      %86 = fly.slice(%68, %19) : (!fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),4,1,?):((1,0),?{i64 div=32},0,64)>, !fly.int_tuple<(*,*,*,0)>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),4,1):((1,0),?{i64 div=32},0)>
      fly.copy(%8, %86, %78) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, !fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),4,1):((1,0),?{i64 div=32},0)>, !fly.memref<f16, register, ((8,1),4,1):((1,0),8,0)>) -> ()
      %87 = fly.slice(%74, %19) : (!fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),2,2,4):((1,0),16384,512,1024)>, !fly.int_tuple<(*,*,*,0)>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),2,2):((1,0),16384,512)>
      %88 = fly.slice(%84, %19) : (!fly.memref<f16, register, ((8,1),2,2,2):((1,0),16,8,32)>, !fly.int_tuple<(*,*,*,0)>) -> !fly.memref<f16, register, ((8,1),2,2):((1,0),16,8)>
      fly.copy(%8, %87, %88) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, !fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),2,2):((1,0),16384,512)>, !fly.memref<f16, register, ((8,1),2,2):((1,0),16,8)>) -> ()
      %89 = vector.broadcast %cst : f32 to vector<64xf32>
      fly.memref.store_vec(%89, %82) : (vector<64xf32>, !fly.memref<f32, register, ((4,1),8,2):((1,0),8,4)>) -> ()
      %90 = fly.slice(%70, %19) : (!fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),4,1,2):((1,0),2048,0,8192)>, !fly.int_tuple<(*,*,*,0)>) -> !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),4,1):((1,0),2048,0)>
      fly.copy(%22, %78, %90) : (!fly.copy_atom<!fly.universal_copy<128>, 16>, !fly.memref<f16, register, ((8,1),4,1):((1,0),8,0)>, !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),4,1):((1,0),2048,0)>) -> ()
      gpu.barrier
      scf.for %arg3 = %c0_i32 to %c2_i32 step %c2_i32  : i32 {
        %120 = arith.addi %arg3, %c1_i32 : i32
        %121 = arith.addi %arg3, %c2_i32 : i32
        %122 = arith.muli %120, %c64_i32 : i32
        %123 = arith.muli %120, %c1024_i32 : i32
        %124 = fly.slice(%68, %19) : (!fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),4,1,?):((1,0),?{i64 div=32},0,64)>, !fly.int_tuple<(*,*,*,0)>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),4,1):((1,0),?{i64 div=32},0)>
        %125 = fly.atom.set_value(%8, "soffset", %122) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, i32) -> !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>
        fly.copy(%125, %124, %78) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, !fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),4,1):((1,0),?{i64 div=32},0)>, !fly.memref<f16, register, ((8,1),4,1):((1,0),8,0)>) -> ()
        %126 = fly.slice(%74, %19) : (!fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),2,2,4):((1,0),16384,512,1024)>, !fly.int_tuple<(*,*,*,0)>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),2,2):((1,0),16384,512)>
        %127 = fly.slice(%84, %23) : (!fly.memref<f16, register, ((8,1),2,2,2):((1,0),16,8,32)>, !fly.int_tuple<(*,*,*,1)>) -> !fly.memref<f16, register, ((8,1),2,2):((1,0),16,8)>
        %128 = fly.atom.set_value(%8, "soffset", %123) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, i32) -> !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>
        fly.copy(%128, %126, %127) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, !fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),2,2):((1,0),16384,512)>, !fly.memref<f16, register, ((8,1),2,2):((1,0),16,8)>) -> ()
        %129 = fly.slice(%72, %24) : (!fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8,2,2):((1,0),1024,32,8192)>, !fly.int_tuple<(*,*,0,0)>) -> !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8):((1,0),1024)>
        %130 = fly.slice(%83, %20) : (!fly.memref<f16, register, ((8,1),8,2):((1,0),16,8)>, !fly.int_tuple<(*,*,0)>) -> !fly.memref<f16, register, ((8,1),8):((1,0),16)>
        fly.copy(%22, %129, %130) : (!fly.copy_atom<!fly.universal_copy<128>, 16>, !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8):((1,0),1024)>, !fly.memref<f16, register, ((8,1),8):((1,0),16)>) -> ()
        %131 = fly.slice(%80, %25) : (!fly.memref<f16, register, (4,8,(2,2)):(1,16,(4,8))>, !fly.int_tuple<(*,*,(*,0))>) -> !fly.memref<f16, register, (4,8,2):(1,16,4)>
        %132 = fly.slice(%81, %26) : (!fly.memref<f16, register, (4,2,(2,2),2):(1,16,(4,8),32)>, !fly.int_tuple<(*,*,(*,0),0)>) -> !fly.memref<f16, register, (4,2,2):(1,16,4)>
        fly.gemm(%21, %82, %131, %132, %82) {traversalOrder = #fly<gemm_traversal_order knm>} : (!fly.tiled_mma<!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>, !fly.layout<(1,4,1):(0,1,0)>, !fly.tile<[*|*|(4,4,2):(1,8,4)]>>, !fly.memref<f32, register, ((4,1),8,2):((1,0),8,4)>, !fly.memref<f16, register, (4,8,2):(1,16,4)>, !fly.memref<f16, register, (4,2,2):(1,16,4)>, !fly.memref<f32, register, ((4,1),8,2):((1,0),8,4)>) -> ()
        %133 = fly.slice(%72, %27) : (!fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8,2,2):((1,0),1024,32,8192)>, !fly.int_tuple<(*,*,1,0)>) -> !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8):((1,0),1024)>
        %134 = fly.slice(%83, %28) : (!fly.memref<f16, register, ((8,1),8,2):((1,0),16,8)>, !fly.int_tuple<(*,*,1)>) -> !fly.memref<f16, register, ((8,1),8):((1,0),16)>
        fly.copy(%22, %133, %134) : (!fly.copy_atom<!fly.universal_copy<128>, 16>, !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8):((1,0),1024)>, !fly.memref<f16, register, ((8,1),8):((1,0),16)>) -> ()
        %135 = fly.slice(%80, %29) : (!fly.memref<f16, register, (4,8,(2,2)):(1,16,(4,8))>, !fly.int_tuple<(*,*,(*,1))>) -> !fly.memref<f16, register, (4,8,2):(1,16,4)>
        %136 = fly.slice(%81, %30) : (!fly.memref<f16, register, (4,2,(2,2),2):(1,16,(4,8),32)>, !fly.int_tuple<(*,*,(*,1),0)>) -> !fly.memref<f16, register, (4,2,2):(1,16,4)>
        fly.gemm(%21, %82, %135, %136, %82) {traversalOrder = #fly<gemm_traversal_order knm>} : (!fly.tiled_mma<!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>, !fly.layout<(1,4,1):(0,1,0)>, !fly.tile<[*|*|(4,4,2):(1,8,4)]>>, !fly.memref<f32, register, ((4,1),8,2):((1,0),8,4)>, !fly.memref<f16, register, (4,8,2):(1,16,4)>, !fly.memref<f16, register, (4,2,2):(1,16,4)>, !fly.memref<f32, register, ((4,1),8,2):((1,0),8,4)>) -> ()
        %137 = fly.slice(%70, %23) : (!fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),4,1,2):((1,0),2048,0,8192)>, !fly.int_tuple<(*,*,*,1)>) -> !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),4,1):((1,0),2048,0)>
        fly.copy(%22, %78, %137) : (!fly.copy_atom<!fly.universal_copy<128>, 16>, !fly.memref<f16, register, ((8,1),4,1):((1,0),8,0)>, !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),4,1):((1,0),2048,0)>) -> ()
        gpu.barrier
        rocdl.sched.group.barrier 256, 2, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 1, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 32, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 32, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 32, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 32, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 32, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 32, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 32, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 32, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 512, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 512, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 512, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 512, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 512, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 512, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 512, 1, 0
        rocdl.sched.barrier 0
        %138 = arith.muli %121, %c64_i32 : i32
        %139 = arith.muli %121, %c1024_i32 : i32
        %140 = fly.slice(%68, %19) : (!fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),4,1,?):((1,0),?{i64 div=32},0,64)>, !fly.int_tuple<(*,*,*,0)>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),4,1):((1,0),?{i64 div=32},0)>
        %141 = fly.atom.set_value(%8, "soffset", %138) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, i32) -> !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>
        fly.copy(%141, %140, %78) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, !fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),4,1):((1,0),?{i64 div=32},0)>, !fly.memref<f16, register, ((8,1),4,1):((1,0),8,0)>) -> ()
        %142 = fly.slice(%74, %19) : (!fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),2,2,4):((1,0),16384,512,1024)>, !fly.int_tuple<(*,*,*,0)>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),2,2):((1,0),16384,512)>
        %143 = fly.slice(%84, %19) : (!fly.memref<f16, register, ((8,1),2,2,2):((1,0),16,8,32)>, !fly.int_tuple<(*,*,*,0)>) -> !fly.memref<f16, register, ((8,1),2,2):((1,0),16,8)>
        %144 = fly.atom.set_value(%8, "soffset", %139) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, i32) -> !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>
        fly.copy(%144, %142, %143) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, !fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),2,2):((1,0),16384,512)>, !fly.memref<f16, register, ((8,1),2,2):((1,0),16,8)>) -> ()
        %145 = fly.slice(%72, %31) : (!fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8,2,2):((1,0),1024,32,8192)>, !fly.int_tuple<(*,*,0,1)>) -> !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8):((1,0),1024)>
        %146 = fly.slice(%83, %20) : (!fly.memref<f16, register, ((8,1),8,2):((1,0),16,8)>, !fly.int_tuple<(*,*,0)>) -> !fly.memref<f16, register, ((8,1),8):((1,0),16)>
        fly.copy(%22, %145, %146) : (!fly.copy_atom<!fly.universal_copy<128>, 16>, !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8):((1,0),1024)>, !fly.memref<f16, register, ((8,1),8):((1,0),16)>) -> ()
        %147 = fly.slice(%80, %25) : (!fly.memref<f16, register, (4,8,(2,2)):(1,16,(4,8))>, !fly.int_tuple<(*,*,(*,0))>) -> !fly.memref<f16, register, (4,8,2):(1,16,4)>
        %148 = fly.slice(%81, %32) : (!fly.memref<f16, register, (4,2,(2,2),2):(1,16,(4,8),32)>, !fly.int_tuple<(*,*,(*,0),1)>) -> !fly.memref<f16, register, (4,2,2):(1,16,4)>
        fly.gemm(%21, %82, %147, %148, %82) {traversalOrder = #fly<gemm_traversal_order knm>} : (!fly.tiled_mma<!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>, !fly.layout<(1,4,1):(0,1,0)>, !fly.tile<[*|*|(4,4,2):(1,8,4)]>>, !fly.memref<f32, register, ((4,1),8,2):((1,0),8,4)>, !fly.memref<f16, register, (4,8,2):(1,16,4)>, !fly.memref<f16, register, (4,2,2):(1,16,4)>, !fly.memref<f32, register, ((4,1),8,2):((1,0),8,4)>) -> ()
        %149 = fly.slice(%72, %33) : (!fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8,2,2):((1,0),1024,32,8192)>, !fly.int_tuple<(*,*,1,1)>) -> !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8):((1,0),1024)>
        %150 = fly.slice(%83, %28) : (!fly.memref<f16, register, ((8,1),8,2):((1,0),16,8)>, !fly.int_tuple<(*,*,1)>) -> !fly.memref<f16, register, ((8,1),8):((1,0),16)>
        fly.copy(%22, %149, %150) : (!fly.copy_atom<!fly.universal_copy<128>, 16>, !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8):((1,0),1024)>, !fly.memref<f16, register, ((8,1),8):((1,0),16)>) -> ()
        %151 = fly.slice(%80, %29) : (!fly.memref<f16, register, (4,8,(2,2)):(1,16,(4,8))>, !fly.int_tuple<(*,*,(*,1))>) -> !fly.memref<f16, register, (4,8,2):(1,16,4)>
        %152 = fly.slice(%81, %34) : (!fly.memref<f16, register, (4,2,(2,2),2):(1,16,(4,8),32)>, !fly.int_tuple<(*,*,(*,1),1)>) -> !fly.memref<f16, register, (4,2,2):(1,16,4)>
        fly.gemm(%21, %82, %151, %152, %82) {traversalOrder = #fly<gemm_traversal_order knm>} : (!fly.tiled_mma<!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>, !fly.layout<(1,4,1):(0,1,0)>, !fly.tile<[*|*|(4,4,2):(1,8,4)]>>, !fly.memref<f32, register, ((4,1),8,2):((1,0),8,4)>, !fly.memref<f16, register, (4,8,2):(1,16,4)>, !fly.memref<f16, register, (4,2,2):(1,16,4)>, !fly.memref<f32, register, ((4,1),8,2):((1,0),8,4)>) -> ()
        %153 = fly.slice(%70, %19) : (!fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),4,1,2):((1,0),2048,0,8192)>, !fly.int_tuple<(*,*,*,0)>) -> !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),4,1):((1,0),2048,0)>
        fly.copy(%22, %78, %153) : (!fly.copy_atom<!fly.universal_copy<128>, 16>, !fly.memref<f16, register, ((8,1),4,1):((1,0),8,0)>, !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),4,1):((1,0),2048,0)>) -> ()
        gpu.barrier
        rocdl.sched.group.barrier 256, 2, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 1, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 32, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 32, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 32, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 32, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 32, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 32, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 32, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 32, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 512, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 512, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 512, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 512, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 512, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 512, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 256, 1, 0
        rocdl.sched.group.barrier 8, 2, 0
        rocdl.sched.group.barrier 512, 1, 0
        rocdl.sched.barrier 0
      }
      %91 = arith.muli %c3_i32, %c64_i32 : i32
      %92 = arith.muli %c3_i32, %c1024_i32 : i32
      %93 = fly.slice(%68, %19) : (!fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),4,1,?):((1,0),?{i64 div=32},0,64)>, !fly.int_tuple<(*,*,*,0)>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),4,1):((1,0),?{i64 div=32},0)>
      %94 = fly.atom.set_value(%8, "soffset", %91) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, i32) -> !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>
      fly.copy(%94, %93, %78) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, !fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),4,1):((1,0),?{i64 div=32},0)>, !fly.memref<f16, register, ((8,1),4,1):((1,0),8,0)>) -> ()
      %95 = fly.slice(%74, %19) : (!fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),2,2,4):((1,0),16384,512,1024)>, !fly.int_tuple<(*,*,*,0)>) -> !fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),2,2):((1,0),16384,512)>
      %96 = fly.slice(%84, %23) : (!fly.memref<f16, register, ((8,1),2,2,2):((1,0),16,8,32)>, !fly.int_tuple<(*,*,*,1)>) -> !fly.memref<f16, register, ((8,1),2,2):((1,0),16,8)>
      %97 = fly.atom.set_value(%8, "soffset", %92) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, i32) -> !fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>
      fly.copy(%97, %95, %96) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<128>, 16>, !fly.memref<f16, #fly_rocdl.buffer_desc, ((8,1),2,2):((1,0),16384,512)>, !fly.memref<f16, register, ((8,1),2,2):((1,0),16,8)>) -> ()
      %98 = fly.slice(%72, %24) : (!fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8,2,2):((1,0),1024,32,8192)>, !fly.int_tuple<(*,*,0,0)>) -> !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8):((1,0),1024)>
      %99 = fly.slice(%83, %20) : (!fly.memref<f16, register, ((8,1),8,2):((1,0),16,8)>, !fly.int_tuple<(*,*,0)>) -> !fly.memref<f16, register, ((8,1),8):((1,0),16)>
      fly.copy(%22, %98, %99) : (!fly.copy_atom<!fly.universal_copy<128>, 16>, !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8):((1,0),1024)>, !fly.memref<f16, register, ((8,1),8):((1,0),16)>) -> ()
      %100 = fly.slice(%80, %25) : (!fly.memref<f16, register, (4,8,(2,2)):(1,16,(4,8))>, !fly.int_tuple<(*,*,(*,0))>) -> !fly.memref<f16, register, (4,8,2):(1,16,4)>
      %101 = fly.slice(%81, %26) : (!fly.memref<f16, register, (4,2,(2,2),2):(1,16,(4,8),32)>, !fly.int_tuple<(*,*,(*,0),0)>) -> !fly.memref<f16, register, (4,2,2):(1,16,4)>
      fly.gemm(%21, %82, %100, %101, %82) {traversalOrder = #fly<gemm_traversal_order knm>} : (!fly.tiled_mma<!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>, !fly.layout<(1,4,1):(0,1,0)>, !fly.tile<[*|*|(4,4,2):(1,8,4)]>>, !fly.memref<f32, register, ((4,1),8,2):((1,0),8,4)>, !fly.memref<f16, register, (4,8,2):(1,16,4)>, !fly.memref<f16, register, (4,2,2):(1,16,4)>, !fly.memref<f32, register, ((4,1),8,2):((1,0),8,4)>) -> ()
      %102 = fly.slice(%72, %27) : (!fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8,2,2):((1,0),1024,32,8192)>, !fly.int_tuple<(*,*,1,0)>) -> !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8):((1,0),1024)>
      %103 = fly.slice(%83, %28) : (!fly.memref<f16, register, ((8,1),8,2):((1,0),16,8)>, !fly.int_tuple<(*,*,1)>) -> !fly.memref<f16, register, ((8,1),8):((1,0),16)>
      fly.copy(%22, %102, %103) : (!fly.copy_atom<!fly.universal_copy<128>, 16>, !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8):((1,0),1024)>, !fly.memref<f16, register, ((8,1),8):((1,0),16)>) -> ()
      %104 = fly.slice(%80, %29) : (!fly.memref<f16, register, (4,8,(2,2)):(1,16,(4,8))>, !fly.int_tuple<(*,*,(*,1))>) -> !fly.memref<f16, register, (4,8,2):(1,16,4)>
      %105 = fly.slice(%81, %30) : (!fly.memref<f16, register, (4,2,(2,2),2):(1,16,(4,8),32)>, !fly.int_tuple<(*,*,(*,1),0)>) -> !fly.memref<f16, register, (4,2,2):(1,16,4)>
      fly.gemm(%21, %82, %104, %105, %82) {traversalOrder = #fly<gemm_traversal_order knm>} : (!fly.tiled_mma<!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>, !fly.layout<(1,4,1):(0,1,0)>, !fly.tile<[*|*|(4,4,2):(1,8,4)]>>, !fly.memref<f32, register, ((4,1),8,2):((1,0),8,4)>, !fly.memref<f16, register, (4,8,2):(1,16,4)>, !fly.memref<f16, register, (4,2,2):(1,16,4)>, !fly.memref<f32, register, ((4,1),8,2):((1,0),8,4)>) -> ()
      %106 = fly.slice(%70, %23) : (!fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),4,1,2):((1,0),2048,0,8192)>, !fly.int_tuple<(*,*,*,1)>) -> !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),4,1):((1,0),2048,0)>
      fly.copy(%22, %78, %106) : (!fly.copy_atom<!fly.universal_copy<128>, 16>, !fly.memref<f16, register, ((8,1),4,1):((1,0),8,0)>, !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),4,1):((1,0),2048,0)>) -> ()
      gpu.barrier
      rocdl.sched.group.barrier 256, 2, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 1, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 32, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 32, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 32, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 32, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 32, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 32, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 32, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 32, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 512, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 512, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 512, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 512, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 512, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 512, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 512, 1, 0
      rocdl.sched.barrier 0
      %107 = fly.slice(%72, %31) : (!fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8,2,2):((1,0),1024,32,8192)>, !fly.int_tuple<(*,*,0,1)>) -> !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8):((1,0),1024)>
      %108 = fly.slice(%83, %20) : (!fly.memref<f16, register, ((8,1),8,2):((1,0),16,8)>, !fly.int_tuple<(*,*,0)>) -> !fly.memref<f16, register, ((8,1),8):((1,0),16)>
      fly.copy(%22, %107, %108) : (!fly.copy_atom<!fly.universal_copy<128>, 16>, !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8):((1,0),1024)>, !fly.memref<f16, register, ((8,1),8):((1,0),16)>) -> ()
      %109 = fly.slice(%80, %25) : (!fly.memref<f16, register, (4,8,(2,2)):(1,16,(4,8))>, !fly.int_tuple<(*,*,(*,0))>) -> !fly.memref<f16, register, (4,8,2):(1,16,4)>
      %110 = fly.slice(%81, %32) : (!fly.memref<f16, register, (4,2,(2,2),2):(1,16,(4,8),32)>, !fly.int_tuple<(*,*,(*,0),1)>) -> !fly.memref<f16, register, (4,2,2):(1,16,4)>
      fly.gemm(%21, %82, %109, %110, %82) {traversalOrder = #fly<gemm_traversal_order knm>} : (!fly.tiled_mma<!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>, !fly.layout<(1,4,1):(0,1,0)>, !fly.tile<[*|*|(4,4,2):(1,8,4)]>>, !fly.memref<f32, register, ((4,1),8,2):((1,0),8,4)>, !fly.memref<f16, register, (4,8,2):(1,16,4)>, !fly.memref<f16, register, (4,2,2):(1,16,4)>, !fly.memref<f32, register, ((4,1),8,2):((1,0),8,4)>) -> ()
      %111 = fly.slice(%72, %33) : (!fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8,2,2):((1,0),1024,32,8192)>, !fly.int_tuple<(*,*,1,1)>) -> !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8):((1,0),1024)>
      %112 = fly.slice(%83, %28) : (!fly.memref<f16, register, ((8,1),8,2):((1,0),16,8)>, !fly.int_tuple<(*,*,1)>) -> !fly.memref<f16, register, ((8,1),8):((1,0),16)>
      fly.copy(%22, %111, %112) : (!fly.copy_atom<!fly.universal_copy<128>, 16>, !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),8):((1,0),1024)>, !fly.memref<f16, register, ((8,1),8):((1,0),16)>) -> ()
      %113 = fly.slice(%80, %29) : (!fly.memref<f16, register, (4,8,(2,2)):(1,16,(4,8))>, !fly.int_tuple<(*,*,(*,1))>) -> !fly.memref<f16, register, (4,8,2):(1,16,4)>
      %114 = fly.slice(%81, %34) : (!fly.memref<f16, register, (4,2,(2,2),2):(1,16,(4,8),32)>, !fly.int_tuple<(*,*,(*,1),1)>) -> !fly.memref<f16, register, (4,2,2):(1,16,4)>
      fly.gemm(%21, %82, %113, %114, %82) {traversalOrder = #fly<gemm_traversal_order knm>} : (!fly.tiled_mma<!fly.mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>, !fly.layout<(1,4,1):(0,1,0)>, !fly.tile<[*|*|(4,4,2):(1,8,4)]>>, !fly.memref<f32, register, ((4,1),8,2):((1,0),8,4)>, !fly.memref<f16, register, (4,8,2):(1,16,4)>, !fly.memref<f16, register, (4,2,2):(1,16,4)>, !fly.memref<f32, register, ((4,1),8,2):((1,0),8,4)>) -> ()
      %115 = fly.slice(%70, %19) : (!fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),4,1,2):((1,0),2048,0,8192)>, !fly.int_tuple<(*,*,*,0)>) -> !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),4,1):((1,0),2048,0)>
      fly.copy(%22, %78, %115) : (!fly.copy_atom<!fly.universal_copy<128>, 16>, !fly.memref<f16, register, ((8,1),4,1):((1,0),8,0)>, !fly.memref<f16, shared, S<3,3,3> o ?{div=8} o ((8,1),4,1):((1,0),2048,0)>) -> ()
      gpu.barrier
      rocdl.sched.group.barrier 256, 2, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 1, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 32, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 32, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 32, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 32, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 32, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 32, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 32, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 32, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 512, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 512, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 512, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 512, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 512, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 512, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 256, 1, 0
      rocdl.sched.group.barrier 8, 2, 0
      rocdl.sched.group.barrier 512, 1, 0
      rocdl.sched.barrier 0
      %116 = fly.make_fragment_like(%82, f16) : (!fly.memref<f32, register, ((4,1),8,2):((1,0),8,4)>) -> !fly.memref<f16, register, ((4,1),8,2):((1,0),8,4)>
      %117 = fly.memref.load_vec(%82) : (!fly.memref<f32, register, ((4,1),8,2):((1,0),8,4)>) -> vector<64xf32>
      %118 = arith.truncf %117 : vector<64xf32> to vector<64xf16>
      fly.memref.store_vec(%118, %116) : (vector<64xf16>, !fly.memref<f16, register, ((4,1),8,2):((1,0),8,4)>) -> ()
      %119 = fly.tiled_copy.retile(%18, %116) : (!fly.tiled_copy<!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<16>, 16>, !fly.layout<((16,4,4),((4,1),(1,1))):((16,4,256),((1,0),(0,0)))>, !fly.tile<[16:1|64:1]>>, !fly.memref<f16, register, ((4,1),8,2):((1,0),8,4)>) -> !fly.memref<f16, register, ((1,4),8,2):((0,1),8,4)>
      fly.copy(%15, %119, %76) : (!fly.copy_atom<!fly_rocdl.cdna3.buffer_copy<16>, 16>, !fly.memref<f16, register, ((1,4),8,2):((0,1),8,4)>, !fly.memref<f16, #fly_rocdl.buffer_desc, ((1,4),8,2):((0,?{i64}),?{i64 div=16},64)>) -> ()
      gpu.return
    }
  }
}

