// Samples of sparse tensors as strings. The bytes are spelled out here, field by field, as protobuf's are.
#include <cstring>
#include <string>
#include <vector>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::serialized_rows {
namespace {

template <class T>
std::string raw(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// A field of bytes: its number and kind, their number, and they. All are short.
std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string tensor_bytes(int dtype, const std::vector<int>& dims, const std::string& content) {
  std::string shape;
  for (const int dim : dims) {
    shape += field(2, dim == 0 ? std::string() : std::string{'\x08', static_cast<char>(dim)});
  }
  return std::string{'\x08', static_cast<char>(dtype)} + field(2, shape) +
         (content.empty() ? std::string() : field(4, content));
}
std::string int64_bytes(const std::vector<int>& dims, const std::vector<int64_t>& values) {
  return tensor_bytes(9, dims, raw(values));
}

const Array kIndices = array({3, 2}, {0, 0, 0, 2, 1, 1}), kShape = list({2, 3}), kNone = array({0, 2}, {});
const std::string kIndexBytes = int64_bytes({3, 2}, {0, 0, 0, 2, 1, 1}), kShapeBytes = int64_bytes({2}, {2, 3});
const std::string kFloatBytes = tensor_bytes(1, {3}, raw<float>({1.5, -2, 3}));
const std::string kTextBytes = tensor_bytes(7, {3},
                                            std::string("\x01\x02\x00"
                                                        "abc",
                                                        6));

Array strings(const std::vector<std::string>& all, std::vector<int64_t> dims = {3}) {
  return texts(std::move(dims), all);
}
const std::vector<std::string> kOne = {kIndexBytes, kFloatBytes, kShapeBytes};
const std::vector<std::string> kOther = {int64_bytes({1, 2}, {4, 1}), tensor_bytes(1, {1}, raw<float>({7})),
                                         int64_bytes({2}, {5, 2})};
Array both(std::vector<int64_t> dims) {
  std::vector<std::string> all = kOne;
  all.insert(all.end(), kOther.begin(), kOther.end());
  return strings(all, std::move(dims));
}
Array without(size_t i, const std::string& other) {
  std::vector<std::string> all = kOne;
  all[i] = other;
  return strings(all);
}

const std::vector<ErrorSample> kSerializeErrors = {
    {.in = {kIndices, draw({2}), kShape}, .text = "number of indices and values"},
    {.in = {kIndices, draw({3}), list({2, 3, 4})}, .text = "rank of indices and shape"}};
const std::vector<ErrorSample> kManyErrors = {
    {.in = {array({2, 2}, {0, 1, 0, 0}), draw({2}), kShape},
     .text = "sparse_indices[1]: expected one after the one before, got one that is out of order"},
    {.in = {array({2, 2}, {0, 1, 0, 1}), draw({2}), kShape},
     .text = "sparse_indices[1]: expected one after the one before, got one that is repeated"},
    {.in = {array({1, 2}, {2, 0}), draw({1}), kShape}, .text = "sparse_indices[0,0]: expected one in [0, 2), got 2"},
    {.in = {array({1, 2}, {0, -1}), draw({1}), kShape}, .text = "sparse_indices[0,1]: expected one in [0, 3), got -1"},
    {.in = {array({1, 1}, {0}), draw({1}), list({3})}, .text = "sparse_shape: expected at least 2 dimensions, got 1"},
    {.in = {kIndices, draw({3}), list({-2, 3})}, .text = "sparse_shape[0]: expected at least 0, got -2"}};
const std::vector<ErrorSample> kDeserializeErrors = {
    {.in = {strings({kIndexBytes, kFloatBytes}, {2})},
     .text = "last dimension of serialized_sparse: expected 3, got 2"},
    {.in = {texts({}, {kIndexBytes})}},
    {.in = {texts({0, 3}, {})}, .text = "serialized_sparse: expected at least one tensor"},
    {.in = {without(1, "\xff\xff")}, .text = "serialized tensor: expected a TensorProto"},
    {.in = {without(1, "")}},
    {.in = {without(1, kTextBytes)},
     .text = "serialized_sparse[0]: expected values of float32 and 1 dimensions, got string[3]"},
    {.in = {without(1, tensor_bytes(1, {2}, raw<float>({1, 2})))},
     .text = "serialized_sparse[0]: expected indices of shape [2,2], as values and shape say, got [3,2]"},
    {.in = {without(2, int64_bytes({1}, {6}))},
     .text = "serialized_sparse[0]: expected indices of shape [3,1], as values and shape say, got [3,2]"},
    {.in = {without(0, int64_bytes({3}, {0, 1, 2}))},
     .text = "serialized_sparse[0]: expected indices of int64 and 2 dimensions, got int64[3]"},
    {.in = {without(2, int64_bytes({2}, {2, -3}))},
     .text = "serialized_sparse[0]: expected dimensions of at least 0, got -3"},
    {.in = {without(0, int64_bytes({3, 2}, {0, 0, 0}))}, .text = "tensor_content"},
    {.in = {strings({kIndexBytes, kFloatBytes, kShapeBytes, int64_bytes({1, 1}, {4}),
                     tensor_bytes(1, {1}, raw<float>({7})), int64_bytes({1}, {5})},
                    {2, 3})},
     .text = "serialized_sparse[1]: expected 2 dimensions, as the first has, got 1"}};

const Array kFloatValues = list({1.5, -2, 3});
const std::vector<Sample> kRead = {
    {.in = {strings(kOne)}, .out = {kIndices, kFloatValues, kShape}},
    {.in = {strings(kOne, {1, 3})}, .out = {array({3, 3}, {0, 0, 0, 0, 0, 2, 0, 1, 1}), kFloatValues, list({1, 2, 3})}},
    {.in = {both({2, 3})},
     .out = {array({4, 3}, {0, 0, 0, 0, 0, 2, 0, 1, 1, 1, 4, 1}), list({1.5, -2, 3, 7}), list({2, 5, 3})}},
    {.in = {both({2, 1, 3})},
     .out = {array({4, 4}, {0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 1, 1, 1, 0, 4, 1}), list({1.5, -2, 3, 7}),
             list({2, 1, 5, 3})}},
    {.in = {strings({int64_bytes({0, 2}, {}), tensor_bytes(1, {0}, ""), kShapeBytes})},
     .out = {kNone, list({}), kShape}}};

const Family serialized(
    "sparse",
    {
        {"SerializeSparse",
         {.samples = {{.in = {kIndices, kFloatValues, kShape}, .out = {strings(kOne)}},
                      {.in = {kNone, list({}), kShape},
                       .out = {strings({int64_bytes({0, 2}, {}), tensor_bytes(1, {0}, ""), kShapeBytes})}}},
          .errors = kSerializeErrors,
          .types = {kFloat32}}},
        {"SerializeSparse",
         {.samples = {{.in = {kIndices, texts({3}, {"a", "bc", ""}), kShape},
                       .out = {strings({kIndexBytes, kTextBytes, kShapeBytes})}}},
          .label = "strings",
          .types = {kString}}},
        {"SerializeManySparse",
         {.samples = {{.in = {kIndices, kFloatValues, kShape},
                       .out = {strings({int64_bytes({2, 1}, {0, 2}), tensor_bytes(1, {2}, raw<float>({1.5, -2})),
                                        int64_bytes({1}, {3}), int64_bytes({1, 1}, {1}),
                                        tensor_bytes(1, {1}, raw<float>({3})), int64_bytes({1}, {3})},
                                       {2, 3})}},
                      {.in = {kNone, list({}), list({1, 3})},
                       .out = {strings({int64_bytes({0, 1}, {}), tensor_bytes(1, {0}, ""), int64_bytes({1}, {3})},
                                       {1, 3})}}},
          .errors = kManyErrors,
          .types = {kFloat32}}},
        {"DeserializeSparse",
         {.samples = kRead, .errors = kDeserializeErrors, .types = {kFloat32}, .data_dependent_shape = true}},
        {"DeserializeSparse",
         {.samples = {{.in = {without(1, kTextBytes)}, .out = {kIndices, texts({3}, {"a", "bc", ""}), kShape}}},
          .label = "strings",
          .types = {kString},
          .data_dependent_shape = true}},
        {"DeserializeManySparse",
         {.samples = {kRead[1], kRead[2]},
          .errors = {{.in = {strings(kOne)}, .text = "input: expected shape [?,3], got [3]"},
                     {.in = {both({2, 1, 3})}}},
          .types = {kFloat32},
          .data_dependent_shape = true}},
    });

}  // namespace
}  // namespace panto::test::serialized_rows
