# The kernels of this folder's objects, for Triton. This is a record: nothing in the project runs it.
import triton
import triton.language as tl


@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(z + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def softmax(x, y, columns, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, COLUMNS)
    mask = j < columns
    values = tl.load(x + row * columns + j, mask=mask, other=-float("inf"))
    e = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * columns + j, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def layer_norm(x, weight, bias, y, columns, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, COLUMNS)
    mask = j < columns
    values = tl.load(x + row * columns + j, mask=mask, other=0.0)
    mean = tl.sum(values, axis=0) / columns
    apart = tl.where(mask, values - mean, 0.0)
    variance = tl.sum(apart * apart, axis=0) / columns
    scaled = apart / tl.sqrt(variance + 1.0) * tl.load(weight + j, mask=mask)
    tl.store(y + row * columns + j, scaled + tl.load(bias + j, mask=mask), mask=mask)


@triton.jit
def reduce(x, out, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    values = tl.load(x + row * COLUMNS + tl.arange(0, COLUMNS))
    tl.store(out + 5 * row, tl.sum(values, axis=0))
    tl.store(out + 5 * row + 1, tl.max(values, axis=0))
    tl.store(out + 5 * row + 2, tl.min(values, axis=0))
    tl.store(out + 5 * row + 3, tl.argmax(values, axis=0))
    tl.store(out + 5 * row + 4, tl.xor_sum(values, axis=0))


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), dtype=c.dtype.element_ty)
    for first in range(0, K, BK):
        left = tl.load(a + i[:, None] * K + (first + k)[None, :])
        right = tl.load(b + (first + k)[:, None] * N + j[None, :])
        sums = tl.dot(left, right, sums, out_dtype=c.dtype.element_ty)
    tl.store(c + i[:, None] * N + j[None, :], sums, mask=(i < M)[:, None] & (j < N)[None, :])


