#include "panto/lib/core/io/npy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/npy_format.h"

namespace panto {
namespace {

class MemorySource final : public npy::Source {
 public:
  explicit MemorySource(std::string_view bytes) : rest_(bytes) {}
  void read(void* to, size_t count) override {
    if (count > rest_.size()) failf(Code::kDataLoss, "npy: expected {} more bytes, got {}", count, rest_.size());
    std::memcpy(to, rest_.data(), count);
    rest_.remove_prefix(count);
  }
  uint64_t remaining() const override { return rest_.size(); }

 private:
  std::string_view rest_;
};

// Reads directly into the tensor, so that a large file is not in memory twice.
class FileSource final : public npy::Source {
 public:
  FileSource(int file, uint64_t bytes, const std::string& path) : file_(file), remaining_(bytes), path_(path) {}
  ~FileSource() override { close(file_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  void read(void* to, size_t count) override {
    auto* out = static_cast<char*>(to);
    while (count > 0) {
      const ssize_t got = ::read(file_, out, std::min(count, size_t{1} << 30));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_file(errno, "read", path_);
      if (got == 0) failf(Code::kDataLoss, "npy: expected {} more bytes, got the end of the file", count);
      out += got;
      count -= static_cast<size_t>(got);
      remaining_ -= static_cast<uint64_t>(got);
    }
  }
  uint64_t remaining() const override { return remaining_; }

 private:
  int file_;
  uint64_t remaining_;
  const std::string& path_;
};

}  // namespace

Tensor parse_npy(std::string_view bytes) {
  MemorySource source(bytes);
  return npy::read(source);
}

Tensor read_npy(const std::string& path) {
  const auto in_file = [&path] { return fmt::format("in file '{}'", path); };
  struct stat info{};
  if (stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) fail_file(errno, "open", path);
    FileSource source(file, static_cast<uint64_t>(info.st_size), path);
    return with_context(in_file, [&] { return npy::read(source); });
  }
  // A pipe does not tell its size: read it to its end first.
  const std::string bytes = read_file(path);
  return with_context(in_file, [&] { return parse_npy(bytes); });
}

void write_npy(const std::string& path, const Tensor& t) {
  const npy::Image image(t);
  NewFile file(path);
  file.append(image.header());
  file.append(image.elements());
  file.commit();
}

std::string npy_bytes(const Tensor& t) {
  const npy::Image image(t);
  return std::string(image.header()).append(image.elements());
}

}  // namespace panto
