#include "panto/tests/ops/array_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <memory>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/tests/ops/list_value.h"

namespace panto::test {
namespace {

// Calls `f(element)` with a default element of dtype `t`, which tells its C++ type.
template <class F>
void with_type(DType t, F f) {
  switch (t) {
    case DType::kFloat32: f(float{}); return;
    case DType::kFloat64: f(double{}); return;
    case DType::kFloat16: f(Half{}); return;
    case DType::kBFloat16: f(BFloat16{}); return;
    case DType::kInt8: f(int8_t{}); return;
    case DType::kInt16: f(int16_t{}); return;
    case DType::kInt32: f(int32_t{}); return;
    case DType::kInt64: f(int64_t{}); return;
    case DType::kUint8: f(uint8_t{}); return;
    case DType::kUint16: f(uint16_t{}); return;
    case DType::kUint32: f(uint32_t{}); return;
    case DType::kUint64: f(uint64_t{}); return;
    case DType::kBool: f(bool{}); return;
    case DType::kComplex64: f(std::complex<float>{}); return;
    case DType::kComplex128: f(std::complex<double>{}); return;
    case DType::kQInt8: f(QInt8{}); return;
    case DType::kQUint8: f(QUint8{}); return;
    case DType::kQInt16: f(QInt16{}); return;
    case DType::kQUint16: f(QUint16{}); return;
    case DType::kQInt32: f(QInt32{}); return;
    case DType::kString: f(std::string{}); return;
    case DType::kResource: f(ResourceHandle{}); return;
    case DType::kVariant: f(Variant{}); return;
    default: fail(Code::kInternal, "test array: expected a type with values, got " + std::string(dtype_name(t)));
  }
}

template <class T>
constexpr bool kIsQuantized = dtypes::kQuantized.contains(dtype_of<T>);

// What a resource or variant of a test holds.
class Number final : public Resource {
 public:
  explicit Number(double v) : Resource("", "number"), value(v) {}
  std::string_view kind() const noexcept override { return "Number"; }
  double value;
};

template <class T>
T element(double value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return fmt::format("{}", value);
  } else if constexpr (std::is_same_v<T, ResourceHandle>) {
    return std::make_shared<Number>(value);
  } else if constexpr (std::is_same_v<T, Variant>) {
    return variant_of(value);
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return T(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return {static_cast<float>(value), 0};
  } else if constexpr (kIsQuantized<T>) {
    return T(static_cast<decltype(T::value)>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
double number(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return 0;
  } else if constexpr (std::is_same_v<T, ResourceHandle>) {
    const auto* held = dynamic_cast<const Number*>(value.get());
    return held != nullptr ? held->value : std::nan("");
  } else if constexpr (std::is_same_v<T, Variant>) {
    return number_of(value);
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return static_cast<double>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return static_cast<double>(value.real());
  } else if constexpr (kIsQuantized<T>) {
    return static_cast<double>(value.value);
  } else {
    return static_cast<double>(value);
  }
}

bool is_complex(DType t) { return dtypes::kComplex.contains(t); }
bool is_whole(DType t) { return (dtypes::kInteger | dtypes::kQuantized | DTypeSet{kBool}).contains(t); }
bool has_sign(DType t) { return (dtypes::kSigned | DTypeSet{kQInt8, kQInt16, kQInt32}).contains(t); }

template <class T>
bool is_nan(const T& value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return std::isnan(static_cast<float>(value));
  return false;
}

// NaNs of any kind are the same.
template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return same(a.real(), b.real()) && same(a.imag(), b.imag());
  } else {
    return a == b || (is_nan(a) && is_nan(b));
  }
}

std::string position_text(const std::vector<int64_t>& dims, size_t flat) {
  std::vector<int64_t> index(dims.size());
  for (size_t k = dims.size(); k-- > 0;) {
    index[k] = static_cast<int64_t>(flat) % dims[k];
    flat /= static_cast<size_t>(dims[k]);
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

std::vector<int64_t> dims_of(const Tensor& t) { return {t.shape().dims().begin(), t.shape().dims().end()}; }

std::string shape_text(const std::vector<int64_t>& dims) { return fmt::format("[{}]", fmt::join(dims, ",")); }

Tensor make_variable(const Tensor& value) {
  static int count = 0;
  const std::pair<std::string, AttrValue> attrs[] = {
      {"dtype", AttrValue(value.dtype())},
      {"shape", AttrValue(value.partial_shape())},
      {"shared_name", AttrValue(fmt::format("test_array_{}", count++))},
  };
  const Tensor handle = dispatch::call("VarHandleOp", {}, attrs)[0];
  const Tensor inputs[] = {handle, value};
  dispatch::call("AssignVariableOp", inputs);
  return handle;
}

}  // namespace

int64_t Array::numel() const {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

size_t Array::broadcast_position(const std::vector<int64_t>& shape, size_t flat) const {
  size_t position = 0;
  size_t stride = 1;
  for (size_t k = 1; k <= shape.size(); ++k) {
    const auto size = static_cast<size_t>(shape[shape.size() - k]);
    const size_t index = flat % size;
    flat /= size;
    if (k > dims.size()) continue;
    const auto own = static_cast<size_t>(dims[dims.size() - k]);
    if (own != 1) position += index * stride;
    stride *= own;
  }
  return position;
}

Array array(std::vector<int64_t> dims, std::vector<double> values) {
  Array a;
  a.dims = std::move(dims);
  a.values = std::move(values);
  if (static_cast<size_t>(a.numel()) != a.values.size()) {
    fail(Code::kInternal, fmt::format("test array: expected {} values, got {}", a.numel(), a.values.size()));
  }
  return a;
}

Array scalar(double value) { return array({}, {value}); }

Array list(std::vector<double> values) {
  const auto n = static_cast<int64_t>(values.size());
  return array({n}, std::move(values));
}

Array texts(std::vector<int64_t> dims, std::vector<std::string> values) {
  Array a;
  a.dims = std::move(dims);
  a.texts = std::move(values);
  a.type = kString;
  return a;
}

Array wholes(std::vector<int64_t> dims, std::vector<Whole> values) {
  std::vector<double> near(values.begin(), values.end());
  Array a = array(std::move(dims), std::move(near));
  a.wholes = std::move(values);
  return a;
}

Array complexes(std::vector<int64_t> dims, const std::vector<std::complex<double>>& values) {
  std::vector<double> real;
  for (const std::complex<double>& v : values) real.push_back(v.real());
  Array a = array(std::move(dims), std::move(real));
  for (const std::complex<double>& v : values) a.imag.push_back(v.imag());
  return a;
}

Array draw_complex(std::vector<int64_t> dims, double low, double high, int seed) {
  Array a = draw(std::move(dims), low, high, seed);
  a.imag = draw(a.dims, low, high, seed + 17).values;
  return a;
}

Array iota(std::vector<int64_t> dims, double first) {
  Array a;
  a.dims = std::move(dims);
  for (int64_t i = 0; i < a.numel(); ++i) a.values.push_back(first + static_cast<double>(i));
  return a;
}

Array filled(std::vector<int64_t> dims, double value) {
  Array a;
  a.dims = std::move(dims);
  a.values.assign(static_cast<size_t>(a.numel()), value);
  return a;
}

Array draw(std::vector<int64_t> dims, double low, double high, int seed) {
  Array a;
  a.dims = std::move(dims);
  a.drawn = true;
  // Multiples of the golden ratio, modulo 1.
  double x = 0.5 + 0.3819 * seed;
  for (int64_t i = 0; i < a.numel(); ++i) {
    x += 0.61803398874989485;
    a.values.push_back(low + (high - low) * (x - std::floor(x)));
  }
  return a;
}

Array zeros_and_ones(std::vector<int64_t> dims, int seed) {
  Array a = draw(std::move(dims), 0, 1, seed);
  for (double& v : a.values) v = v < 0.5 ? 0 : 1;
  return a;
}

Array listed(Array values) {
  values.is_list = true;
  return values;
}

Array variable(Array value) {
  value.is_variable = true;
  return value;
}

bool fits(const Array& a, DType t) {
  if (!a.texts.empty()) return t == kString;
  if (!a.imag.empty() && !is_complex(t)) return false;
  if (!a.wholes.empty()) {
    const Whole least = t == kInt64 ? Whole{INT64_MIN} : Whole{0};
    const Whole most = t == kInt64 ? Whole{INT64_MAX} : t == kUint64 ? Whole{UINT64_MAX} : Whole{-1};
    return std::ranges::all_of(a.wholes, [&](Whole v) { return v >= least && v <= most; });
  }
  if (a.drawn || t == kString || t == kResource || t == kVariant) return true;
  const Array rounded = rounded_to(a, t);
  for (size_t i = 0; i < a.values.size(); ++i) {
    if (is_whole(t) && !(rounded.values[i] == a.values[i])) return false;
  }
  return true;
}

Array rounded_to(const Array& a, DType t) {
  if (t == kResource || t == kVariant || t == kString || !a.texts.empty() || !a.wholes.empty()) return a;
  Array result = a;
  for (double& v : result.imag) {
    if (t == kComplex64) v = static_cast<double>(static_cast<float>(v));
  }
  with_type(t, [&]<class T>(T) {
    for (double& v : result.values) {
      if (is_whole(t)) v = std::round(v);
      if (is_whole(t) && t != kBool && !has_sign(t)) v = std::abs(v);
      v = number(element<T>(v));
    }
  });
  return result;
}

Tensor to_tensor(const Array& a, DType t) {
  if (a.is_variable) {
    Array value = a;
    value.is_variable = false;
    return make_variable(to_tensor(value, t));
  }
  if (a.is_list) {
    Array value = a;
    value.is_list = false;
    return make_list(to_tensor(value, t));
  }
  const Shape shape(a.dims);
  if (!a.texts.empty() || t == kString) {
    std::vector<std::string> values = a.texts;
    for (const double v : a.values) values.push_back(element<std::string>(v));
    return tensor_from_strings(shape, std::move(values));
  }
  Tensor result = allocate_tensor(cpu_device(), t, shape);
  const Array rounded = rounded_to(a, t);
  with_type(t, [&]<class T>(T) {
    for (size_t i = 0; i < rounded.values.size(); ++i) {
      T& to = mutable_data<T>(result)[i];
      to = element<T>(rounded.values[i]);
      if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, uint64_t>) {
        if (!a.wholes.empty()) to = static_cast<T>(a.wholes[i]);
      }
      if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
        if (!a.imag.empty()) to.imag(static_cast<typename T::value_type>(rounded.imag[i]));
      }
    }
  });
  return result;
}

Tensor unaligned(const Tensor& t) {
  if (!is_plain(t.dtype())) return t;
  const size_t size = dtype_size(t.dtype());
  const auto memory =
      std::make_shared<std::vector<std::max_align_t>>((t.nbytes() + size) / sizeof(std::max_align_t) + 2);
  char* data = reinterpret_cast<char*>(memory->data()) + size;
  if (t.nbytes() > 0) std::memcpy(data, t.impl()->data, t.nbytes());
  return adopt_tensor(cpu_device(), t.dtype(), t.shape(), data, memory);
}

Array to_array(const Tensor& tensor) {
  const Tensor t = tensor.cpu();
  if (t.dtype() == kVariant && t.numel() > 0 && !is_number(t.data<Variant>()[0])) return listed(to_array(stacked(t)));
  Array a;
  a.dims = dims_of(t);
  a.type = t.dtype();
  with_type(t.dtype(), [&]<class T>(T) {
    for (const T& v : t.data<T>()) {
      if constexpr (std::is_same_v<T, std::string>) {
        a.texts.push_back(v);
      } else {
        a.values.push_back(number(v));
      }
      if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
        a.imag.push_back(static_cast<double>(v.imag()));
      }
      if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, uint64_t>) a.wholes.push_back(v);
    }
  });
  return a;
}

