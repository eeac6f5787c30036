// Features that every HIP program gets from the compiler: printf and assert in kernels, malloc and
// free in kernels, __managed__ variables, occupancy by kernel. Compiled with HIP's own headers and
// ROCm's device library. emulator_hip_defaults PART; the exit status is 0 if all results are right.
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <hip/hip_runtime.h>
#include <string>
#include <unistd.h>
#include <vector>

#define EXPECT(condition)                                                                          \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      std::fprintf(stderr, "FAIL: line %d: %s (%s)\n", __LINE__, #condition,                       \
                   hipGetErrorString(hipPeekAtLastError()));                                       \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (0)
#define OK(call) EXPECT((call) == hipSuccess)

__managed__ int counter = 5;
__managed__ double table[3] = {0.5, 1.5, -2.5};

__global__ void speak(int lanes, int *returned) {
  const int i = static_cast<int>(threadIdx.x);
  if (i >= lanes)
    return;
  const char *names[2] = {"even", "odd"};
  returned[i] = printf("%s %d of %u: %.3f|%5ld|%-4x|%c|%%|%hhd|%*d\n", names[i & 1], i - 1,
                       (unsigned)blockIdx.x, i * 0.25, static_cast<long>(i) << 33, i + 10, 'a' + i,
                       200 + i, 4, i);
}

__global__ void speakMuch(int value) {
  printf("%d %d %d %d %d %d %d %d %d %d %s %s\n", value, value + 1, value + 2, value + 3, value + 4,
         value + 5, value + 6, value + 7, value + 8, value + 9,
         "a string that takes several packets of the buffer to come over, each of them fifty-six bytes", "");
}

__global__ void insist(const int *values, int least) {
  const int i = static_cast<int>(threadIdx.x);
  assert(values[i] >= least && "too small");
}

__global__ void take(int **blocks, int words) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  int *memory = static_cast<int *>(malloc(words * sizeof(int)));
  blocks[i] = memory;
  for (int k = 0; memory && k < words; ++k)
    memory[k] = i * 1000 + k;
}

__global__ void give(int **blocks, int words, int *sums) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  int sum = 0;
  for (int k = 0; k < words; ++k)
    sum += blocks[i][k];
  free(blocks[i]);
  sums[i] = sum;
}

__global__ void takeMuch(unsigned long *fits, unsigned long bytes) {
  void *memory = malloc(bytes);
  *fits = memory != nullptr;
  free(memory);
}

__global__ void freeWildly(char *memory) { free(memory + 4096); }

__global__ void count(double *seen) {
  atomicAdd(&counter, 1);
  if (threadIdx.x < 3)
    seen[threadIdx.x] = table[threadIdx.x];
}

template <typename T> struct Buffer {
  T *data = nullptr;
  size_t size;
  explicit Buffer(size_t n) : size(n) {
    OK(hipMalloc(reinterpret_cast<void **>(&data), n * sizeof(T)));
    OK(hipMemset(data, 0, n * sizeof(T)));
  }
  ~Buffer() { OK(hipFree(data)); }
  std::vector<T> read() const {
    std::vector<T> result(size);
    OK(hipMemcpy(result.data(), data, size * sizeof(T), hipMemcpyDeviceToHost));
    return result;
  }
};

