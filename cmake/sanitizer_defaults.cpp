// What AddressSanitizer is told where ASAN_OPTIONS says nothing else.
//
// LLVM's arenas poison what they have not handed out, in the inline functions of its headers. Those of this build
// do; those inside of the installed libLLVM and libMLIR, built without the sanitizer, hand memory out of the
// same arenas without lifting the poison.
extern "C" __attribute__((visibility("default"))) const char *__asan_default_options() {
  return "allow_user_poisoning=0";
}
