// What the sanitizers are told where ASAN_OPTIONS, UBSAN_OPTIONS and TSAN_OPTIONS say nothing else.
//
// A finding ends the program by a signal, whatever handlers the program has. An exit code would
// pass for the expected failure in tests that look at the output only, or that expect one, and of
// undefined behaviour there would be a line of text and nothing else.
#define FLYDSL_ENDS "abort_on_error=1:handle_abort=1:halt_on_error=1"

// LLVM's arenas poison what they have not handed out, in the inline functions of its headers. Those
// of this build do; those inside of the installed libLLVM and libMLIR, built without the sanitizer,
// hand memory out of the same arenas without lifting the poison.
extern "C" __attribute__((visibility("default"))) const char *__asan_default_options() {
  return FLYDSL_ENDS ":allow_user_poisoning=0";
}

extern "C" __attribute__((visibility("default"))) const char *__ubsan_default_options() {
  return FLYDSL_ENDS ":print_stacktrace=1";
}

extern "C" __attribute__((visibility("default"))) const char *__tsan_default_options() {
  return FLYDSL_ENDS;
}

// The loads and stores of emulated kernels are plain ones on the host's threads, and workgroups may
// wait for each other's: what races there is the kernel's matter, which the emulator's own check
// looks for.
extern "C" __attribute__((visibility("default"))) const char *__tsan_default_suppressions() {
  return "race:emulator/ops/memory/memory_ops.h\nrace:emulator/ops/memory/flat.cpp\n"
         "race:emulator/ops/memory/scalar_memory.cpp\n"
         "race:emulator/ops/memory/buffer_typed.cpp\nrace:emulator/ops/memory/transposed.cpp\n";
}
