# The kernels of this folder's objects, for FlyDSL. This is a record: nothing in the project runs it.
import flydsl.compiler as flyc
import flydsl.expr as fx


# C = A + B, 128 threads on tiles of (8, 64), with a predicate where the tile reaches past the tensors.
@flyc.kernel
def add(A: fx.Tensor, B: fx.Tensor, C: fx.Tensor, tiled_copy: fx.TiledCopy):
    M, N = A.shape.unpack()
    tile = tiled_copy.tile_mn
    thread = tiled_copy.get_slice(fx.thread_idx.x)

    def block(tensor):
        return fx.flat_divide(tensor, tile)[None, None, fx.block_idx.x, fx.block_idx.y]

    a, b, c = thread.partition_S(block(A)), thread.partition_S(block(B)), thread.partition_D(block(C))
    coordinates = fx.make_view((0, 0), fx.make_identity_layout((M, N)))
    at = thread.partition_S(block(coordinates))[(0, None), None, None]
    inside = fx.make_fragment_like(at, dtype=fx.Boolean)
    for n in fx.range_constexpr(fx.size(inside.shape).unpack()):
        inside[n] = fx.elem_less(at[n], (M, N))
    own_a, own_b, own_c = fx.make_fragment_like(a), fx.make_fragment_like(b), fx.make_fragment_like(c)
    atom = fx.make_copy_atom(fx.UniversalCopy128b(), fx.Float32)
    fx.copy(atom, a, own_a, pred=inside)
    fx.copy(atom, b, own_b, pred=inside)
    own_c.store(own_a.load() + own_b.load())
    fx.copy(atom, own_c, c, pred=inside)


@flyc.jit
def launch_add(A: fx.Tensor, B: fx.Tensor, C: fx.Tensor, stream: fx.Stream = fx.Stream(None)):
    atom = fx.make_copy_atom(fx.UniversalCopy128b(), fx.Float32)
    tiled_copy = fx.make_tiled_copy_tv(
        atom, fx.make_ordered_layout((8, 16), order=(1, 0)), fx.make_ordered_layout((1, 4), order=(0, 1)))
    add(A, B, C, tiled_copy).launch(grid=(2, 3, 1), block=(128, 1, 1), stream=stream)


# C (M, N) = A (M, K) times B (N, K) transposed, four waves on a tile of 64 x 64; `mma` makes the matrix atom.
def make_matmul(mma, bits, count):
    @flyc.kernel
    def matmul(A: fx.Tensor, B: fx.Tensor, C: fx.Tensor):
        A, B, C = fx.rocdl.make_buffer_tensor(A), fx.rocdl.make_buffer_tensor(B), fx.rocdl.make_buffer_tensor(C)
        a = fx.slice(fx.zipped_divide(A, (64, 64)), (None, fx.block_idx.x))
        b = fx.slice(fx.zipped_divide(B, (64, 64)), (None, fx.block_idx.x))
        c = fx.slice(fx.zipped_divide(C, (64, 64)), (None, fx.block_idx.x))
        atom = fx.make_mma_atom(mma())
        tiled = fx.make_tiled_mma(atom, fx.make_layout((2, 2, 1), (1, 2, 0)))
        thread = tiled.thr_slice(fx.thread_idx.x)
        copy_in = fx.make_copy_atom(fx.rocdl.BufferCopy(16), bits)
        copy_out = fx.make_copy_atom(fx.rocdl.BufferCopy32b(), 32)
        copies = (fx.make_tiled_copy_A(copy_in, tiled), fx.make_tiled_copy_B(copy_in, tiled),
                  fx.make_tiled_copy_C(copy_out, tiled))
        copies = [copy.get_slice(fx.thread_idx.x) for copy in copies]
        own_a, own_b, own_c = thread.make_fragment_A(a), thread.make_fragment_B(b), thread.make_fragment_C(c)
        fx.copy(copy_in, copies[0].partition_S(a), copies[0].retile(own_a), pred=None)
        fx.copy(copy_in, copies[1].partition_S(b), copies[1].retile(own_b), pred=None)
        own_c.fill(0)
        fx.gemm(atom, own_c, own_a, own_b, own_c)
        fx.copy(copy_out, copies[2].retile(own_c), copies[2].partition_S(c), pred=None)

    @flyc.jit
    def launch(A: fx.Tensor, B: fx.Tensor, C: fx.Tensor, stream: fx.Stream = fx.Stream(None)):
        matmul(A, B, C).launch(grid=(1, 1, 1), block=(count, 1, 1), stream=stream)

    return launch
