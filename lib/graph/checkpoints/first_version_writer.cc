// Writes checkpoints of the first version (first_version.cc).
#include <algorithm>
#include <complex>
#include <map>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/checkpoints/slice.h"
#include "panto/lib/graph/checkpoints/stored.h"
#include "panto/lib/graph/checkpoints/table.h"
#include "panto/lib/graph/checkpoints/tensor_part.h"
#include "panto/lib/graph/files/wire/tensor_proto.h"
#include "panto/lib/graph/proto/saved_tensor_slice.pb.h"

namespace panto {
namespace {

constexpr int kVersion = 1;

template <class T, class Add>
void add_each(const Tensor& t, const Add& add) {
  const T* values = static_cast<const T*>(t.impl()->data);
  for (int64_t i = 0; i < t.numel(); ++i) add(values[i]);
}

// Every value separately: readers of this version know neither other forms nor newer dtypes.
void put_values(const Tensor& t, graphdef::TensorProto& proto) {
  const auto integer = [&](auto v) { proto.add_int_val(v); };
  switch (t.dtype()) {
    case kFloat32: return add_each<float>(t, [&](float v) { proto.add_float_val(v); });
    case kFloat64: return add_each<double>(t, [&](double v) { proto.add_double_val(v); });
    case kFloat16: return add_each<uint16_t>(t, [&](uint16_t bits) { proto.add_half_val(bits); });
    case kInt64: return add_each<int64_t>(t, [&](int64_t v) { proto.add_int64_val(v); });
    case kInt32:
    case kQInt32: return add_each<int32_t>(t, integer);
    case kInt16:
    case kQInt16: return add_each<int16_t>(t, integer);
    case kInt8:
    case kQInt8: return add_each<int8_t>(t, integer);
    case kUint16:
    case kQUint16: return add_each<uint16_t>(t, integer);
    case kUint8:
    case kQUint8: return add_each<uint8_t>(t, integer);
    case kBool: return add_each<bool>(t, [&](bool v) { proto.add_bool_val(v); });
    case kString: return add_each<std::string>(t, [&](const std::string& v) { proto.add_string_val(v); });
    case kComplex64:
      return add_each<std::complex<float>>(t, [&](std::complex<float> v) {
        proto.add_scomplex_val(v.real());
        proto.add_scomplex_val(v.imag());
      });
    case kComplex128:
      return add_each<std::complex<double>>(t, [&](std::complex<double> v) {
        proto.add_dcomplex_val(v.real());
        proto.add_dcomplex_val(v.imag());
      });
    default:
      failf(Code::kUnimplemented, "checkpoint: expected a dtype of the first version, got {}", dtype_name(t.dtype()));
  }
}

// A protobuf message must be below 2 GiB.
std::string bytes_of(const graphdef::SavedTensorSlices& message, const std::string& name) {
  std::string bytes;
  if (!message.SerializeToString(&bytes)) {
    failf(Code::kResourceExhausted, "checkpoint: expected less than 2 GiB for '{}', got more", name);
  }
  return bytes;
}

TensorPart all_of(const Shape& shape) {
  const auto rank = static_cast<size_t>(shape.rank());
  return {shape, std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, -1)};
}

}  // namespace

void write_first_version(const std::string& path, std::span<const CheckpointPart> parts) {
  graphdef::SavedTensorSlices list;
  list.mutable_meta()->mutable_versions()->set_producer(kVersion);
  std::map<std::string, std::string> entries;
  for (const auto& [name, value, part] : sorted_parts(parts)) {
    const TensorPart place = part ? *part : all_of(value.shape());
    auto& tensors = *list.mutable_meta()->mutable_tensor();
    if (tensors.empty() || tensors.rbegin()->name() != name) {
      graphdef::SavedSliceMeta& meta = *tensors.Add();
      meta.set_name(name);
      shape_to_proto(place.whole, meta.mutable_shape());
      meta.set_type(static_cast<graphdef::DataType>(value.dtype()));
    }
    *tensors.rbegin()->add_slice() = slice_proto(place);
    graphdef::SavedTensorSlices stored;
    stored.mutable_data()->set_name(name);
    *stored.mutable_data()->mutable_slice() = slice_proto(place);
    put_values(value, *stored.mutable_data()->mutable_data());
    if (!entries.emplace(TensorSlice(place).key(name), bytes_of(stored, name)).second) {
      invalid("checkpoint: expected each part of '{}' once, got one twice", name);
    }
  }
  TableWriter table;
  table.add("", bytes_of(list, "the list of tensors"));
  for (const auto& [key, bytes] : entries) table.add(key, bytes);
  write_file(path, table.finish());
}

}  // namespace panto