double epsilon(DType t) {
  switch (t) {
    case DType::kFloat64:
    case DType::kComplex128: return std::numeric_limits<double>::epsilon();
    case DType::kFloat32:
    case DType::kComplex64: return static_cast<double>(std::numeric_limits<float>::epsilon());
    case DType::kFloat16: return 0x1p-10;
    case DType::kBFloat16: return 0x1p-7;
    default: return 0;
  }
}

namespace {

// Both parts of each element, each within the tolerance of the element's size.
std::string complex_difference(const Array& expected, const Array& got, DType type, Tolerance tolerance) {
  for (size_t i = 0; i < got.values.size(); ++i) {
    const std::complex<double> wanted = expected.complex(i), value = got.complex(i);
    const double allowed = tolerance.units * epsilon(type) * std::max(std::abs(wanted), tolerance.floor);
    const auto close = [&](double a, double b) {
      return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= allowed;
    };
    if (close(wanted.real(), value.real()) && close(wanted.imag(), value.imag())) continue;
    return fmt::format("element {}: expected {} + {}i, got {} + {}i (allowed {:.3g})", position_text(got.dims, i),
                       wanted.real(), wanted.imag(), value.real(), value.imag(), allowed);
  }
  return {};
}

constexpr DTypeSet kHalves{kFloat16, kBFloat16};

double smallest_normal(DType half) { return half == kFloat16 ? 0x1p-14 : 0x1p-126; }

// Integers wrap: the number that has the same low bits.
Whole wrapped(Whole v, DType t) {
  if (t == kBool) return v;
  const Whole count = Whole{1} << (8 * dtype_size(t));
  v = ((v % count) + count) % count;
  return has_sign(t) && v >= count / 2 ? v - count : v;
}

}  // namespace

