#include "panto/nn/data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

struct CloseGzip {
  void operator()(gzFile_s* file) const { gzclose(file); }
};
using GzipFile = std::unique_ptr<gzFile_s, CloseGzip>;

// gzread also reads plain files, so both kinds are read alike.
class IdxReader {
 public:
  explicit IdxReader(const std::string& path) : path_(path), file_(gzopen(path.c_str(), "rb")) {
    if (file_ == nullptr)
      failf(Code::kNotFound, "{}: expected a file that can be read, got: {}", path, std::strerror(errno));
  }

  Tensor read() {
    unsigned char magic[4];
    read_exactly(magic, 4, "its magic number");
    if (magic[0] != 0 || magic[1] != 0) data_loss("an IDX file (two zero bytes first)");
    const DType dtype = type_of(magic[2]);
    std::vector<int64_t> dims(magic[3]);
    for (int64_t& d : dims) {
      unsigned char size[4];
      read_exactly(size, 4, "its sizes");
      d = (int64_t{size[0]} << 24) | (int64_t{size[1]} << 16) | (int64_t{size[2]} << 8) | int64_t{size[3]};
    }
    const Shape shape = with_context([&] { return path_; }, [&] { return Shape(dims); });
    const int64_t bytes = checked_mul(shape.numel(), static_cast<int64_t>(dtype_size(dtype)), "IDX data");
    if (bytes > kLargest) invalid("{}: expected at most {} bytes of data, got {}", path_, kLargest, bytes);
    // Grow while data arrives: a header of 16 bytes must not make us allocate gigabytes.
    std::vector<char> data;
    while (static_cast<int64_t>(data.size()) < bytes) {
      const size_t old = data.size();
      const auto step = static_cast<size_t>(std::min<int64_t>(bytes - static_cast<int64_t>(old), 1 << 24));
      data.resize(old + step);
      read_exactly(data.data() + old, step, "its elements");
    }
    expect_end();
    Tensor t = allocate_tensor(cpu_device(), dtype, shape);
    copy_big_endian(mutable_data<char>(t), data, dtype_size(dtype));
    return t;
  }

 private:
  static constexpr int64_t kLargest = int64_t{1} << 31;

  [[noreturn]] void data_loss(std::string_view expected) {
    failf(Code::kDataLoss, "{}: expected {}, got something else", path_, expected);
  }
  void read_exactly(void* to, size_t count, std::string_view what) {
    const int got = gzread(file_.get(), to, static_cast<unsigned>(count));
    if (got == static_cast<int>(count)) return;
    int code = 0;
    const char* reason = gzerror(file_.get(), &code);
    failf(Code::kDataLoss, "{}: expected {} bytes for {}, got {}{}{}", path_, count, what, std::max(got, 0),
          code < 0 ? ": " : "", code < 0 ? reason : "");
  }
  // Also detects a gzipped file whose checksum is wrong or missing: gzread itself only reports the end.
  void expect_end() {
    char extra;
    const int got = gzread(file_.get(), &extra, 1);
    int code = 0;
    const char* reason = gzerror(file_.get(), &code);
    if (code < 0) failf(Code::kDataLoss, "{}: expected a whole gzip file, got: {}", path_, reason);
    if (got != 0) data_loss("nothing after the elements");
  }
  DType type_of(unsigned char code) {
    switch (code) {
      case 0x08: return kUint8;
      case 0x09: return kInt8;
      case 0x0B: return kInt16;
      case 0x0C: return kInt32;
      case 0x0D: return kFloat32;
      case 0x0E: return kFloat64;
      default: failf(Code::kDataLoss, "{}: expected an IDX element type, got 0x{:02x}", path_, code);
    }
  }
  static void copy_big_endian(char* to, const std::vector<char>& from, size_t width) {
    if (width == 1 || std::endian::native == std::endian::big) {
      std::ranges::copy(from, to);
      return;
    }
    for (size_t i = 0; i < from.size(); i += width) {
      std::reverse_copy(from.begin() + static_cast<int64_t>(i), from.begin() + static_cast<int64_t>(i + width), to + i);
    }
  }

  std::string path_;
  GzipFile file_;
};

std::string find_idx(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  std::error_code unknown;  // opening the file reports the error
  return std::filesystem::exists(path + ".gz", unknown) ? path + ".gz" : path;
}

}  // namespace

Tensor read_idx(const std::string& path) { return IdxReader(path).read(); }

LabelledImages read_mnist(const std::string& folder, const std::string& prefix) {
  const Tensor images = read_idx(find_idx(folder, prefix + "-images-idx3-ubyte"));
  const Tensor labels = read_idx(find_idx(folder, prefix + "-labels-idx1-ubyte"));
  if (images.rank() != 3 || labels.rank() != 1 || images.dim(0) != labels.dim(0)) {
    failf(Code::kDataLoss, "{}/{}: expected as many images as labels, got shapes {} and {}", folder, prefix,
          images.shape().to_string(), labels.shape().to_string());
  }
  return {cast(images, kFloat32) * (1.0f / 255.0f), cast(labels, kInt32)};
}

}  // namespace panto
