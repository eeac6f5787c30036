// A model of two layers with random weights, as a GGUF file, for tests.
#pragma once

#include <flydsl/kernels/ggml.h>

#include <string>

namespace llama {

/// Writes it with all matrices in a format, and 1, 2 or 4 heads of keys. Equal ones give equal files.
/// Throws FileError.
void makeModel(const std::string &path, flydsl::kernels::GgmlFormat format, int kvHeads = 2);

} // namespace llama
