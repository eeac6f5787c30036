# Tests of instructions: assembled by LLVM, run on one wave.
add_library(flyemu_wave_test STATIC assemble.cpp wave_test.cpp)
target_link_libraries(flyemu_wave_test PUBLIC flyemu_core flydsl_llvm_headers Catch2::Catch2)
file(GLOB _isa_tests CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/isa_*.cpp")
flydsl_test(test_emulator_isa LABEL emulator SOURCES ${_isa_tests} LINK flyemu_wave_test)
