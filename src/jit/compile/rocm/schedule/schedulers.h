// LLVM's two schedulers of machine instructions as passes of our own, which set them up for groups.
#pragma once

namespace llvm {
class TargetPassConfig;
} // namespace llvm

namespace flydsl::jit {

/// Puts the passes in the place of LLVM's. Another LLVM than the one whose rules this room repeats
/// (see ../../README.md) keeps its own: the build then has `own_schedulers.cpp`, which puts nothing.
void useQuickGroupSchedulers(llvm::TargetPassConfig &passes);

} // namespace flydsl::jit
