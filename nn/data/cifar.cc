#include "panto/nn/data/cifar.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/input_stream.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

constexpr int64_t kSide = 32, kPlane = kSide * kSide, kChannels = 3, kImage = kPlane * kChannels;

struct Form {
  int64_t labels;  // bytes of labels before an image
  int64_t at;      // index of the label's byte
  int classes;
};
constexpr Form form_of(CifarKind kind) {
  switch (kind) {
    case CifarKind::kCifar100: return {2, 1, 100};
    case CifarKind::kCifar100Coarse: return {2, 0, 20};
    default: return {1, 0, 10};
  }
}

void append_records(const std::string& path, const Form& form, std::vector<std::string>& records) {
  InputStream in(path, path.ends_with(".gz") ? Compression::kGzip : Compression::kNone);
  const int64_t size = form.labels + kImage;
  for (;;) {
    const uint64_t begin = in.position();
    std::string& record = records.emplace_back();
    in.read(static_cast<uint64_t>(size), record);
    if (record.empty()) return records.pop_back();
    if (static_cast<int64_t>(record.size()) < size) {
      failf(Code::kDataLoss, "{}: expected {} bytes for a record at byte {}, got {}", path, size, begin, record.size());
    }
    const int label = static_cast<unsigned char>(record[static_cast<size_t>(form.at)]);
    if (label >= form.classes) {
      failf(Code::kDataLoss, "{}: expected a label below {} at byte {}, got {}", path, form.classes,
            begin + static_cast<uint64_t>(form.at), label);
    }
  }
}

}  // namespace

LabelledImages read_cifar(const std::vector<std::string>& files, CifarKind kind) {
  const Form form = form_of(kind);
  std::vector<std::string> records;
  for (const std::string& path : files) append_records(path, form, records);
  const auto n = static_cast<int64_t>(records.size());
  LabelledImages all{allocate_tensor(cpu_device(), kFloat32, {n, kSide, kSide, kChannels}),
                     allocate_tensor(cpu_device(), kInt32, {n})};
  float* to = mutable_data<float>(all.images);
  auto* label = mutable_data<int32_t>(all.labels);
  for (const std::string& record : records) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(record.data());
    *label++ = bytes[form.at];
    bytes += form.labels;
    for (int64_t pixel = 0; pixel < kPlane; ++pixel) {
      for (int64_t c = 0; c < kChannels; ++c) *to++ = static_cast<float>(bytes[c * kPlane + pixel]) * (1.0F / 255.0F);
    }
  }
  return all;
}

LabelledImages read_cifar10(const std::string& folder, bool train) {
  if (!train) return read_cifar({folder + "/test_batch.bin"});
  std::vector<std::string> files;
  for (int k = 1; k <= 5; ++k) files.push_back(fmt::format("{}/data_batch_{}.bin", whole(folder), k));
  return read_cifar(files);
}

LabelledImages read_cifar100(const std::string& folder, bool train, bool coarse) {
  return read_cifar({folder + (train ? "/train.bin" : "/test.bin")},
                    coarse ? CifarKind::kCifar100Coarse : CifarKind::kCifar100);
}

}  // namespace panto
