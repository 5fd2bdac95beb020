#include "panto/tests/random/program/motifs.h"

#include <algorithm>
#include <cmath>

#include "panto/lib/ops/ops.h"
#include "panto/tests/ops/array_value.h"
#include "panto/tests/random/program/generate.h"
#include "panto/tests/random/program/vary.h"

namespace panto::random {
namespace {

using Attrs = std::vector<std::pair<std::string, AttrValue>>;

Attrs of_type(DType t) { return {{"T", AttrValue(t)}}; }

Tensor shape_tensor(const std::vector<int64_t>& dims) { return tensor(std::vector<int32_t>(dims.begin(), dims.end())); }

int numeric_value(Builder& b, DType main) {
  const auto fits = [&](DType t, const Tensor& x) { return x.dtype() == t && x.numel() > 0; };
  const int v = b.pick_value([&](const Tensor& x) { return fits(main, x); });
  return v >= 0 ? v : b.pick_value([&](const Tensor& x) { return fits(kFloat32, x) || fits(kInt32, x); });
}

// The same op once more: of the same inputs, of these the other way round, or of one that is alike instead.
bool repeat(Builder& b) {
  std::vector<size_t> fitting;
  for (size_t i = 0; i < b.statements().size(); ++i) {
    const Statement& s = b.statements()[i];
    if (s.kind == Statement::Kind::kOp && !writes(s) && !s.out.empty()) fitting.push_back(i);
  }
  if (fitting.empty()) return false;
  Statement s = b.statements()[b.rng().pick(fitting)];
  const std::vector<int> before = s.out;
  s.out.clear();
  const double x = b.rng().real();
  if (x < 0.4 && s.in.size() == 2) {
    std::swap(s.in[0], s.in[1]);
  } else if (x < 0.6 && !s.in.empty() && !s.op->has_effect(Effect::kRandom)) {
    Ref& r = s.in[static_cast<size_t>(b.rng().below(static_cast<int>(s.in.size())))];
    if (r >= 0) {
      const Tensor& t = b.value(r);
      r = b.pick_value([&](const Tensor& u) { return u.dtype() == t.dtype() && u.shape() == t.shape(); });
      if (r < 0) return false;
    }
  }
  if (!b.try_statement(std::move(s), b.mark(), 0)) return false;
  // Both are wanted by one that tells them apart.
  const int other = b.statements().back().out[0];
  const Tensor& t = b.value(other);
  if (dtypes::kNumeric.contains(t.dtype()) && b.rng().chance(0.5)) {
    b.try_call(kSub, {before[0], other}, of_type(t.dtype()));
  }
  return true;
}

// The least, the largest, and what lies around powers of 2.
Tensor edge_values(DType type, Rng& rng) {
  test::Array a;
  a.drawn = true;
  const bool is_signed = dtypes::kSigned.contains(type);
  const bool whole = dtypes::kInteger.contains(type);
  const int bits = whole ? 8 * static_cast<int>(dtype_size(type)) - (is_signed ? 1 : 0) : 10;
  for (int i = 0; i < 6; ++i) {
    // Up to 2^52: numbers of the table are doubles.
    const double power = std::ldexp(1.0, std::min(rng.between(1, bits), 52));
    double v = power + rng.between(-2, 1);
    if (whole) v = std::min(v, std::ldexp(1.0, bits) - 1);
    if (is_signed && rng.chance(0.4)) v = -v;
    a.values.push_back(v);
  }
  a.dims = {static_cast<int64_t>(a.values.size())};
  return test::to_tensor(a, type);
}

// Converted several times, and perhaps back.
bool convert_in_turn(Builder& b) {
  static const std::vector<DType> kTypes = {kUint8,  kInt8,    kUint16,   kInt16,   kInt32,   kUint32, kInt64,
                                            kUint64, kFloat16, kBFloat16, kFloat32, kFloat64, kBool};
  const Builder::Mark before = b.mark();
  DType type = b.rng().pick(kTypes);
  const DType first = type;
  int v = -1;
  if (b.rng().chance(0.3)) v = b.pick_value([&](const Tensor& t) { return t.dtype() == type; });
  if (v < 0 && type == kBool) return false;
  if (v < 0) v = b.add_leaf(edge_values(type, b.rng()), false);
  const int times = b.rng().between(2, 3);
  for (int i = 0; i < times; ++i) {
    const DType to = i == times - 1 && b.rng().chance(0.3) ? first : b.rng().pick(kTypes);
    const int next =
        b.try_call(kCast, {v}, {{"SrcT", AttrValue(type)}, {"DstT", AttrValue(to)}, {"Truncate", AttrValue(false)}});
    if (next < 0) {
      if (i == 0) b.undo(before);
      return i > 0;
    }
    v = next;
    type = to;
  }
  return true;
}

// Something with zeros or ones, of the same shape or one that broadcasts.
bool with_neutral(Builder& b, DType main) {
  const int v = numeric_value(b, main);
  if (v < 0) return false;
  const Tensor x = b.value(v);
  std::vector<int64_t> dims = dims_of(x);
  const double how = b.rng().real();
  if (how < 0.3) {
    for (int64_t& d : dims) d = d == 1 ? b.rng().between(1, 4) : d;
  } else if (how < 0.45) {
    dims.insert(dims.begin(), b.rng().between(1, 3));
  } else if (how < 0.7) {
    for (int64_t& d : dims) d = b.rng().chance(0.5) ? 1 : d;
  } else if (how < 0.85) {
    dims.clear();
  }
  static const std::vector<std::pair<const Op*, double>> kOps = {
      {&kAddV2, 0}, {&kSub, 0}, {&kMul, 1}, {&kRealDiv, 1}, {&kMul, 0}, {&kMaximum, 0}, {&kPow, 1}, {&kDiv, 1}};
  const auto& [op, number] = b.rng().pick(kOps);
  test::Array a;
  a.dims = dims;
  a.drawn = true;
  a.values.assign(static_cast<size_t>(Shape(dims).numel()), number);
  const Builder::Mark before = b.mark();
  int c = -1;
  if (b.rng().chance(0.3)) {
    test::Array scalar;
    scalar.drawn = true;
    scalar.values = {number};
    c = b.try_call(kFill,
                   {b.add_leaf(shape_tensor(dims), true),
                    b.add_constant(test::to_tensor(scalar, x.dtype()), Statement::Origin::kLiteral)},
                   {{"T", AttrValue(x.dtype())}, {"index_type", AttrValue(kInt32)}});
  } else {
    c = b.add_constant(test::to_tensor(a, x.dtype()),
                       b.rng().chance(0.5) ? Statement::Origin::kLiteral : Statement::Origin::kMade);
  }
  const bool first = b.rng().chance(0.3);
  if (c >= 0 && b.try_call(*op, {first ? c : v, first ? v : c}, of_type(x.dtype())) >= 0) return true;
  b.undo(before);
  return false;
}

// The same elements in other shapes and orders, in turn.
bool move_in_turn(Builder& b, DType main) {
  int v = numeric_value(b, main);
  if (v < 0) return false;
  const DType type = b.value(v).dtype();
  const int times = b.rng().between(2, 3);
  bool added = false;
  for (int i = 0; i < times; ++i) {
    const std::vector<int64_t> dims = dims_of(b.value(v));
    std::vector<int64_t> told = dims;
    const Builder::Mark before = b.mark();
    int next = -1;
    const int rank = static_cast<int>(dims.size());
    switch (b.rng().below(3)) {
      case 0: {
        const double how = b.rng().real();
        if (how < 0.3) {
          std::ranges::reverse(told);
        } else if (how < 0.6) {
          told = {Shape(dims).numel()};
        } else {
          told.insert(told.begin() + b.rng().below(rank + 1), 1);
        }
        if (!told.empty() && b.rng().chance(0.3))
          told[static_cast<size_t>(b.rng().below(static_cast<int>(told.size())))] = -1;
        next = b.try_call(kReshape, {v, b.add_leaf(shape_tensor(told), true)},
                          {{"T", AttrValue(type)}, {"Tshape", AttrValue(kInt32)}});
        break;
      }
      case 1: {
        for (int64_t& d : told) d = d == 1 ? b.rng().between(1, 3) : d;
        if (b.rng().chance(0.4)) told.insert(told.begin(), b.rng().between(1, 3));
        next = b.try_call(kBroadcastTo, {v, b.add_leaf(shape_tensor(told), true)},
                          {{"T", AttrValue(type)}, {"Tidx", AttrValue(kInt32)}});
        break;
      }
      default: {
        for (int k = 0; k < rank; ++k) told[static_cast<size_t>(k)] = k;
        for (int k = rank; k-- > 1;)
          std::swap(told[static_cast<size_t>(k)], told[static_cast<size_t>(b.rng().below(k + 1))]);
        next = b.try_call(kTranspose, {v, b.add_leaf(shape_tensor(told), true)},
                          {{"T", AttrValue(type)}, {"Tperm", AttrValue(kInt32)}});
      }
    }
    if (next < 0) {
      b.undo(before);
      return added;
    }
    v = next;
    added = true;
  }
  return true;
}

}  // namespace

bool add_motif(Builder& b, DType main) {
  switch (b.rng().below(5)) {
    case 0:
    case 1: return repeat(b);
    case 2: return convert_in_turn(b);
    case 3: return with_neutral(b, main);
    default: return move_in_turn(b, main);
  }
}

}  // namespace panto::random
