// Problems as text: FAMILY [FIELD=VALUE ...] [m=ROWS,...], on a command line or in a list.
#pragma once

#include "family.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace fly_kernels {

using Families = std::vector<std::unique_ptr<LibraryFamily>>;

/// A problem that was asked for.
struct Request {
  const LibraryFamily *family = nullptr;
  fx::Config problem = {};
  std::string text;                    ///< the words, but for those of `rows`
  std::vector<std::int64_t> rows = {}; ///< of a call; empty: the words have none
};

/// The family of a name. Throws flydsl::Error, which names all.
const LibraryFamily &familyNamed(const Families &all, const std::string &name);

/// The request of a command line's words, where numbers of rows are an option. Throws
/// flydsl::Error for a word that names no field, or a value that the field can't have.
Request requestOf(const Families &all, const std::vector<std::string> &words);

/// Calls visit(request) for the problem of each line of a file, in which # begins a comment and a
/// word m=1,64 gives the numbers of rows. What it throws names the line.
void forEachRequest(const std::string &path, const Families &all,
                    const std::function<void(const Request &)> &visit);

} // namespace fly_kernels
