// The options of the sanitizers, unless ASAN_OPTIONS, UBSAN_OPTIONS and TSAN_OPTIONS say otherwise.
//
// A finding ends the program by a signal, whatever handlers the program has. A test that looks only
// at the output, or that expects a failure, would take an exit code for the expected result, and
// undefined behaviour would only print a line of text.
#define FLYDSL_ENDS "abort_on_error=1:handle_abort=1:halt_on_error=1"

// LLVM's arenas poison the memory that they have not handed out, in inline functions of its
// headers. Code of this build does so; code in the installed libLLVM and libMLIR, built without the
// sanitizer, hands out memory of the same arenas without lifting the poison.
extern "C" __attribute__((visibility("default"))) const char *__asan_default_options() {
  return FLYDSL_ENDS ":allow_user_poisoning=0";
}

extern "C" __attribute__((visibility("default"))) const char *__ubsan_default_options() {
  return FLYDSL_ENDS ":print_stacktrace=1";
}

// Tests fork processes with threads, whose children start threads. Such a child is not checked.
extern "C" __attribute__((visibility("default"))) const char *__tsan_default_options() {
  return FLYDSL_ENDS ":die_after_fork=0";
}

// The loads and stores of emulated kernels are plain accesses by the host's threads, and workgroups
// may wait for each other; so are the copies and fills of streams, and what devices' caches
// write back and fetch. A race there is the program's own; the emulator's checks look for those.
// Threads may share an exception: libstdc++ counts its references in code that was built without the
// sanitizer, which does not see that the last one comes after the others. In the same way it does not
// see who comes after the making of a static in the installed libLLVM, such as a table of names, nor that a thread finds a part of MLIR's
// tables of types and attributes by an atomic pointer, after another thread has made it.
extern "C" __attribute__((visibility("default"))) const char *__tsan_default_suppressions() {
  return "race:emulator/ops/memory/memory_ops.h\nrace:emulator/ops/memory/flat.cpp\n"
         "race:emulator/ops/memory/scalar_memory.cpp\n"
         "race:emulator/ops/memory/buffer_typed.cpp\nrace:emulator/ops/memory/transposed.cpp\n"
         "race:emulator/core/program_moves.cpp\n"
         "race:exception_ptr::_M_release\nrace:llvm::vfs::getRealFileSystem\n"
         "race:llvm::StringMapImpl::LookupBucketFor\n"
         "race:mlir::detail::TypeUniquer::getWithTypeID\n"
         "race:mlir::detail::AttributeUniquer::getWithTypeID\n";
}
