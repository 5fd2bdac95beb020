// .npz files: zip archives of .npy files.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <set>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/npy.h"
#include "panto/lib/core/io/npy_format.h"

namespace panto {
namespace {

// Deflate's best compression ratio: an entry that claims more is damaged.
constexpr uint64_t kBestRatio = 1032;
constexpr int64_t kMaxEntries = 1 << 16;
constexpr std::string_view kSuffix = ".npy";

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, CloseArchive>;

[[noreturn]] void fail_zip(zip_error_t* error, std::string_view what) {
  const int system = zip_error_code_system(error);
  const int code = zip_error_code_zip(error);
  const bool of_system = zip_error_system_type(error) == ZIP_ET_SYS && system != 0;
  const Code panto_code = code == ZIP_ER_MEMORY  ? Code::kResourceExhausted
                          : of_system            ? code_of_errno(system)
                          : code == ZIP_ER_NOZIP ? Code::kInvalidArgument
                          : code == ZIP_ER_COMPNOTSUPP || code == ZIP_ER_ENCRNOTSUPP || code == ZIP_ER_NOPASSWD
                              ? Code::kUnimplemented
                              : Code::kDataLoss;
  failf(panto_code, "npz: expected {}, got: {}", what, zip_error_strerror(error));
}

// The elements of an entry, decompressed and checked while they are read.
class EntrySource final : public npy::Source {
 public:
  EntrySource(zip_t* archive, zip_uint64_t index, uint64_t bytes)
      : file_(zip_fopen_index(archive, index, 0)), remaining_(bytes) {
    if (file_ == nullptr) fail_zip(zip_get_error(archive), "an entry that can be read");
  }
  ~EntrySource() override { zip_fclose(file_); }
  EntrySource(const EntrySource&) = delete;
  EntrySource& operator=(const EntrySource&) = delete;

  void read(void* to, size_t count) override {
    auto* out = static_cast<char*>(to);
    while (count > 0) {
      const zip_int64_t got = zip_fread(file_, out, count);
      if (got < 0) fail_zip(zip_file_get_error(file_), "an undamaged entry");
      if (got == 0) failf(Code::kDataLoss, "npz: expected {} more bytes, got the end of the entry", count);
      out += got;
      count -= static_cast<size_t>(got);
      remaining_ -= static_cast<uint64_t>(got);
    }
  }
  uint64_t remaining() const override { return remaining_; }
  // libzip verifies the checksum when the end is reached.
  void finish() {
    char extra;
    const zip_int64_t got = zip_fread(file_, &extra, 1);
    if (got < 0) fail_zip(zip_file_get_error(file_), "an undamaged entry");
    if (got > 0) fail(Code::kDataLoss, "npz: expected the end of the entry, got more bytes");
  }

 private:
  zip_file_t* file_;
  uint64_t remaining_;
};

Tensor read_entry(zip_t* archive, zip_uint64_t index, uint64_t archive_bytes) {
  zip_stat_t info;
  if (zip_stat_index(archive, index, 0, &info) != 0) fail_zip(zip_get_error(archive), "an entry with sizes");
  if ((info.valid & ZIP_STAT_SIZE) == 0 || (info.valid & ZIP_STAT_COMP_SIZE) == 0) {
    fail(Code::kDataLoss, "npz: expected an entry with sizes, got one without");
  }
  if (info.comp_size > archive_bytes || info.size / kBestRatio > info.comp_size) {
    failf(Code::kDataLoss, "npz: expected an entry that fits its archive of {} bytes, got one of {} from {} bytes",
          archive_bytes, info.size, info.comp_size);
  }
  EntrySource source(archive, index, info.size);
  Tensor t = npy::read(source);
  source.finish();
  return t;
}

std::vector<NamedTensor> read_archive(int file, uint64_t archive_bytes) {
  int code = 0;
  Archive archive(zip_fdopen(file, 0, &code));
  if (archive == nullptr) {
    close(file);
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    fail_zip(&error, "a zip archive");
  }
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  if (count > kMaxEntries) invalid("npz: expected at most {} arrays, got {}", kMaxEntries, count);
  std::vector<NamedTensor> arrays;
  std::set<std::string, std::less<>> names;
  for (zip_int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    const char* name = zip_get_name(archive.get(), index, ZIP_FL_ENC_RAW);
    if (name == nullptr) fail_zip(zip_get_error(archive.get()), "a name of each entry");
    const std::string_view full = name;
    if (!full.ends_with(kSuffix)) invalid("npz: expected entries called *.npy, got '{}'", full);
    const std::string_view key = full.substr(0, full.size() - kSuffix.size());
    if (!names.emplace(key).second) failf(Code::kDataLoss, "npz: expected each name once, got '{}' twice", key);
    arrays.emplace_back(key, with_context([&] { return fmt::format("in array '{}'", key); },
                                          [&] { return read_entry(archive.get(), index, archive_bytes); }));
  }
  return arrays;
}

// ---- Writing -------------------------------------------------------------------------------------------------------

// Passes the two parts of an image to libzip one after the other, without a copy.
class ImageSource {
 public:
  explicit ImageSource(const npy::Image& image) : image_(image) {}

