#include "panto/lib/core/io/example.h"

#include <algorithm>
#include <map>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/varint.h"
#include "panto/lib/core/io/example_wire.h"
#include "panto/lib/core/tensor/half.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

namespace wire = example_wire;

void append_bytes(std::string& to, uint32_t field, std::string_view bytes) {
  append_varint(to, field << 3 | wire::kBytes);
  append_varint(to, bytes.size());
  to += bytes;
}

template <class T, class Append>
void for_each_element(const Tensor& t, const Append& append) {
  const T* values = static_cast<const T*>(t.impl()->data);
  for (int64_t i = 0; i < t.numel(); ++i) append(values[i]);
}

template <class T>
std::string floats(const Tensor& t) {
  std::string packed;
  packed.reserve(static_cast<size_t>(t.numel()) * sizeof(float));
  for_each_element<T>(t, [&](const T& value) {
    const auto narrow = static_cast<float>(value);
    packed.append(reinterpret_cast<const char*>(&narrow), sizeof(narrow));
  });
  return packed;
}

template <class T>
std::string integers(const Tensor& t) {
  std::string packed;
  for_each_element<T>(
      t, [&](const T& value) { append_varint(packed, static_cast<uint64_t>(checked_cast<int64_t>(value, "value"))); });
  return packed;
}

// Serializes a Feature.
std::string feature_of(const Tensor& given) {
  const Tensor t = given.is_meta() || !given.device().host_memory() ? copy_to_device(given, cpu_device()) : given;
  std::string list;
  const auto packed = [&](const std::string& bytes) {
    if (!bytes.empty()) append_bytes(list, 1, bytes);
  };
  uint32_t kind = wire::kListOf<int64_t>;
  switch (t.dtype()) {
    case kString:
      kind = wire::kListOf<std::string>;
      for_each_element<std::string>(t, [&](const std::string& text) { append_bytes(list, 1, text); });
      break;
    case kFloat32: kind = wire::kListOf<float>, packed(floats<float>(t)); break;
    case kFloat64: kind = wire::kListOf<float>, packed(floats<double>(t)); break;
    case kFloat16: kind = wire::kListOf<float>, packed(floats<Half>(t)); break;
    case kBFloat16: kind = wire::kListOf<float>, packed(floats<BFloat16>(t)); break;
    case kInt64: packed(integers<int64_t>(t)); break;
    case kInt32: packed(integers<int32_t>(t)); break;
    case kInt16: packed(integers<int16_t>(t)); break;
    case kInt8: packed(integers<int8_t>(t)); break;
    case kUint64: packed(integers<uint64_t>(t)); break;
    case kUint32: packed(integers<uint32_t>(t)); break;
    case kUint16: packed(integers<uint16_t>(t)); break;
    case kUint8: packed(integers<uint8_t>(t)); break;
    case kBool:
      packed(std::string(static_cast<const char*>(t.impl()->data), static_cast<size_t>(t.numel())));  // 0 and 1
      break;
    case kResource:
    case kVariant: failf(Code::kUnimplemented, "feature: expected a dtype with values, got {}", dtype_name(t.dtype()));
    default: invalid("feature: expected floats, integers or strings, got {}", dtype_name(t.dtype()));
  }
  std::string feature;
  append_bytes(feature, kind, list);
  return feature;
}

// Serializes a message whose field 1 is a map, sorted by name.
template <class Value, class Encode>
std::string map_of(std::span<const std::pair<std::string, Value>> entries, const Encode& encode) {
  std::map<std::string_view, const Value*> sorted;
  for (const auto& [name, value] : entries) {
    if (!sorted.emplace(name, &value).second) invalid("features: expected each name once, got '{}' twice", name);
  }
  std::string map;
  for (const auto& [name, value] : sorted) {
    std::string entry;
    append_bytes(entry, 1, name);
    append_bytes(
        entry, 2,
        with_context([&] { return fmt::format("in feature '{}'", printable(name)); }, [&] { return encode(*value); }));
    append_bytes(map, 1, entry);
  }
  return map;
}

template <class T>
Tensor values_of(const wire::FeatureView& view) {
  Tensor t = allocate_tensor(cpu_device(), dtype_of<T>, Shape{wire::count_values<T>(view)});
  wire::copy_values<T>(view, mutable_data<T>(t));
  return t;
}

// Undefined for a feature without a list.
Tensor tensor_of(std::string_view feature) {
  const wire::FeatureView view = wire::view_feature(feature);
  switch (view.list) {
    case wire::kListOf<std::string>: return values_of<std::string>(view);
    case wire::kListOf<float>: return values_of<float>(view);
    case wire::kListOf<int64_t>: return values_of<int64_t>(view);
    default: return {};
  }
}

// The last of several entries with the same name wins.
std::map<std::string_view, std::string_view> entries_of(std::string_view bytes, uint32_t field) {
  std::map<std::string_view, std::string_view> entries;
  wire::for_each_entry(bytes, field, [&](std::string_view key, std::string_view value) { entries[key] = value; });
  return entries;
}

std::vector<NamedTensor> features_of(std::string_view bytes) {
  std::vector<NamedTensor> features;
  for (const auto& [key, value] : entries_of(bytes, 1)) {
    if (Tensor t = tensor_of(value); t.defined()) features.emplace_back(key, std::move(t));
  }
  return features;
}

}  // namespace

std::string make_example(std::span<const NamedTensor> features) {
  std::string example;
  append_bytes(example, 1, map_of(features, feature_of));
  return example;
}

std::string make_example(std::initializer_list<NamedTensor> features) {
  return make_example(std::span<const NamedTensor>(features.begin(), features.size()));
}

std::string make_sequence_example(const SequenceExample& example) {
  const auto list_of = [](const std::vector<Tensor>& steps) {
    std::string list;
    for (const Tensor& step : steps) append_bytes(list, 1, feature_of(step));
    return list;
  };
  std::string bytes;
  append_bytes(bytes, 1, map_of(std::span<const NamedTensor>(example.context), feature_of));
  append_bytes(bytes, 2, map_of(std::span<const NamedSteps>(example.lists), list_of));
  return bytes;
}

std::vector<NamedTensor> read_example(std::string_view bytes) { return features_of(bytes); }

SequenceExample read_sequence_example(std::string_view bytes) {
  SequenceExample example{.context = features_of(bytes)};
  for (const auto& [key, value] : entries_of(bytes, 2)) {
    std::vector<Tensor> steps;
    wire::for_each_message(value, 1, [&](std::string_view feature) {
      const Tensor t = tensor_of(feature);
      steps.push_back(t.defined() ? t : allocate_tensor(cpu_device(), kFloat32, Shape{0}));
    });
    example.lists.emplace_back(key, std::move(steps));
  }
  return example;
}

}  // namespace panto
