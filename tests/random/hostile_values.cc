#include "panto/tests/random/hostile_values.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <cstring>
#include <limits>
#include <string>

#include "panto/lib/base/error.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/core/tensor/half.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/tests/ops/table.h"

namespace panto::random {
namespace {

using test::Row;

// ---- Values ---------------------------------------------------------------------------------------------------------

int64_t draw_integer(Rng& rng) {
  static const std::vector<int64_t> kOdd = {-1,
                                            -2,
                                            -7,
                                            7,
                                            31,
                                            32,
                                            64,
                                            127,
                                            128,
                                            255,
                                            256,
                                            1000,
                                            65535,
                                            65536,
                                            1 << 20,
                                            INT_MAX - 1,
                                            INT_MAX,
                                            INT_MIN,
                                            int64_t{1} << 31,
                                            int64_t{1} << 32,
                                            int64_t{1} << 40,
                                            int64_t{1} << 62,
                                            std::numeric_limits<int64_t>::max(),
                                            std::numeric_limits<int64_t>::max() - 1,
                                            std::numeric_limits<int64_t>::min()};
  return rng.chance(0.75) ? rng.between(0, 4) : rng.pick(kOdd);
}

double draw_real(Rng& rng) {
  using Limits = std::numeric_limits<double>;
  static const std::vector<double> kOdd = {0,
                                           -0.,
                                           1,
                                           -1,
                                           0.5,
                                           2,
                                           1e-40,
                                           1e-3,
                                           1e6,
                                           3e38,
                                           -3e38,
                                           Limits::max(),
                                           Limits::lowest(),
                                           Limits::denorm_min(),
                                           Limits::infinity(),
                                           -Limits::infinity(),
                                           Limits::quiet_NaN()};
  return rng.chance(0.5) ? rng.between(-3., 3.) : rng.pick(kOdd);
}

std::string draw_text(Rng& rng) {
  static const std::vector<std::string> kTexts = {"",
                                                  "a",
                                                  "b",
                                                  "ab cd",
                                                  "1",
                                                  "-3.5",
                                                  "nan",
                                                  "1e400",
                                                  "a,b,c",
                                                  "\"x",
                                                  "[0-9]+",
                                                  "(",
                                                  "*",
                                                  "a*",
                                                  "\\",
                                                  "%s",
                                                  "%d%n",
                                                  "{}",
                                                  "{",
                                                  "{\"feature\":1}",
                                                  "CPU:0",
                                                  "/job:x/device:GPU:7",
                                                  "UTF-8",
                                                  "UTF-16-BE",
                                                  "latin1",
                                                  "replace",
                                                  "strict",
                                                  "SAME",
                                                  "VALID",
                                                  "NHWC",
                                                  "sum",
                                                  "ij,jk->ik",
                                                  "i...->...",
                                                  "MIN_FIRST",
                                                  "linear",
                                                  "h\xc3\xa9llo",
                                                  "\xff\xfe\x80",
                                                  "\xed\xa0\x80",
                                                  "\xf0\x9f\x98\x80",
                                                  std::string("a\0b", 3),
                                                  "data.txt",
                                                  "no/such/folder/file"};
  if (rng.chance(0.05)) return std::string(static_cast<size_t>(rng.between(100, 5000)), 'x');
  if (rng.chance(0.1)) {
    std::string bytes(static_cast<size_t>(rng.between(0, 40)), '\0');
    for (char& c : bytes) c = static_cast<char>(rng.below(256));
    return bytes;
  }
  return rng.pick(kTexts);
}

}  // namespace

Shape draw_shape(Rng& rng) {
  static const std::vector<int> kRanks = {0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6, 9};
  static const std::vector<int64_t> kDims = {0, 1, 1, 2, 2, 3, 3, 4, 5, 8};
  std::vector<int64_t> dims(static_cast<size_t>(rng.pick(kRanks)));
  int64_t left = 4096;
  for (int64_t& d : dims) {
    d = std::min(left, rng.chance(0.02) ? int64_t{300} : rng.pick(kDims));
    left /= std::max<int64_t>(1, d);
  }
  return Shape(std::span<const int64_t>(dims));
}

PartialShape draw_partial_shape(Rng& rng) {
  if (rng.chance(0.2)) return {};
  const Shape known = draw_shape(rng);
  std::vector<int64_t> dims(known.dims().begin(), known.dims().end());
  for (int64_t& d : dims) {
    if (rng.chance(0.3)) d = kUnknownDim;
    if (rng.chance(0.03)) d = int64_t{1} << rng.between(20, 40);
  }
  try {
    return PartialShape(std::span<const int64_t>(dims));
  } catch (const Error&) {  // too many elements
    return {};
  }
}

DType draw_type(Rng& rng, DTypeSet allowed) {
  std::vector<DType> types;
  for (int i = 0; i < kDTypeSlots; ++i) {
    if (allowed.contains(static_cast<DType>(i))) types.push_back(static_cast<DType>(i));
  }
  return types.empty() ? kFloat32 : rng.pick(types);
}

namespace {

void put_element(Rng& rng, DType t, bool small, unsigned char* to) {
  const size_t size = dtype_size(t);
  if (t == kBool) {
    *to = static_cast<unsigned char>(rng.below(2));
  } else if (t == kFloat32 || t == kComplex64) {
    for (size_t i = 0; i < size; i += 4) {
      const auto v = static_cast<float>(std::clamp(draw_real(rng), -3.4e38, 3.4e38));
      std::memcpy(to + i, &v, 4);
    }
  } else if (t == kFloat64 || t == kComplex128) {
    for (size_t i = 0; i < size; i += 8) {
      const double v = draw_real(rng);
      std::memcpy(to + i, &v, 8);
    }
  } else if (t == kFloat16 || t == kBFloat16) {
    const auto v = static_cast<float>(rng.between(-3., 3.));
    const uint16_t bits = rng.chance(0.3) ? static_cast<uint16_t>(rng.next())
                          : t == kFloat16 ? std::bit_cast<uint16_t>(Half(v))
                                          : std::bit_cast<uint16_t>(BFloat16(v));
    std::memcpy(to, &bits, 2);
  } else {
    const int64_t v = small ? rng.between(0, 4) : draw_integer(rng);
    std::memcpy(to, &v, size);  // the low bytes
  }
}

}  // namespace

Tensor draw_tensor_of(Rng& rng, DType t, const Shape& shape) {
  if (t == kResource || t == kVariant) {
    std::vector<Tensor> fitting;
    for (const Tensor& h : handles()) {
      if (h.dtype() == t) fitting.push_back(h);
    }
    if (t == kResource) {
      return test::to_tensor(test::variable(test::draw({shape.rank() > 0 ? shape.dim(0) : 2})),
                             draw_type(rng, dtypes::kNumeric));
    }
    if (!fitting.empty() && rng.chance(0.7)) return rng.pick(fitting);
    if (rng.chance(0.3)) return allocate_tensor(cpu_device(), kVariant, shape);  // of nothing
    return test::to_tensor(test::listed(test::draw({rng.between(0, 3), 2})), kFloat32);
  }
  Tensor out = allocate_tensor(cpu_device(), t, shape);
  if (t == kString) {
    for (int64_t i = 0; i < shape.numel(); ++i) mutable_data<std::string>(out)[i] = draw_text(rng);
    return out;
  }
  const bool small = rng.chance(0.5);
  for (int64_t i = 0; i < shape.numel(); ++i) {
    put_element(rng, t, small, mutable_data<unsigned char>(out) + static_cast<size_t>(i) * dtype_size(t));
  }
  return out;
}

namespace {

Tensor draw_handle(Rng& rng) {
  std::vector<Tensor> fitting;
  for (const Tensor& h : handles()) {
    if (h.dtype() == kResource) fitting.push_back(h);
  }
  if (fitting.empty() || rng.chance(0.3)) return draw_tensor_of(rng, kResource, Shape{2});
  return rng.pick(fitting);
}

}  // namespace

Tensor draw_input(Rng& rng, DType t) {
  return t == kResource ? draw_handle(rng) : draw_tensor_of(rng, t, draw_shape(rng));
}

namespace {

// ---- Attributes -----------------------------------------------------------------------------------------------------

const std::vector<FunctionRef>& functions() {
  static const auto* all = [] {
    auto* list = new std::vector<FunctionRef>{{.name = "nobody_knows_it"}};
    for (const Row* row : test::all_rows()) {
      for (const test::Sample& s : row->d.samples) {
        for (const test::Attr& a : s.attrs) {
          if (a.value.kind() == AttrKind::kFunc) list->push_back(a.value.as<FunctionRef>());
        }
      }
    }
    return list;
  }();
  return *all;
}

}  // namespace

AttrValue draw_attr(Rng& rng, const AttrDef& def) {
  const auto type = [&] { return draw_type(rng, rng.chance(0.95) ? def.allowed_types : dtypes::kAny); };
  const auto text = [&] {
    return !def.allowed_strings.empty() && rng.chance(0.85) ? rng.pick(def.allowed_strings) : draw_text(rng);
  };
  const auto integer = [&] {
    return def.has_minimum && rng.chance(0.6) ? def.minimum + rng.below(4) : draw_integer(rng);
  };
  switch (def.kind) {
    case AttrKind::kInt: return AttrValue(integer());
    case AttrKind::kFloat: return AttrValue(static_cast<float>(draw_real(rng)));
    case AttrKind::kBool: return AttrValue(rng.chance(0.5));
    case AttrKind::kType: return AttrValue(type());
    case AttrKind::kString: return AttrValue(text());
    case AttrKind::kShape: return AttrValue(draw_partial_shape(rng));
    case AttrKind::kTensor: return AttrValue(draw_input(rng, draw_type(rng, dtypes::kPlain)));
    case AttrKind::kFunc: return AttrValue(rng.pick(functions()));
    case AttrKind::kIntList: return AttrValue(draw_list<int64_t>(rng, [&] { return draw_integer(rng); }));
    case AttrKind::kFloatList:
      return AttrValue(draw_list<float>(rng, [&] { return static_cast<float>(draw_real(rng)); }));
    case AttrKind::kBoolList:
      return AttrValue(draw_list<uint8_t>(rng, [&] { return static_cast<uint8_t>(rng.below(2)); }));
    case AttrKind::kTypeList: return AttrValue(draw_list<DType>(rng, type));
    case AttrKind::kStringList: return AttrValue(draw_list<std::string>(rng, text));
    case AttrKind::kShapeList: return AttrValue(draw_list<PartialShape>(rng, [&] { return draw_partial_shape(rng); }));
    case AttrKind::kFuncList: return AttrValue(draw_list<FunctionRef>(rng, [&] { return rng.pick(functions()); }));
    case AttrKind::kNone: break;
  }
  return {};
}

namespace {}  // namespace
}  // namespace panto::random