  static zip_int64_t call(void* self, void* data, zip_uint64_t length, zip_source_cmd_t command) {
    return static_cast<ImageSource*>(self)->run(data, length, command);
  }

 private:
  zip_int64_t run(void* data, zip_uint64_t length, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_OPEN: at_ = 0; return 0;
      case ZIP_SOURCE_READ: return read(static_cast<char*>(data), length);
      case ZIP_SOURCE_CLOSE: return 0;
      case ZIP_SOURCE_STAT: {
        auto* info = static_cast<zip_stat_t*>(data);
        zip_stat_init(info);
        info->size = image_.bytes();
        info->valid = ZIP_STAT_SIZE;
        return sizeof(*info);
      }
      case ZIP_SOURCE_ERROR: {
        const int none[2] = {0, 0};
        std::memcpy(data, none, sizeof(none));
        return sizeof(none);
      }
      case ZIP_SOURCE_FREE: return 0;
      default: return -1;
    }
  }
  zip_int64_t read(char* to, zip_uint64_t length) {
    size_t done = 0;
    const size_t head = image_.header().size();
    while (done < length && at_ < image_.bytes()) {
      const std::string_view part = at_ < head ? image_.header().substr(at_) : image_.elements().substr(at_ - head);
      const size_t n = std::min<size_t>(part.size(), length - done);
      std::memcpy(to + done, part.data(), n);
      done += n;
      at_ += n;
    }
    return static_cast<zip_int64_t>(done);
  }

  const npy::Image& image_;
  size_t at_ = 0;
};

void add_entry(zip_t* archive, const std::string& name, ImageSource& source) {
  zip_source_t* made = zip_source_function(archive, &ImageSource::call, &source);
  if (made == nullptr) fail_zip(zip_get_error(archive), "an entry that can be added");
  const zip_int64_t index = zip_file_add(archive, name.c_str(), made, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(made);
    invalid("npz: expected an array name that is UTF-8, got '{}'", name);
  }
  const auto entry = static_cast<zip_uint64_t>(index);
  // As NumPy does: not compressed and without a time stamp, so that equal arrays give equal files.
  constexpr zip_uint16_t kJanuary1980 = 0x21;
  if (zip_set_file_compression(archive, entry, ZIP_CM_STORE, 0) != 0 ||
      zip_file_set_dostime(archive, entry, 0, kJanuary1980, 0) != 0) {
    fail_zip(zip_get_error(archive), "an entry that can be added");
  }
}

}  // namespace

std::vector<NamedTensor> read_npz(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail_file(errno, "open", path);
  struct stat info{};
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(file);
    if (S_ISDIR(info.st_mode)) fail_file(EISDIR, "read", path);
    invalid("npz: expected a file, got a pipe or device '{}'", path);
  }
  return with_context([&] { return fmt::format("in file '{}'", path); },
                      [&] { return read_archive(file, static_cast<uint64_t>(info.st_size)); });
}

void write_npz(const std::string& path, std::span<const NamedTensor> arrays) {
  std::set<std::string_view> names;
  std::deque<npy::Image> images;
  for (const auto& [name, value] : arrays) {
    if (!names.insert(name).second) invalid("npz: expected each name once, got '{}' twice", name);
    if (name.find('\0') != std::string::npos) invalid("npz: expected a name without zero bytes, got '{}'", name);
    images.emplace_back(value);
  }
  std::vector<ImageSource> sources(images.begin(), images.end());
  NewFile target(path);
  const FileSizeErrors no_signal;  // libzip writes too
  if (target.temporary_path().empty()) {
    failf(Code::kUnimplemented, "npz: expected a file that can be replaced, got a pipe or device '{}'", path);
  }
  int code = 0;
  Archive archive(zip_open(target.temporary_path().c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  if (archive == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    fail_zip(&error, "a file that can be written");
  }
  if (arrays.empty()) {
    // libzip removes an archive without entries; NumPy writes one.
    archive.reset();
    static constexpr char kEmpty[22] = {'P', 'K', 5, 6};
    target.append({kEmpty, sizeof(kEmpty)});
    target.commit();
    return;
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    add_entry(archive.get(), arrays[i].first + std::string(kSuffix), sources[i]);
  }
  if (zip_close(archive.get()) != 0) {
    with_context([&] { return fmt::format("in file '{}'", path); },
                 [&] { fail_zip(zip_get_error(archive.get()), "a file that can be written"); });
  }
  static_cast<void>(archive.release());  // NOLINT(bugprone-unused-return-value): zip_close freed it
  target.commit();
}

void write_npz(const std::string& path, std::initializer_list<NamedTensor> arrays) {
  write_npz(path, std::span<const NamedTensor>(arrays.begin(), arrays.size()));
}

}  // namespace panto