# Of float4 the bytes hold two neighbours in k, the lower four bits first; B is (N, K).
@triton.jit
def scaled_matmul(a, a_scale, b, b_scale, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                  A_FORMAT: tl.constexpr, B_FORMAT: tl.constexpr, A_PACK: tl.constexpr, B_PACK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    ka = tl.arange(0, BK // A_PACK)
    kb = tl.arange(0, BK // B_PACK)
    block = tl.arange(0, BK // 32)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for first in range(0, K, BK):
        left = tl.load(a + i[:, None] * (K // A_PACK) + (first // A_PACK + ka)[None, :])
        right = tl.load(b + j[None, :] * (K // B_PACK) + (first // B_PACK + kb)[:, None])
        left_scale = tl.load(a_scale + i[:, None] * (K // 32) + (first // 32 + block)[None, :])
        right_scale = tl.load(b_scale + j[:, None] * (K // 32) + (first // 32 + block)[None, :])
        sums = tl.dot_scaled(left, left_scale, A_FORMAT, right, right_scale, B_FORMAT, sums)
    tl.store(c + i[:, None] * N + j[None, :], sums)


# The same of float4 alone, with neighbours in a row's or column's number in a byte: A is (K, M), B is (K, N).
@triton.jit
def scaled_matmul_tn(a, a_scale, b, b_scale, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.arange(0, BM)
    j = tl.arange(0, BN)
    k = tl.arange(0, BK)
    block = tl.arange(0, BK // 32)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for first in range(0, K, BK):
        left = tl.load(a + tl.arange(0, BM // 2)[:, None] + (first + k)[None, :] * (M // 2))
        right = tl.load(b + tl.arange(0, BN // 2)[None, :] + (first + k)[:, None] * (N // 2))
        left_scale = tl.load(a_scale + i[:, None] * (K // 32) + (first // 32 + block)[None, :])
        right_scale = tl.load(b_scale + j[:, None] * (K // 32) + (first // 32 + block)[None, :])
        sums = tl.dot_scaled(left, left_scale, "e2m1", right, right_scale, "e2m1", sums, lhs_k_pack=False,
                             rhs_k_pack=False)
    tl.store(c + i[:, None] * N + j[None, :], sums)


# A as in the first, (M, K), and B as in the second, (K, N): the places of elements along k are told by A.
@triton.jit
def scaled_matmul_nn(a, a_scale, b, b_scale, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.arange(0, BM)
    j = tl.arange(0, BN)
    block = tl.arange(0, BK // 32)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for first in range(0, K, BK):
        left = tl.load(a + i[:, None] * (K // 2) + (first // 2 + tl.arange(0, BK // 2))[None, :])
        right = tl.load(b + tl.arange(0, BN // 2)[None, :] + (first + tl.arange(0, BK))[:, None] * (N // 2))
        left_scale = tl.load(a_scale + i[:, None] * (K // 32) + (first // 32 + block)[None, :])
        right_scale = tl.load(b_scale + j[:, None] * (K // 32) + (first // 32 + block)[None, :])
        sums = tl.dot_scaled(left, left_scale, "e2m1", right, right_scale, "e2m1", sums, rhs_k_pack=False)
    tl.store(c + i[:, None] * N + j[None, :], sums)


@triton.jit
def transpose(x, y, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    values = tl.load(x + i[:, None] * N + j[None, :])
    tl.store(y + j[:, None] * M + i[None, :], tl.trans(values))


@triton.jit
def histogram(x, counts, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + i, mask=i < n, other=0)
    tl.atomic_add(counts + values, 1, mask=i < n)


@triton.jit
def block_histogram(x, counts, BINS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    own = tl.histogram(tl.load(x + i), BINS)
    tl.atomic_add(counts + tl.arange(0, BINS), own)


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def scan(x, sums, largest, COLUMNS: tl.constexpr):
    at = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    values = tl.load(x + at)
    tl.store(sums + at, tl.cumsum(values, axis=0))
    tl.store(largest + at, tl.associative_scan(values, 0, _larger, reverse=True))


@triton.jit
def gather(x, index, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    to = tl.load(index + i, mask=i < n, other=0)
    tl.store(y + i, tl.load(x + to, mask=i < n), mask=i < n)
    own = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(z + i, tl.gather(own, to % BLOCK, axis=0), mask=i < n)


@triton.jit
def sort(x, y, COLUMNS: tl.constexpr):
    at = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    tl.store(y + at, tl.sort(tl.load(x + at)))


@triton.jit
def random(seed, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b, c, d = tl.randint4x(seed, i)
    tl.store(out + 4 * i, a)
    tl.store(out + 4 * i + 1, b)
    tl.store(out + 4 * i + 2, c)
    tl.store(out + 4 * i + 3, d)


@triton.jit
def cast(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i).to(y.dtype.element_ty))


@triton.jit
def norm(x, out, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    values = tl.load(x + row * COLUMNS + tl.arange(0, COLUMNS)).to(tl.float64)
    tl.store(out + row, tl.sqrt(tl.sum(values * values, axis=0)))


@triton.jit
def attention(q, k, v, out, ROWS: tl.constexpr, KEYS: tl.constexpr, WIDTH: tl.constexpr, STEP: tl.constexpr):
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    w = tl.arange(0, WIDTH)
    query = tl.load(q + i[:, None] * WIDTH + w[None, :])
    largest = tl.full((ROWS,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((ROWS,), dtype=tl.float32)
    sums = tl.zeros((ROWS, WIDTH), dtype=tl.float32)
    for first in range(0, KEYS, STEP):
        j = first + tl.arange(0, STEP)
        key = tl.load(k + j[None, :] * WIDTH + w[:, None])
        value = tl.load(v + j[:, None] * WIDTH + w[None, :])
        score = tl.dot(query, key) * 0.125
        peak = tl.maximum(largest, tl.max(score, axis=1))
        p = tl.exp(score - peak[:, None])
        shrink = tl.exp(largest - peak)
        total = total * shrink + tl.sum(p, axis=1)
        sums = tl.dot(p.to(tl.float16), value, sums * shrink[:, None])
        largest = peak
    tl.store(out + i[:, None] * WIDTH + w[None, :], sums / total[:, None])


# C (M, N) = A (M, K) times B (K, N), by descriptors of tensors, which gfx1250's tensor mover loads and stores; tiles
# may reach past the tensors.
@triton.jit
def moved_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    left = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    right = tl.make_tensor_descriptor(b, shape=[K, N], strides=[N, 1], block_shape=[BK, BN])
    to = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    i = tl.program_id(0) * BM
    j = tl.program_id(1) * BN
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for first in range(0, K, BK):
        sums = tl.dot(left.load([i, first]), right.load([first, j]), sums)
    to.store([i, j], sums.to(c.dtype.element_ty))