/// What a function writes to stdout.
template <typename Function> std::string captured(const Function &function) {
  std::fflush(stdout);
  std::FILE *file = std::tmpfile();
  const int saved = dup(1);
  dup2(fileno(file), 1);
  function();
  std::fflush(stdout);
  dup2(saved, 1);
  std::rewind(file);
  std::string text;
  for (int c; (c = std::fgetc(file)) != EOF;)
    text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

void testPrintf() {
  Buffer<int> returned(64);
  const std::string text = captured([&] {
    speak<<<1, 64>>>(3, returned.data);
    OK(hipDeviceSynchronize());
  });
  const std::string lines[3] = {"even -1 of 0: 0.000|    0|a   |a|%|-56|   0\n",
                                "odd 0 of 0: 0.250|8589934592|b   |b|%|-55|   1\n",
                                "even 1 of 0: 0.500|17179869184|c   |c|%|-54|   2\n"};
  EXPECT(text == lines[0] + lines[1] + lines[2]);
  const std::vector<int> lengths = returned.read();
  for (int i = 0; i < 3; ++i)
    EXPECT(lengths[i] == static_cast<int>(lines[i].size()));

  // Every line of many waves comes whole.
  const std::string much = captured([&] {
    speakMuch<<<50, 200>>>(7);
    OK(hipDeviceSynchronize());
  });
  const std::string line = "7 8 9 10 11 12 13 14 15 16 a string that takes several packets of the buffer to come over, "
                           "each of them fifty-six bytes \n";
  EXPECT(much.size() == 50 * 200 * line.size());
  for (size_t at = 0; at < much.size(); at += line.size())
    EXPECT(much.compare(at, line.size(), line) == 0);
}

void testAssert() {
  Buffer<int> values(64);
  insist<<<1, 64>>>(values.data, 0);
  OK(hipDeviceSynchronize());
  insist<<<1, 2>>>(values.data, 1);
  EXPECT(hipDeviceSynchronize() == hipErrorLaunchFailure);
  EXPECT(hipDeviceReset() == hipSuccess);
  (void)hipGetLastError();
  std::exit(0); // the buffer went with the reset
}

void testHeap() {
  constexpr int threads = 200, blocks = 6;
  Buffer<int *> memory(threads * blocks);
  Buffer<int> sums(threads * blocks);
  // Small blocks, large ones, and every size between them that the library treats differently.
  for (int words : {1, 7, 40, 300, 769, 1500}) {
    take<<<blocks, threads>>>(memory.data, words);
    OK(hipDeviceSynchronize());
    std::vector<int *> addresses = memory.read();
    for (int *address : addresses)
      EXPECT(address);
    give<<<blocks, threads>>>(memory.data, words, sums.data);
    OK(hipDeviceSynchronize());
    const std::vector<int> results = sums.read();
    for (int i = 0; i < threads * blocks; ++i)
      EXPECT(results[i] == i * 1000 * words + words * (words - 1) / 2);
  }
  // What the device does not have is a null pointer.
  size_t free = 0, total = 0;
  OK(hipMemGetInfo(&free, &total));
  Buffer<unsigned long> fits(1);
  takeMuch<<<1, 1>>>(fits.data, free / 2);
  EXPECT(fits.read()[0] == 1);
  takeMuch<<<1, 1>>>(fits.data, total);
  EXPECT(fits.read()[0] == 0);
  // A reset leaves modules loaded, and with them the heap.
  OK(hipDeviceReset());
  Buffer<int *> again(64);
  take<<<1, 64>>>(again.data, 5);
  OK(hipDeviceSynchronize());
  for (int *address : again.read())
    EXPECT(address);
  freeWildly<<<1, 1>>>(reinterpret_cast<char *>(4096));
  EXPECT(hipDeviceSynchronize() == hipErrorLaunchFailure);
  std::_Exit(0);
}

void testManaged() {
  EXPECT(counter == 5 && table[0] == 0.5 && table[2] == -2.5);
  Buffer<double> seen(3);
  int devices = 0;
  OK(hipGetDeviceCount(&devices));
  table[1] = 8.25;
  for (int device = 0; device < devices; ++device) {
    OK(hipSetDevice(device));
    Buffer<double> own(3);
    count<<<3, 100>>>(own.data);
    OK(hipDeviceSynchronize());
    EXPECT(counter == 5 + 300 * (device + 1));
    EXPECT((own.read() == std::vector<double>{0.5, 8.25, -2.5}));
  }
  int copied = 0;
  OK(hipMemcpy(&copied, &counter, sizeof copied, hipMemcpyDeviceToHost));
  EXPECT(copied == counter);
  hipPointerAttribute_t attributes;
  OK(hipPointerGetAttributes(&attributes, &counter));
  EXPECT(attributes.isManaged);
  // A reset leaves the variable where it is.
  OK(hipSetDevice(0));
  OK(hipDeviceReset());
  EXPECT(counter == copied);
  std::_Exit(0); // the buffer went with the reset
}

void testOccupancy() {
  int grid = 0, block = 0, each = 0;
  hipDeviceProp_t properties;
  OK(hipGetDeviceProperties(&properties, 0));
  OK(hipOccupancyMaxPotentialBlockSize(&grid, &block, take, 0, 0));
  EXPECT(block > 0 && block <= 1024 && block % properties.warpSize == 0);
  OK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&each, take, block, 0));
  EXPECT(each > 0 && grid == each * properties.multiProcessorCount);
  OK(hipOccupancyMaxPotentialBlockSize(&grid, &block, take, 0, 256));
  EXPECT(block > 0 && block <= 256);
  OK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&each, take, 64, properties.sharedMemPerBlock));
  EXPECT(each == 1);
  EXPECT(hipOccupancyMaxPotentialBlockSize(nullptr, &block, reinterpret_cast<const void *>(&take), 0, 0) ==
         hipErrorInvalidValue);
  EXPECT(hipOccupancyMaxPotentialBlockSize(&grid, &block, reinterpret_cast<const void *>(&testOccupancy), 0, 0) ==
         hipErrorInvalidDeviceFunction);
  EXPECT(hipOccupancyMaxActiveBlocksPerMultiprocessor(&each, take, 0, 0) == hipErrorInvalidValue);
  EXPECT(hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&each, reinterpret_cast<const void *>(&take), 64, 0,
                                                               99) == hipErrorInvalidValue);
}

int main(int argc, char **argv) {
  const std::string part = argc > 1 ? argv[1] : "";
  if (part == "printf")
    testPrintf();
  else if (part == "assert")
    testAssert();
  else if (part == "heap")
    testHeap();
  else if (part == "managed")
    testManaged();
  else if (part == "occupancy")
    testOccupancy();
  else
    return 2;
  return 0;
}
