# CMAKE_PROJECT_INCLUDE of a project whose compiler shall pass for one that is too old.
set(CMAKE_CXX_COMPILER_VERSION 11.4.0)
