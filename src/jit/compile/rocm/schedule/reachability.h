// What reaches what in a graph without cycles, kept as sets of bits: the
// graphs are the instructions of a scheduling region, a few hundred, and are
// asked for reachability many thousand times.
#pragma once

#include "llvm/ADT/bit.h"

#include <cstdint>
#include <vector>

namespace flydsl::jit {

/// A set of nodes.
class NodeSet {
public:
  using Word = std::uint64_t;
  static constexpr unsigned kWordBits = 64;
  static constexpr unsigned wordsFor(unsigned nodes) { return (nodes + kWordBits - 1) / kWordBits; }

  explicit NodeSet(unsigned nodes) : words_(wordsFor(nodes)) {}
  void set(unsigned node) { words_[node / kWordBits] |= Word(1) << node % kWordBits; }
  void reset(unsigned node) { words_[node / kWordBits] &= ~(Word(1) << node % kWordBits); }
  /// Adds the nodes of a row of Reachability.
  void add(const Word *row) {
    for (std::size_t i = 0; i < words_.size(); ++i)
      words_[i] |= row[i];
  }
  /// How many nodes both sets have.
  unsigned common(const NodeSet &other) const {
    unsigned count = 0;
    for (std::size_t i = 0; i < words_.size(); ++i)
      count += static_cast<unsigned>(llvm::popcount(words_[i] & other.words_[i]));
    return count;
  }

private:
  std::vector<Word> words_;
};

class Reachability {
public:
  using Word = NodeSet::Word;

  explicit Reachability(unsigned nodes)
      : nodes_(nodes), words_(NodeSet::wordsFor(nodes)), after_(std::size_t(nodes) * words_),
        before_(std::size_t(nodes) * words_) {}

  unsigned size() const { return nodes_; }
  bool reaches(unsigned from, unsigned to) const {
    return row(after_, from)[to / NodeSet::kWordBits] >> to % NodeSet::kWordBits & 1;
  }
  /// The nodes from which `node` is reached, without itself, as NodeSet takes them.
  const Word *before(unsigned node) const { return row(before_, node); }

  /// Adds an edge. It must close no cycle.
  void add(unsigned from, unsigned to);

private:
  using Matrix = std::vector<Word>; ///< `words_` words a node
  const Word *row(const Matrix &matrix, unsigned node) const {
    return matrix.data() + std::size_t(node) * words_;
  }
  Word *row(Matrix &matrix, unsigned node) const {
    return matrix.data() + std::size_t(node) * words_;
  }
  /// Adds the nodes `added` and `itself` to the rows of `node` and of the nodes of `of`.
  void addTo(Matrix &matrix, unsigned node, const Word *of, const Word *added, unsigned itself);

  unsigned nodes_;
  unsigned words_;
  Matrix after_;
  Matrix before_;
};

} // namespace flydsl::jit
