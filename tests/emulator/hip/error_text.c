/* A C program on the emulator: after a kernel's fault, each call that returns the fault has its text. */
#define __HIP_PLATFORM_AMD__ 1
#include <flydsl/emulator.h>
#include <hip/hip_runtime_api.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void contains(const char *what, const char *text, const char *wanted) {
  if (strstr(text, wanted))
    return;
  fprintf(stderr, "%s: no '%s' in: %s\n", what, wanted, text);
  ++failures;
}

static void succeeds(const char *what, hipError_t status) {
  if (status == hipSuccess)
    return;
  fprintf(stderr, "%s: %s: %s\n", what, hipGetErrorName(status), flydslEmulatorErrorText());
  exit(1);
}
#define OK(call) succeeds(#call, call)

static void faults(const char *what, hipError_t status) {
  const char *text = flydslEmulatorErrorText();
  if (status != hipErrorIllegalAddress) {
    fprintf(stderr, "%s: %s\n", what, hipGetErrorName(status));
    ++failures;
  }
  contains(what, text, "kernel 'memory_global': write of 4 bytes outside of any allocation");
  contains(what, text, "workgroup (0, 0, 0), wave 0, lane 32");
  contains(what, text, "0 bytes past the end of allocation");
  contains(what, text, "planted.c:95");
}
#define FAULTS(call) faults(#call, call)

/* The stream waits until the host has put all of its work there, so that none of these calls sees the fault. */
static atomic_int isQueued;
static void waitForQueue(void *unused) {
  (void)unused;
  while (!atomic_load(&isQueued))
    sched_yield();
}

int main(int argc, char **argv) {
  static char image[1 << 20], host[128];
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (!file || !fread(image, 1, sizeof image, file))
    return 1;
  fclose(file);

  int far = 0;
  void *data = NULL, *arguments[] = {&data, &far};
  hipModule_t module;
  hipFunction_t kernel, none;
  hipStream_t stream;
  hipEvent_t event;
  hipGraph_t graph;
  hipGraphExec_t replay;
  if (*flydslEmulatorErrorText())
    return 1;
  OK(hipModuleLoadData(&module, image));
  OK(hipModuleGetFunction(&kernel, module, "memory_global"));
  OK(hipMalloc(&data, 128));
  OK(hipStreamCreate(&stream));
  OK(hipEventCreate(&event));
  OK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  OK(hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, stream, arguments, NULL));
  OK(hipStreamEndCapture(stream, &graph));
  OK(hipGraphInstantiate(&replay, graph, NULL, NULL, 0));

  /* A call that is refused has a text of its own. */
  if (hipModuleGetFunction(&none, module, "nothing") != hipErrorNotFound)
    return 1;
  contains("no such kernel", flydslEmulatorErrorText(), "nothing");

  OK(hipLaunchHostFunc(stream, waitForQueue, NULL));
  OK(hipGraphLaunch(replay, stream));
  OK(hipEventRecord(event, stream));
  atomic_store(&isQueued, 1);
  FAULTS(hipStreamSynchronize(stream));
  FAULTS(hipStreamQuery(stream));
  FAULTS(hipEventSynchronize(event));
  FAULTS(hipEventQuery(event));
  FAULTS(hipEventRecord(event, stream));
  FAULTS(hipDeviceSynchronize());
  FAULTS(hipGraphLaunch(replay, stream));
  FAULTS(hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, stream, arguments, NULL));
  FAULTS(hipMemcpy(host, data, 128, hipMemcpyDeviceToHost));
  FAULTS(hipMemcpyAsync(data, host, 128, hipMemcpyHostToDevice, stream));
  FAULTS(hipMemset(data, 0, 128));
  FAULTS(hipMemsetAsync(data, 0, 128, stream));
  /* Calls that succeed between do not change it. */
  OK(hipEventDestroy(event));
  faults("after a success", hipErrorIllegalAddress);

  OK(hipDeviceReset());
  OK(hipMalloc(&data, 256));
  OK(hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL));
  OK(hipDeviceSynchronize());
  OK(hipModuleUnload(module));
  puts(failures ? "FAIL" : "PASS");
  return failures != 0;
}
