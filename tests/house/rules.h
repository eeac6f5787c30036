// The rules of the house that a machine can check (docs/house.md). Each takes a tree and answers
// with a line for each breach of it.
#pragma once

#include "tree.h"

namespace house {

// rooms.cpp: who may include whom.

/// Rooms include only the rooms below them.
Findings roomIncludes(const Tree &tree);
/// Folders of a room include only the folders of it that the table lists for them, and no folder is
/// left out of the table.
Findings folderIncludes(const Tree &tree);
/// LLVM, AMD's dialects, comgr and HIP stand behind their doors.
Findings doors(const Tree &tree);

// sizes.cpp

/// A file has at most 900 lines that are not blank.
Findings fileSizes(const Tree &tree);
/// A folder of src, include, kernels or tools has at most 40 sources.
Findings folderSizes(const Tree &tree);

// names.cpp

/// No room decides by the name of a processor: "gfx94" is not all of CDNA3, and a new processor
/// would be classified by its digits. Rooms ask the processor's row for its family or a feature.
Findings targetNames(const Tree &tree);
/// Facts about a processor stand in the tables of targetTables(): no other file of src, include,
/// kernels and tools has a processor's whole name as a text.
Findings targetPlaces(const Tree &tree);
/// The tables in which a new target gets rows, as docs/house.md names them.
std::vector<std::string> targetTables();
/// The builder works with types: it creates operations by their C++ classes, and neither parses IR
/// nor looks into what was printed.
Findings builderText(const Tree &tree);
/// Public headers outside of flydsl/rocdl, the builder outside of its rocdl, and the neutral
/// dialect name no vendor, but for the lists in names.cpp, from which what is gone must go.
Findings neutralNames(const Tree &tree);
/// Messages avoid the words over which newcomers stumble.
Findings messageWords(const Tree &tree);

// shapes.cpp

/// A line of the kernel library that makes a tensor, by a divide, a partition, a fragment, a view or a
/// slice, ends in its shape: `// (tileM, tileK)`. `scripts/shapes` compares it with traces.
Findings shapeComments(const Tree &tree);

} // namespace house
