/* The example of docs/kernels/c.md: a norm of rows of ones, from C. */
#include <flydsl/kernels.h>

#include <hip/hip_runtime_api.h>

#include <stdio.h>
#include <stdlib.h>

static int fail(const char *why) {
  fprintf(stderr, "%s\n", why);
  return 1;
}

enum { kRows = 4, kWidth = 256 };

static int normalise(void *x, void *weight, void *y, void *stream) {
  // region: norm
  flydsl_plan *norm;
  if (flydsl_plan_create("norm x=f32 weight=f32 y=f32 n=256", kRows, NULL, &norm) != FLYDSL_OK)
    return fail(flydsl_last_error());

  const int64_t rows[] = {kRows, kWidth}, row[] = {kWidth};
  const flydsl_argument arguments[] = {
      {.name = "x", .data = x, .dtype = FLYDSL_F32, .rank = 2, .shape = rows},
      {.name = "weight", .data = weight, .dtype = FLYDSL_F32, .rank = 1, .shape = row},
      {.name = "y", .data = y, .dtype = FLYDSL_F32, .rank = 2, .shape = rows}};
  if (flydsl_plan_call(norm, arguments, 3, stream) != FLYDSL_OK)
    return fail(flydsl_last_error());
  flydsl_plan_destroy(norm);
  // endregion
  return 0;
}

int main(void) {
  enum { bytes = kRows * kWidth * sizeof(float) };
  float *host = malloc(bytes);
  void *x = NULL, *weight = NULL, *y = NULL;
  for (int i = 0; i < kRows * kWidth; ++i)
    host[i] = 1;
  if (hipMalloc(&x, bytes) || hipMalloc(&weight, kWidth * sizeof(float)) || hipMalloc(&y, bytes) ||
      hipMemcpy(x, host, bytes, hipMemcpyHostToDevice) ||
      hipMemcpy(weight, host, kWidth * sizeof(float), hipMemcpyHostToDevice))
    return fail("no memory of the device");
  if (normalise(x, weight, y, NULL))
    return 1;
  if (hipMemcpy(host, y, bytes, hipMemcpyDeviceToHost))
    return fail("no result");
  for (int i = 0; i < kRows * kWidth; ++i)
    if (host[i] < 0.999f || host[i] > 1.001f)
      return fail("the norm of ones is one");
  free(host);
  puts("rows of ones have the norm one");
  return 0;
}
