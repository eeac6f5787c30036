#include "dialect/Conversion/FlyToROCDL/TensorDescriptor.h"

#include "layout/checked.h"

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

namespace mlir::fly {

namespace fl = flydsl::layout;

namespace {

/// 32-bit words filled field by field.
class Words {
public:
  Words(DescriptorArith &arith, unsigned count)
      : arith_(arith), constants_(count), values_(count) {}

  /// The low `width` bits of `value`, an i32 or i64, at bit `bit`.
  void put(unsigned bit, unsigned width, Value value) {
    APInt known;
    if (matchPattern(value, m_ConstantInt(&known)))
      return put(bit, width, known.getZExtValue());
    unsigned bits = value.getType().getIntOrFloatBitWidth();
    for (unsigned from = 0; from < std::min(width, bits);) {
      unsigned at = (bit + from) % 32, count = std::min(width - from, 32 - at);
      place((bit + from) / 32, at, count, piece(value, from));
      from += count;
    }
  }
  void put(unsigned bit, unsigned width, uint64_t value) {
    for (unsigned from = 0; from < width;) {
      unsigned at = (bit + from) % 32, count = std::min(width - from, 32 - at);
      constants_[(bit + from) / 32] |=
          static_cast<uint32_t>(((value >> from) & ((1ull << count) - 1)) << at);
      from += count;
    }
  }
  Value vector() {
    SmallVector<Value> words;
    for (auto [constant, value] : llvm::zip_equal(constants_, values_)) {
      Value word = arith_.i32(static_cast<int32_t>(constant));
      words.push_back(value && constant ? arith_.binary<arith::OrIOp>(word, value)
                      : value           ? value
                                        : word);
    }
    auto type = VectorType::get({static_cast<int64_t>(words.size())}, arith_.builder.getI32Type());
    return vector::FromElementsOp::create(arith_.builder, arith_.loc, type, words);
  }

private:
  /// Bits of `value` from `from` on, as an i32.
  Value piece(Value value, unsigned from) {
    if (from)
      value = arith_.binary<arith::ShRUIOp>(value, arith_.number(from, value.getType()));
    if (value.getType().isInteger(64))
      value = arith_.builder.createOrFold<arith::TruncIOp>(arith_.loc, arith_.builder.getI32Type(),
                                                           value);
    return value;
  }
  void place(unsigned word, unsigned at, unsigned count, Value bits) {
    if (at + count < 32)
      bits = arith_.binary<arith::AndIOp>(bits, arith_.i32((int64_t(1) << count) - 1));
    if (at)
      bits = arith_.binary<arith::ShLIOp>(bits, arith_.i32(at));
    values_[word] = values_[word] ? arith_.binary<arith::OrIOp>(values_[word], bits) : bits;
  }

  DescriptorArith &arith_;
  SmallVector<uint32_t> constants_;
  SmallVector<Value> values_;
};

/// Padding of LDS in the descriptor's code: 2^(interval + 1) words, then amount + 1 words left
/// free.
struct Padding {
  uint64_t enable = 0, interval = 0, amount = 0;

