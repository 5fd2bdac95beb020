// The first version of checkpoints, which TensorFlow 1 wrote by default before 0.12 and can still write: one table. The
// empty key has the names, dtypes and shapes of all tensors; each part of a tensor has a key of its own.
#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/checkpoints/slice.h"
#include "panto/lib/graph/checkpoints/stored.h"
#include "panto/lib/graph/checkpoints/table.h"
#include "panto/lib/graph/files/wire/tensor_proto.h"
#include "panto/lib/graph/proto/saved_tensor_slice.pb.h"

namespace panto {
namespace {

constexpr int kVersion = 1;
// A part of one repeated value takes few bytes in the file: limit for the memory that a tensor may take beyond its
// bytes.
constexpr int64_t kMaxExpandedBytes = int64_t{1} << 28;

class FirstVersion final : public StoredTensors {
 public:
  explicit FirstVersion(const std::string& path) : path_(path), table_(path) {
    with_context([&] { return fmt::format("in file '{}'", printable(path_)); }, [&] { read_meta(); });
  }

  Tensor read(size_t i) const override {
    return with_context([&] { return fmt::format("in file '{}'", printable(path_)); },
                        [&] { return assembled(variables_[i], slices_[i]); });
  }

 private:
  void read_meta() {
    const auto value = table_.find("");
    if (!value) fail(Code::kDataLoss, "checkpoint: expected a list of its tensors, got none");
    graphdef::SavedTensorSlices meta;
    parse_message(*value, "a list of tensors", meta);
    expect_version(meta.meta().versions(), kVersion);
    std::vector<const graphdef::SavedSliceMeta*> sorted;
    for (const auto& tensor : meta.meta().tensor()) sorted.push_back(&tensor);
    std::ranges::sort(sorted, {}, [](const auto* tensor) -> const std::string& { return tensor->name(); });
    for (const auto* tensor : sorted) {
      with_context([&] { return fmt::format("in tensor '{}'", printable(tensor->name())); }, [&] { add(*tensor); });
    }
  }

  void add(const graphdef::SavedSliceMeta& tensor) {
    CheckpointVariable variable = described(tensor.name(), tensor.type(), tensor.shape());
    if (!variables_.empty() && variables_.back().name == variable.name) {
      fail(Code::kDataLoss, "checkpoint: expected each name once, got one twice");
    }
    std::vector<TensorSlice> slices;
    for (const auto& slice : tensor.slice()) slices.emplace_back(slice, variable.shape);
    const bool whole = slices.size() == 1 && slices[0].shape() == variable.shape;
    variable.slices = whole ? 0 : tensor.slice_size();
    variables_.push_back(std::move(variable));
    slices_.push_back(std::move(slices));
  }

  Tensor assembled(const CheckpointVariable& variable, const std::vector<TensorSlice>& slices) const {
    expect_all_elements(variable.shape, slices);  // a part that is listed repeatedly would be parsed repeatedly
    // The parts first: they show whether the data for the complete tensor exists.
    ExpansionBudget budget(kMaxExpandedBytes);
    std::vector<Tensor> parts;
    for (const TensorSlice& slice : slices) {
      const auto value = table_.find(slice.key(variable.name));
      if (!value) {
        failf(Code::kDataLoss, "checkpoint: expected the part {} of '{}', got none", slice.shape().to_string(),
              variable.name);
      }
      graphdef::SavedTensorSlices stored;
      parse_message(*value, "a part of a tensor", stored);
      graphdef::TensorProto& data = *stored.mutable_data()->mutable_data();
      data.set_dtype(static_cast<graphdef::DataType>(variable.dtype));
      shape_to_proto(slice.shape(), data.mutable_tensor_shape());
      parts.push_back(tensor_from_proto(data, budget));
    }
    if (slices.size() == 1 && slices[0].shape() == variable.shape) return parts[0];
    AssembledTensor whole(variable.dtype, variable.shape);
    for (size_t i = 0; i < slices.size(); ++i) whole.set(slices[i], parts[i]);
    return whole.take();
  }

  std::string path_;
  Table table_;
  std::vector<std::vector<TensorSlice>> slices_;  // parallel to variables_
};

}  // namespace

std::unique_ptr<StoredTensors> open_first_version(const std::string& path) {
  return std::make_unique<FirstVersion>(path);
}

}  // namespace panto