std::string difference(const Array& expected, const Tensor& actual, Tolerance tolerance, DType unit_type) {
  if (expected.is_list) {
    if (actual.dtype() != kVariant) return fmt::format("dtype: expected variant, got {}", dtype_name(actual.dtype()));
    Array items = expected;
    items.is_list = false;
    return difference(items, stacked(actual), tolerance, unit_type);
  }
  const Array got = to_array(actual);
  if (got.dims != expected.dims) {
    return fmt::format("shape: expected {}, got {}", shape_text(expected.dims), shape_text(got.dims));
  }
  if (!expected.texts.empty() || actual.dtype() == kString) {
    if (actual.dtype() != kString) return fmt::format("dtype: expected string, got {}", dtype_name(actual.dtype()));
    for (size_t i = 0; i < got.texts.size(); ++i) {
      const std::string wanted = expected.texts.empty() ? element<std::string>(expected.values[i]) : expected.texts[i];
      if (wanted != got.texts[i]) {
        return fmt::format("element {}: expected '{}', got '{}'", position_text(got.dims, i), wanted, got.texts[i]);
      }
    }
    return {};
  }
  for (size_t i = 0; i < expected.wholes.size(); ++i) {
    const Whole value = got.wholes.empty() ? static_cast<Whole>(got.values[i]) : got.wholes[i];
    if (value != wrapped(expected.wholes[i], actual.dtype())) {
      return fmt::format("element {}: expected {}, got {}", position_text(got.dims, i), expected.wholes[i], value);
    }
  }
  if (!expected.wholes.empty()) return {};
  if (is_complex(actual.dtype()) || !expected.imag.empty()) {
    return complex_difference(expected, got, actual.dtype(), tolerance);
  }
  const bool whole = is_whole(actual.dtype());
  const auto unit_of = [&](DType t) {
    return t == DType::kInvalid ? 0 : epsilon(tolerance.rounded_once && kHalves.contains(t) ? kFloat32 : t);
  };
  const double unit = std::max(unit_of(actual.dtype()), unit_of(unit_type));
  const double last_place = tolerance.rounded_once && kHalves.contains(actual.dtype()) ? epsilon(actual.dtype()) : 0;
  for (size_t i = 0; i < got.values.size(); ++i) {
    double wanted = expected.values[i];
    const double value = got.values[i];
    if (actual.dtype() == kBool) wanted = wanted != 0 ? 1 : 0;
    if (whole) wanted = std::trunc(wanted);
    if (whole && std::isfinite(wanted) && std::abs(wanted) < 0x1p63) {
      const Whole exact = got.wholes.empty() ? static_cast<Whole>(value) : got.wholes[i];
      if (wrapped(static_cast<Whole>(wanted), actual.dtype()) == exact) continue;
    }
    // Beyond the largest finite number is infinite.
    if (!whole) wanted = rounded_to(array({}, {wanted}), actual.dtype()).values[0];
    if (wanted == value || (std::isnan(wanted) && std::isnan(value))) continue;
    const double size = std::abs(expected.values[i]);
    const double allowed = whole ? 0
                                 : tolerance.units * unit * std::max(size, tolerance.floor) +
                                       last_place * std::max(size, smallest_normal(actual.dtype()));
    if (std::isfinite(wanted) && std::abs(value - expected.values[i]) <= allowed) continue;
    return fmt::format("element {}: expected {}, got {} (difference {:.3g}, allowed {:.3g})",
                       position_text(got.dims, i), wanted, value, std::abs(value - wanted), allowed);
  }
  return {};
}

