/* The C interface from C: a norm with an answer that is exact, weights that are prepared, and what is refused. */
#include <flydsl/kernels.h>

#include <hip/hip_runtime_api.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;
#define EXPECT(condition)                                                                          \
  ((condition) ? (void)0                                                                           \
               : (void)(++failures, printf("%s:%d: %s\n  last error: %s\n", __FILE__, __LINE__,    \
                                           #condition, flydsl_last_error())))
#define EXPECT_TEXT(part)                                                                          \
  (strstr(flydsl_last_error(), part)                                                               \
       ? (void)0                                                                                   \
       : (void)(++failures, printf("%s:%d: the last error is \"%s\", without \"%s\"\n", __FILE__,  \
                                   __LINE__, flydsl_last_error(), part)))

static void *device(const void *from, size_t bytes) {
  void *memory = NULL;
  if (hipMalloc(&memory, bytes) != hipSuccess ||
      (from && hipMemcpy(memory, from, bytes, hipMemcpyHostToDevice) != hipSuccess)) {
    printf("no memory of the device\n");
    exit(1);
  }
  return memory;
}

static flydsl_argument matrix(const char *name, void *data, const int64_t *shape) {
  const flydsl_argument argument = {
      .name = name, .data = data, .dtype = FLYDSL_F32, .rank = 2, .shape = shape};
  return argument;
}

static void softmax_of_equal_numbers(void) {
  enum { ROWS = 3, N = 64 };
  float values[ROWS * N], got[ROWS * N];
  for (int i = 0; i < ROWS * N; ++i)
    values[i] = 2;
  const int64_t shape[] = {ROWS, N};
  flydsl_plan *plan = NULL;
  EXPECT(flydsl_plan_create("softmax x=f32 y=f32 n=64", ROWS, NULL, &plan) == FLYDSL_OK);
  if (!plan)
    return;
  void *x = device(values, sizeof values), *y = device(NULL, sizeof got);
  flydsl_argument arguments[] = {matrix("y", y, shape), matrix("x", x, shape)};
  EXPECT(flydsl_plan_call(plan, arguments, 2, NULL) == FLYDSL_OK);
  EXPECT(hipMemcpy(got, y, sizeof got, hipMemcpyDeviceToHost) == hipSuccess);
  for (int i = 0; i < ROWS * N; ++i)
    EXPECT(got[i] == 1.0f / N);

  /* Rows at a stride, in place. */
  const int64_t half[] = {2, N}, strides[] = {2 * N, 1};
  arguments[0] = matrix("x", x, half);
  arguments[1] = matrix("y", x, half);
  arguments[0].strides = arguments[1].strides = strides;
  EXPECT(flydsl_plan_call(plan, arguments, 2, NULL) == FLYDSL_OK);
  EXPECT(hipMemcpy(got, x, sizeof got, hipMemcpyDeviceToHost) == hipSuccess);
  EXPECT(got[0] == 1.0f / N && got[N] == 2 && got[2 * N] == 1.0f / N);

  size_t bytes = 1, needed = 0;
  EXPECT(flydsl_plan_workspace_bytes(plan, ROWS, &bytes) == FLYDSL_OK && bytes == 0);
  char text[16];
  EXPECT(flydsl_plan_describe(plan, text, sizeof text, &needed) == FLYDSL_OK);
  EXPECT(strcmp(text, "softmax x=f32 y") == 0 && needed > sizeof text);
  EXPECT(flydsl_plan_check(plan, NULL) == FLYDSL_OK);

  /* What does not fit. */
  arguments[0] = matrix("x", x, shape);
  arguments[1] = matrix("y", y, half);
  EXPECT(flydsl_plan_call(plan, arguments, 2, NULL) == FLYDSL_INVALID);
  EXPECT_TEXT("y has the shape (2, 64); (m, n) = (3, 64) is expected");
  EXPECT(flydsl_plan_call(plan, arguments, 1, NULL) == FLYDSL_INVALID);
  EXPECT_TEXT("softmax: y is missing");
  arguments[1] = arguments[0];
  EXPECT(flydsl_plan_call(plan, arguments, 2, NULL) == FLYDSL_INVALID);
  EXPECT_TEXT("softmax: x is given twice");
  arguments[1] = matrix("z", y, shape);
  EXPECT(flydsl_plan_call(plan, arguments, 2, NULL) == FLYDSL_INVALID);
  arguments[1] = matrix("y", y, shape);
  arguments[1].kind = FLYDSL_INTEGER;
  EXPECT(flydsl_plan_call(plan, arguments, 2, NULL) == FLYDSL_INVALID);
  EXPECT_TEXT("y is a tensor");
  arguments[1] = matrix("y", y, shape);
  arguments[1].rank = 9;
  EXPECT(flydsl_plan_call(plan, arguments, 2, NULL) == FLYDSL_INVALID);
  EXPECT_TEXT("y has 9 modes; a tensor has 1 to 8");
  arguments[1] = matrix("y", y, NULL);
  EXPECT(flydsl_plan_call(plan, arguments, 2, NULL) == FLYDSL_INVALID);
  arguments[1] = matrix("y", y, shape);
  arguments[1].dtype = (flydsl_dtype)99;
  EXPECT(flydsl_plan_call(plan, arguments, 2, NULL) == FLYDSL_INVALID);
  EXPECT_TEXT("there is no type with the number 99");
  arguments[1].name = NULL;
  EXPECT(flydsl_plan_call(plan, arguments, 2, NULL) == FLYDSL_INVALID);
  EXPECT_TEXT("an argument has no name");
  EXPECT(flydsl_plan_call(plan, NULL, 2, NULL) == FLYDSL_INVALID);
  EXPECT_TEXT("arguments is NULL");
  flydsl_plan_destroy(plan);
  hipFree(x);
  hipFree(y);
}

static void product_of_prepared_weights(void) {
  /* c = a b^T with b[j, k] = 1 where k is j: the columns of a. */
  enum { M = 5, N = 16, K = 32 };
  float a[M * K], b[N * K] = {0}, c[M * N];
  for (int i = 0; i < M * K; ++i)
    a[i] = (float)(i % 7);
  for (int j = 0; j < N; ++j)
    b[j * K + j] = 1;
  unsigned short a16[M * K], b16[N * K];
  for (int i = 0; i < M * K; ++i) {
    unsigned bits;
    memcpy(&bits, &a[i], 4);
    a16[i] = (unsigned short)(bits >> 16); /* small integers are exact in bf16 */
  }
  for (int i = 0; i < N * K; ++i) {
    unsigned bits;
    memcpy(&bits, &b[i], 4);
    b16[i] = (unsigned short)(bits >> 16);
  }
  const int64_t ofA[] = {M, K}, ofB[] = {N, K}, ofC[] = {M, N}, prepared[] = {N * K};
  void *raw = device(b16, sizeof b16), *weights = device(NULL, sizeof b16),
       *left = device(a16, sizeof a16), *out = device(NULL, sizeof c);
  flydsl_plan *prepare = NULL, *product = NULL;
  EXPECT(flydsl_plan_create("weight dtype=bf16 n=16 k=32", N, NULL, &prepare) == FLYDSL_OK);
  EXPECT(flydsl_plan_create("gemm a=bf16 b=bf16 c=f32 n=16 k=32", M, NULL, &product) == FLYDSL_OK);
  if (!prepare || !product)
    return;
  flydsl_argument two[] = {
      {.name = "raw", .data = raw, .dtype = FLYDSL_BF16, .rank = 2, .shape = ofB},
      {.name = "out", .kind = FLYDSL_PREPARED, .data = weights, .dtype = FLYDSL_BF16, .rank = 1,
       .shape = prepared}};
  EXPECT(flydsl_plan_call(prepare, two, 2, NULL) == FLYDSL_OK);
  flydsl_argument three[] = {
      {.name = "a", .data = left, .dtype = FLYDSL_BF16, .rank = 2, .shape = ofA},
      {.name = "b", .kind = FLYDSL_PREPARED, .data = weights, .dtype = FLYDSL_BF16, .rank = 1,
       .shape = prepared},
      {.name = "c", .data = out, .dtype = FLYDSL_F32, .rank = 2, .shape = ofC},
      {.name = "seed", .kind = FLYDSL_INTEGER, .integer = 3}};
  EXPECT(flydsl_plan_call(product, three, 4, NULL) == FLYDSL_OK);
  EXPECT(hipMemcpy(c, out, sizeof c, hipMemcpyDeviceToHost) == hipSuccess);
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j)
      EXPECT(c[i * N + j] == a[i * K + j]);
  /* Weights that are not prepared do not pass for prepared ones. */
  three[1].kind = FLYDSL_TENSOR;
  EXPECT(flydsl_plan_call(product, three, 3, NULL) == FLYDSL_INVALID);
  flydsl_plan_destroy(prepare);
  flydsl_plan_destroy(product);
  hipFree(raw);
  hipFree(weights);
  hipFree(left);
  hipFree(out);
}

static void refusals(void) {
  flydsl_plan *plan = (flydsl_plan *)1;
  EXPECT(flydsl_plan_create("softmax n=0", 1, NULL, &plan) == FLYDSL_UNSUPPORTED);
  EXPECT(plan == NULL);
  EXPECT_TEXT("n is 0; a row has 1 to");
  EXPECT(flydsl_plan_create("softmaxx n=8", 1, NULL, &plan) == FLYDSL_INVALID);
  EXPECT_TEXT("there is no family softmaxx; there are attention, ");
  EXPECT(flydsl_plan_create("", 1, NULL, &plan) == FLYDSL_INVALID);
  EXPECT_TEXT("a problem begins with its family");
  EXPECT(flydsl_plan_create("softmax size=8", 1, NULL, &plan) == FLYDSL_INVALID);
  EXPECT_TEXT("size=8: expected FIELD=VALUE");
  EXPECT(flydsl_plan_create("softmax n=8x", 1, NULL, &plan) == FLYDSL_INVALID);
  EXPECT_TEXT("n=8x: a number is expected");
  EXPECT(flydsl_plan_create("gemm n=16 k=64 scale_a=columns", 1, NULL, &plan) == FLYDSL_INVALID);
  EXPECT_TEXT("scale_a=columns: expected one of none, per_row, per_block");
  EXPECT(flydsl_plan_create("softmax n=8", -1, NULL, &plan) == FLYDSL_INVALID);
  EXPECT(flydsl_plan_create(NULL, 1, NULL, &plan) == FLYDSL_INVALID);
  EXPECT_TEXT("problem is NULL");
  EXPECT(flydsl_plan_create("softmax n=8", 1, NULL, NULL) == FLYDSL_INVALID);
  EXPECT_TEXT("plan is NULL");
  EXPECT(flydsl_plan_call(NULL, NULL, 0, NULL) == FLYDSL_INVALID);
  EXPECT_TEXT("plan is NULL");
  flydsl_plan_destroy(NULL);

  flydsl_plan_options options = {0};
  EXPECT(flydsl_plan_create("softmax n=8", 1, &options, &plan) == FLYDSL_INVALID);
  EXPECT_TEXT("the size of flydsl_plan_options is 0");
  options.size = sizeof options;
  options.check_memory = 2;
  EXPECT(flydsl_plan_create("softmax n=8", 1, &options, &plan) == FLYDSL_INVALID);
  EXPECT_TEXT("check_memory is 2; 1, 0 or -1 is expected");
  options.check_memory = 0;
  options.target = "gfx000";
  EXPECT(flydsl_plan_create("softmax n=8", 1, &options, &plan) == FLYDSL_INVALID);
  options.target = NULL;
  options.config = "threads=3";
  EXPECT(flydsl_plan_create("softmax n=8", 1, &options, &plan) == FLYDSL_UNSUPPORTED);
  options.config = NULL;
  options.file = "there-is-no-such-file";
  EXPECT(flydsl_plan_create("softmax n=8", 1, &options, &plan) != FLYDSL_OK);
  EXPECT_TEXT("there-is-no-such-file");

  EXPECT(flydsl_supported("gemm n=4096 k=4096", "gfx1201") == FLYDSL_OK);
  EXPECT(flydsl_supported("gemm a=f8E4M3FN b=f8E4M3FN c=bf16 n=4096 k=4096", "gfx1100") ==
         FLYDSL_UNSUPPORTED);
  EXPECT_TEXT("gemm on gfx1100: ");
}

static void wrong_indices_of_a_checked_plan(void) {
  enum { ROWS = 4, K = 32 };
  const int64_t ofIds[] = {ROWS}, ofY[] = {ROWS, K}, ofB[] = {2 * K * ROWS};
  int ids[ROWS] = {0, 3, 9, 1};
  flydsl_plan_options options = {.size = sizeof options, .check_indices = 1};
  flydsl_plan *plan = NULL;
  EXPECT(flydsl_plan_create("ggml_rows format=f16 n=4 k=32 y=f32", ROWS, &options, &plan) ==
         FLYDSL_OK);
  if (!plan)
    return;
  void *at = device(ids, sizeof ids), *rows = device(NULL, 2 * K * ROWS), *y = device(NULL, 4 * K * ROWS);
  hipMemset(rows, 0, 2 * K * ROWS);
  const flydsl_argument arguments[] = {
      {.name = "b", .kind = FLYDSL_PREPARED, .data = rows, .dtype = FLYDSL_U8, .rank = 1, .shape = ofB},
      {.name = "ids", .data = at, .dtype = FLYDSL_I32, .rank = 1, .shape = ofIds},
      {.name = "y", .data = y, .dtype = FLYDSL_F32, .rank = 2, .shape = ofY}};
  EXPECT(flydsl_plan_call(plan, arguments, 3, NULL) == FLYDSL_OK);
  EXPECT(flydsl_plan_check(plan, NULL) == FLYDSL_INDEX_ERROR);
  EXPECT_TEXT("ids[2] is 9");
  flydsl_plan_destroy(plan);
  hipFree(at);
  hipFree(rows);
  hipFree(y);
}

/* All ranks of a group have the sum of their vectors. */
static void sum_of_the_ranks_of_a_group(void) {
  enum { RANKS = 2, M = 64 };
  const int32_t devices[] = {0, 1}, twice[] = {0, 0};
  const int64_t shape[] = {M};
  float values[M], got[M];
  flydsl_group *groups[RANKS] = {NULL, NULL};
  flydsl_plan *plan = NULL;
  EXPECT(flydsl_group_of(twice, RANKS, NULL, groups) == FLYDSL_DEVICE_ERROR && !groups[0]);
  EXPECT(flydsl_group_of(devices, 1, NULL, groups) == FLYDSL_DEVICE_ERROR);
  EXPECT(flydsl_group_of(NULL, RANKS, NULL, groups) == FLYDSL_INVALID);
  EXPECT_TEXT("devices is NULL");
  flydsl_group_options options = {.size = 1};
  EXPECT(flydsl_group_of(devices, RANKS, &options, groups) == FLYDSL_INVALID);
  EXPECT_TEXT("the size of flydsl_group_options is 1");
  options.size = sizeof options;
  options.capacity = 1 << 16;
  options.milliseconds = 60000;
  EXPECT(flydsl_group_of(devices, RANKS, &options, groups) == FLYDSL_OK);
  EXPECT(flydsl_plan_create("collective type=f32 ranks=2 kind=all_reduce", M, NULL, &plan) == FLYDSL_OK);
  if (!groups[0] || !plan) {
    for (int rank = 0; rank < RANKS; ++rank)
      flydsl_group_destroy(groups[rank]);
    flydsl_plan_destroy(plan);
    return;
  }
  void *memory[RANKS];
  hipStream_t streams[RANKS];
  for (int rank = 0; rank < RANKS; ++rank) {
    for (int i = 0; i < M; ++i)
      values[i] = (float)(rank ? 100 : i);
    EXPECT(hipSetDevice(devices[rank]) == hipSuccess);
    EXPECT(hipStreamCreate(&streams[rank]) == hipSuccess);
    memory[rank] = device(values, sizeof values);
  }
  for (int rank = 0; rank < RANKS; ++rank) {
    const flydsl_argument x = {.name = "x", .data = memory[rank], .dtype = FLYDSL_F32, .rank = 1, .shape = shape};
    flydsl_argument y = x, group = {.name = "group", .kind = FLYDSL_GROUP, .data = groups[rank]};
    y.name = "y";
    flydsl_argument arguments[] = {x, y, group};
    EXPECT(hipSetDevice(devices[rank]) == hipSuccess);
    /* Refused, before any rank waits for another. */
    EXPECT(flydsl_plan_call(plan, arguments, 2, streams[rank]) == FLYDSL_INVALID);
    EXPECT_TEXT("collective: group");
    arguments[2].data = NULL;
    EXPECT(flydsl_plan_call(plan, arguments, 3, streams[rank]) == FLYDSL_INVALID);
    EXPECT_TEXT("group is NULL");
    arguments[2] = x;
    arguments[2].name = "group";
    EXPECT(flydsl_plan_call(plan, arguments, 3, streams[rank]) == FLYDSL_INVALID);
    EXPECT_TEXT("group is a group; its kind is FLYDSL_GROUP");
    arguments[2] = group;
    EXPECT(flydsl_plan_call(plan, arguments, 3, streams[rank]) == FLYDSL_OK);
  }
  for (int rank = 0; rank < RANKS; ++rank) {
    EXPECT(hipSetDevice(devices[rank]) == hipSuccess);
    EXPECT(hipStreamSynchronize(streams[rank]) == hipSuccess);
    EXPECT(flydsl_group_check(groups[rank]) == FLYDSL_OK);
    EXPECT(hipMemcpy(got, memory[rank], sizeof got, hipMemcpyDeviceToHost) == hipSuccess);
    for (int i = 0; i < M; ++i)
      EXPECT(got[i] == (float)(100 + i));
    EXPECT(flydsl_group_move_to(groups[rank], NULL) == FLYDSL_OK);
  }
  EXPECT(flydsl_group_check(NULL) == FLYDSL_INVALID);
  flydsl_group *none = groups[0];
  EXPECT(flydsl_group_join(NULL, 0, 2, NULL, &none) == FLYDSL_INVALID && !none);
  EXPECT_TEXT("file is NULL");
  flydsl_plan_destroy(plan);
  for (int rank = 0; rank < RANKS; ++rank) {
    flydsl_group_destroy(groups[rank]);
    hipStreamDestroy(streams[rank]);
    hipFree(memory[rank]);
  }
  flydsl_group_destroy(NULL);
  hipSetDevice(0);
}

static void tuned_configurations(void) {
  EXPECT(flydsl_tuned_use("no-such-file") == FLYDSL_INVALID);
  EXPECT_TEXT("there is no file no-such-file");
  EXPECT(flydsl_tuned_use(NULL) == FLYDSL_OK);
}

int main(void) {
  EXPECT(flydsl_kernels_version() == FLYDSL_KERNELS_VERSION);
  EXPECT(strcmp(flydsl_last_error(), "") == 0);
  softmax_of_equal_numbers();
  product_of_prepared_weights();
  wrong_indices_of_a_checked_plan();
  refusals();
  sum_of_the_ranks_of_a_group();
  tuned_configurations();
  printf("%d failures\n", failures);
  return failures != 0;
}
