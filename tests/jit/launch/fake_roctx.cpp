// A replacement of ROCm's libroctx64 that records the ranges.
#include <string>

namespace {
std::string record;
int depth = 0;
} // namespace

extern "C" {
int roctxRangePushA(const char *message) {
  record += std::string(message) + ";";
  return depth++;
}
int roctxRangePop() {
  record += "end;";
  return --depth;
}
const char *fakeRoctxRecord() { return record.c_str(); }
}