std::string difference(const Tensor& expected_tensor, const Tensor& actual_tensor) {
  const Tensor expected = expected_tensor.cpu();
  const Tensor actual = actual_tensor.cpu();
  if (expected.dtype() != actual.dtype()) {
    return fmt::format("dtype: expected {}, got {}", dtype_name(expected.dtype()), dtype_name(actual.dtype()));
  }
  if (!(expected.shape() == actual.shape())) {
    return fmt::format("shape: expected {}, got {}", expected.shape().to_string(), actual.shape().to_string());
  }
  std::string text;
  with_type(expected.dtype(), [&]<class T>(T) {
    const auto a = expected.data<T>();
    const auto b = actual.data<T>();
    for (size_t i = 0; i < a.size() && text.empty(); ++i) {
      const auto where = [&] { return position_text(dims_of(expected), i); };
      if constexpr (std::is_same_v<T, Variant>) {
        const std::string items = list_difference(a[i], b[i]);
        if (items.empty()) continue;
        text = fmt::format("element {}: {}", where(), items);
        continue;
      } else {
        if (same(static_cast<T>(a[i]), static_cast<T>(b[i]))) continue;
      }
      if constexpr (std::is_same_v<T, std::string>) {
        text = fmt::format("element {}: expected '{}', got '{}'", where(), a[i], b[i]);
      } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
        text = fmt::format("element {}: expected {} + {}i, got {} + {}i", where(), a[i].real(), a[i].imag(),
                           b[i].real(), b[i].imag());
      } else {
        text = fmt::format("element {}: expected {}, got {}", where(), number(a[i]), number(b[i]));
      }
    }
  });
  return text;
}

}  // namespace panto::test
