// Signature words back to argument types, and those to text.
#include "runtime/tensor_words.h"

#include <flydsl/host/args.h>

#include <algorithm>
#include <string>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
using namespace flydsl::runtime;

std::vector<ArgType> ArgPack::types() const {
  std::vector<ArgType> types = typesOf({word_, words_});
  unsigned nextStatic = 0;
  for (ArgType &type : types)
    if (type.kind == ArgType::Kind::staticValue)
      type.staticArg.object = static_[nextStatic++];
  return types;
}

const char *ArgPack::inField(const char *what) {
  std::string text = "field ";
  for (unsigned i = 0; i < std::min(depth_, maxDepth); ++i)
    text.append(i ? "." : "").append(field_[i].text, field_[i].size);
  text.append(": ").append(what);
  errorText_[text.copy(errorText_, sizeof errorText_ - 1)] = 0;
  return errorText_;
}

bool sameType(const ArgType &a, const ArgType &b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.shape == b.shape && a.stride == b.stride &&
         a.alignment == b.alignment && a.large == b.large && a.many == b.many &&
         a.staticArg.digest[0] == b.staticArg.digest[0] &&
         a.staticArg.digest[1] == b.staticArg.digest[1] && a.bits == b.bits && a.text == b.text &&
         a.isPresence == b.isPresence;
}

std::string signatureText(const ArgType &type) {
  std::string text = type.str();
  if (type.kind == ArgType::Kind::tensor)
    text += " aligned to " + std::to_string(type.alignment);
  return text;
}

std::vector<ArgType> typesOf(std::span<const std::uint64_t> words) {
  constexpr std::uint64_t tensorTag = ArgPack::tensorTag, scalarTag = ArgPack::scalarTag,
                          staticTag = ArgPack::staticTag, constantTag = ArgPack::constantTag,
                          textTag = ArgPack::textTag, pointerTag = ArgPack::pointerTag;
  std::vector<ArgType> types;
  std::size_t at = 1; // after the block
  while (at < words.size()) {
    const std::uint64_t head = words[at++];
    ArgType &type = types.emplace_back();
    switch (head & 15) {
    case tensorTag: {
      type.kind = ArgType::Kind::tensor;
      type.dtype = DType(static_cast<DType::Kind>(field(head, kDtypeAt, 0xff)));
      type.alignment = 1u << field(head, kAlignAt, 31);
      type.large = field(head, kLargeAt, 1);
      type.many = field(head, kManyAt, 1);
      const auto rank = static_cast<unsigned>(field(head, kRankAt, 15));
      auto bit = [&](int mask, unsigned mode) { return field(head, mask, 0xff) >> mode & 1; };
      auto leaf = [&](int wordMask, unsigned mode) {
        return bit(wordMask, mode) ? static_cast<std::int64_t>(words[at++]) : std::int64_t{1};
      };
      for (unsigned i = 0; i < rank; ++i)
        type.shape.push_back({leaf(kShapeWordAt, i), !bit(kShapeMaskAt, i) ? 0
                                                     : bit(kWideMaskAt, i) ? 64
                                                                           : 32});
      for (unsigned i = 0; i < rank; ++i)
        type.stride.push_back({leaf(kStrideWordAt, i), bit(kStrideMaskAt, i) ? 64 : 0});
      break;
    }
    case scalarTag:
      type.kind = ArgType::Kind::scalar;
      type.dtype = DType(static_cast<DType::Kind>(field(head, kDtypeAt, 0xff)));
      break;
    case pointerTag:
      type.kind = ArgType::Kind::pointer;
      type.dtype = DType(static_cast<DType::Kind>(field(head, kDtypeAt, 0xff)));
      break;
    case staticTag:
      type.kind = ArgType::Kind::staticValue;
      type.staticArg = {nullptr, {words[at], words[at + 1]}};
      at += 2;
      break;
    case constantTag:
      type.kind = ArgType::Kind::constant;
      type.isPresence = head & ArgPack::presenceBit;
      type.bits = words[at++];
      break;
    case textTag: {
      type.kind = ArgType::Kind::constant;
      type.text.resize(head >> 4);
      std::memcpy(type.text.data(), words.data() + at, type.text.size());
      at += (type.text.size() + 7) / 8;
      break;
    }
    }
  }
  return types;
}

std::string ArgType::str() const {
  auto leaf = [](const LeafType &l, int usual) {
    if (l.isStatic())
      return std::to_string(l.value);
    std::string inside = l.width == usual ? "" : "i" + std::to_string(l.width);
    if (l.value != 1)
      inside += (inside.empty() ? "div=" : " div=") + std::to_string(l.value);
    return inside.empty() ? std::string("?") : "?{" + inside + "}";
  };
  auto leaves = [&](const std::vector<LeafType> &all) {
    std::string text = all.size() == 1 ? "" : "(";
    for (std::size_t i = 0; i < all.size(); ++i)
      text += (i ? "," : "") + leaf(all[i], 32);
    return text + (all.size() == 1 ? "" : ")");
  };
  switch (kind) {
  case Kind::tensor:
    return "tensor<" + std::string(dtype.name()) + ", " + leaves(shape) + ":" + leaves(stride) +
           (large ? ", 4 GiB or more" : "") + (many ? ", 2^31 elements or more>" : ">");
  case Kind::scalar:
    return std::string(dtype.name());
  case Kind::pointer:
    return "pointer to " + std::string(dtype.name());
  case Kind::staticValue:
    return "static value";
  case Kind::constant:
    if (isPresence)
      return bits ? "an argument that is given" : "an argument that is left out";
    return text.empty() ? "constant " + std::to_string(static_cast<std::int64_t>(bits))
                        : "constant \"" + text + "\"";
  }
  return {};
}

} // namespace detail
FLYDSL_NAMESPACE_END