  explicit Padding(const TensorDescriptor &d) {
    if (d.padInterval == 0)
      return;
    int64_t intervalBits = fl::checkedMul(d.padInterval, d.elementBits),
            addedBits = fl::checkedMul(d.padAmount, d.elementBits);
    // The types' verifiers have seen to it that the interval is a power of two.
    if (intervalBits % 64 != 0 || intervalBits > 32 * 256 || addedBits % 32 != 0 ||
        addedBits > 32 * 128)
      fl::fail("gfx1250 TDM: padding (interval=", d.padInterval, ", amount=", d.padAmount,
               " elements at ", d.elementBits,
               "-bit) is not encodable: the interval is 2 to 256 words of 32 bits, the amount 1 to "
               "128 words");
    enable = 1;
    interval = llvm::Log2_64(intervalBits / 32) - 1;
    amount = addedBits / 32 - 1;
    // The CDNA5 ISA manual, 10.11: of the two codes, both are zero or none is.
    if ((interval == 0) != (amount == 0))
      fl::fail(
          "gfx1250 TDM: padding of ", amount + 1, " words of 32 bits after every ", 2 << interval,
          " is not defined: 1 word comes after every 2, and more than 1 after every 4 or more");
    if (d.box.back() * d.elementBits % 32 != 0)
      fl::fail("gfx1250 TDM: a padded box has rows of whole words of 32 bits, not of ",
               d.box.back(), " elements of ", d.elementBits, " bits");
  }
};

/// Stores do not look at padding (the CDNA5 ISA manual, 10.11; LLVM's amdgpu dialect). Where LDS has a
/// gap after each row, the row counts with the gap, which then is out of the tensor's range, as in
/// Triton's TDMUtility.
void widenRows(DescriptorArith &arith, TensorDescriptor &d) {
  if (d.padInterval == 0)
    return;
  const int64_t row = d.box.back();
  if (d.padInterval != row)
    fl::fail("gfx1250 TDM: a store leaves out the gap after each row, of ", row,
             " elements in this box, and none after every ", d.padInterval, " elements");
  d.box.back() = fl::checkedAdd(row, d.padAmount);
  if (d.box.back() > UINT16_MAX)
    fl::fail("gfx1250 TDM: expected rows of at most 65535 elements with their gaps, found ",
             d.box.back());
  d.extents.back() = arith.binary<arith::MinSIOp>(d.extents.back(), arith.i32(row));
  d.padInterval = d.padAmount = 0;
}

} // namespace

void emitTensorMove(DescriptorArith &arith, TensorDescriptor d, bool isLoad, int32_t cachePolicy) {
  if (!isLoad)
    widenRows(arith, d);
  const Padding padding(d);
  const int64_t rank = static_cast<int64_t>(d.box.size());
  Words group0(arith, 4), group1(arith, 8), group2(arith, 4), group3(arith, 4);
  group0.put(0, 2, 1); // the descriptor is in use
  const bool gathers = !d.rows.empty();
  group0.put(30, 1, uint64_t(gathers && d.rowBits == 32));
  group0.put(31, 1, uint64_t(gathers));
  group0.put(32, 32, d.lds);
  group0.put(64, 57, d.global);
  group0.put(126, 2, 2); // its type: an image
  group1.put(0, 16, d.workgroupMask);
  group1.put(16, 2, llvm::Log2_64(d.elementBits / 8));
  group1.put(18, 1, d.signalsBarrier);
  group1.put(20, 1, padding.enable);
  group1.put(21, 1, d.earlyTimeout);
  group1.put(22, 3, padding.interval);
  group1.put(25, 7, padding.amount);
  if (d.barrier) // in units of 8 bytes
    group1.put(32, 16, arith.binary<arith::ShRUIOp>(d.barrier, arith.i32(3)));
  struct Field {
    Words &group;
    unsigned bit;
  };
  const Field extents[] = {{group1, 48}, {group1, 80}, {group2, 0}, {group2, 32}, {group3, 48}};
  const Field boxes[] = {{group1, 112}, {group1, 128}, {group1, 144}, {group2, 112}, {group3, 80}};
  const Field pitches[] = {{group1, 160}, {group1, 208}, {group2, 64}, {group3, 0}};
  for (int64_t j = 0; j < rank; ++j) {
    const int64_t i = rank - 1 - j;
    extents[j].group.put(extents[j].bit, 32, d.extents[i]);
    boxes[j].group.put(boxes[j].bit, 16, static_cast<uint64_t>(d.box[i]));
    if (i > 0)
      pitches[j].group.put(pitches[j].bit, 48, d.strides[i - 1]);
  }
  for (auto [i, words] : llvm::enumerate(d.rows))
    (i < 4 ? group2 : group3).put(static_cast<unsigned>(i % 4 * 32), 32, words);
  const bool hasAll = rank > 2 || gathers;
  SmallVector<Value> groups{group0.vector(), group1.vector()};
  if (hasAll)
    groups.append({group2.vector(), group3.vector()});
  StringRef name = isLoad ? "rocdl.tensor.load.to.lds" : "rocdl.tensor.store.from.lds";
  OpBuilder &builder = arith.builder;
  OperationState state(arith.loc, hasAll ? name.str() : (name + ".d2").str(), groups, TypeRange(),
                       builder.getNamedAttr("cachePolicy", builder.getI32IntegerAttr(cachePolicy)));
  builder.create(state);
}

} // namespace mlir::fly
