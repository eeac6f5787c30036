#include "jit/compile/module_digest.h"

#include "dialect/Fly/IR/FlyDialect.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"

namespace flydsl::jit {

namespace {

/// Host functions without a launch region have no part in the code.
bool isForHostAlone(mlir::Operation &op) {
  return mlir::isa<mlir::FunctionOpInterface>(op) && !op.walk([](mlir::gpu::LaunchOp) {
                                                          return mlir::WalkResult::interrupt();
                                                        }).wasInterrupted();
}

/// Words that are hashed together.
class Words {
public:
  Words &add(std::uint64_t number) {
    words_.push_back(number);
    return *this;
  }
  Words &add(const cache::Key &key) { return add(key.high).add(key.low); }
  cache::Key finish() const {
    return cache::digest(words_.data(), words_.size() * sizeof(std::uint64_t));
  }

private:
  llvm::SmallVector<std::uint64_t, 64> words_;
};

/// What begins the hash of each kind, so that no two kinds have the same words.
enum class Kind : std::uint64_t { argument, constant, effectless, anchor, result, forward, region };

enum class Effects {
  none,  ///< counts by what it is
  reads, ///< and so does what reads memory that nothing writes meanwhile
  makes, ///< new memory: it has a place among those with effects, and nothing else cares
  any
};

Effects effectsOf(mlir::Operation &op) {
  if (op.hasTrait<mlir::OpTrait::IsTerminator>())
    return Effects::any;
  if (mlir::isMemoryEffectFree(&op))
    return Effects::none;
  const auto effects = mlir::getEffectsRecursively(&op);
  if (!effects)
    return Effects::any;
  auto areAll = [&]<class Effect>() {
    return llvm::all_of(*effects, [](const mlir::MemoryEffects::EffectInstance &instance) {
      return mlir::isa<Effect>(instance.getEffect());
    });
  };
  if (areAll.operator()<mlir::MemoryEffects::Read>())
    return Effects::reads;
  return areAll.operator()<mlir::MemoryEffects::Allocate>() ? Effects::makes : Effects::any;
}

class Digest {
public:
  cache::Key of(mlir::ModuleOp module) {
    Words words;
    words.add(text(module->getDiscardableAttrDictionary()));
    for (mlir::Operation &op : *module.getBody())
      if (!isForHostAlone(op))
        words.add(structureOf(op));
    return words.finish();
  }

private:
  /// The hash of what `print` writes of an object that the context keeps once.
  template <class Print> cache::Key textOf(const void *object, Print print) {
    auto [at, isNew] = texts_.try_emplace(object);
    if (isNew) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      print(stream);
      at->second = cache::digest(text.data(), text.size());
    }
    return at->second;
  }
  cache::Key text(mlir::Attribute attribute) {
    return textOf(attribute.getAsOpaquePointer(), [&](llvm::raw_ostream &stream) {
      attribute.print(stream);
      // The text of a resource is its name alone.
      attribute.walk([&](mlir::DenseResourceElementsAttr resource) {
        if (auto *blob = resource.getRawHandle().getBlob())
          stream.write(blob->getData().data(), blob->getData().size());
      });
    });
  }
  cache::Key text(mlir::Type type) {
    return textOf(type.getAsOpaquePointer(),
                  [&](llvm::raw_ostream &stream) { type.print(stream); });
  }
  cache::Key text(mlir::OperationName name) {
    return textOf(name.getAsOpaquePointer(),
                  [&](llvm::raw_ostream &stream) { stream << name.getStringRef(); });
  }

  cache::Key attributesOf(mlir::Operation &op) {
    mlir::DictionaryAttr attributes = op.getAttrDictionary();
    // Linked bitcode is part of a kernel's key by its content.
    if (mlir::isa<mlir::gpu::GPUModuleOp>(op) && attributes.get(mlir::fly::kLinkLibsAttribute)) {
      mlir::NamedAttrList rest(attributes);
      rest.erase(mlir::fly::kLinkLibsAttribute);
      attributes = rest.getDictionary(op.getContext());
    }
    return text(attributes);
  }

  /// An operation by its name, attributes, types, operands and regions.
  cache::Key structureOf(mlir::Operation &op) {
    Words words;
    words.add(text(op.getName())).add(attributesOf(op)).add(op.getNumResults());
    for (mlir::Type type : op.getResultTypes())
      words.add(text(type));
    words.add(op.getNumOperands());
    for (mlir::Value operand : op.getOperands())
      words.add(values_.lookup(operand));
    words.add(op.getNumSuccessors());
    for (mlir::Block *successor : op.getSuccessors())
      words.add(static_cast<std::uint64_t>(
          std::distance(successor->getParent()->begin(), successor->getIterator())));
    words.add(op.getNumRegions());
    for (mlir::Region &region : op.getRegions())
      words.add(structureOf(region));
    return words.finish();
  }

  /// A region. Values of its blocks are told apart by the depth of the region, its block, and their
  /// place there: what uses one stands inside of that region.
  cache::Key structureOf(mlir::Region &region) {
    Words words;
    words.add(std::uint64_t(Kind::region)).add(region.getBlocks().size());
    ++depth_;
    std::uint64_t number = 0;
    // A block may use a value of one that stands behind it.
    if (!region.empty() && !region.hasOneBlock())
      for (mlir::Block &block : region)
        nameResults(block, number++);
    number = 0;
    for (mlir::Block &block : region)
      addBlock(words, block, number++, region.hasOneBlock());
    --depth_;
    return words.finish();
  }

  Words placed(Kind kind, std::uint64_t block, std::uint64_t place) const {
    Words words;
    words.add(std::uint64_t(kind)).add(depth_).add(block).add(place);
    return words;
  }

  void nameResults(mlir::Block &block, std::uint64_t number) {
    std::uint64_t place = 0;
    for (mlir::Operation &op : block)
      nameResults(op, placed(Kind::forward, number, place++).finish());
  }
  void nameResults(mlir::Operation &op, const cache::Key &name) {
    for (mlir::OpResult result : op.getResults())
      values_[result] =
          Words().add(std::uint64_t(Kind::result)).add(name).add(result.getResultNumber()).finish();
  }

  void addBlock(Words &words, mlir::Block &block, std::uint64_t number, bool isOnly) {
    words.add(block.getNumArguments());
    for (mlir::BlockArgument argument : block.getArguments()) {
      values_[argument] = placed(Kind::argument, number, argument.getArgNumber()).finish();
      words.add(text(argument.getType()));
    }
    std::uint64_t anchors = 0, segment = 0;
    for (mlir::Operation &op : block) {
      const cache::Key structure = structureOf(op);
      if (!isOnly) { // a graph of blocks counts as it stands
        words.add(structure);
        continue;
      }
      const Effects effects = effectsOf(op);
      if (op.hasTrait<mlir::OpTrait::ConstantLike>()) {
        nameResults(op, Words().add(std::uint64_t(Kind::constant)).add(structure).finish());
      } else if (effects == Effects::none || effects == Effects::reads) {
        // The place matters to reads, and to what looks at the lanes that are active there.
        nameResults(op, placed(Kind::effectless, number, segment).add(structure).finish());
      } else {
        words.add(structure);
        nameResults(op, placed(Kind::anchor, number, anchors++).finish());
        segment += effects == Effects::any;
      }
    }
  }

  llvm::DenseMap<const void *, cache::Key> texts_;
  llvm::DenseMap<mlir::Value, cache::Key> values_;
  std::uint64_t depth_ = 0;
};

} // namespace

cache::Key moduleDigest(mlir::ModuleOp module) { return Digest().of(module); }

} // namespace flydsl::jit
