#include "panto/lib/core/io/input_stream.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/zlib_bits.h"

namespace panto {
namespace {

constexpr size_t kPiece = size_t{1} << 18;

class Inflater {
 public:
  explicit Inflater(Compression compression) {
    if (inflateInit2(&stream_, zlib_window_bits(compression)) != Z_OK) {
      fail(Code::kResourceExhausted, "zlib: expected room for a stream, got none");
    }
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

}  // namespace

Compression compression_named(std::string_view name) {
  if (name.empty()) return Compression::kNone;
  if (name == "ZLIB") return Compression::kZlib;
  if (name == "GZIP") return Compression::kGzip;
  invalid("compression: expected \"\", \"ZLIB\" or \"GZIP\", got \"{}\"", name);
}

struct InputStream::Impl {
  Impl(const std::string& of, Compression compression) : path(of), file(of), ahead(kPiece) {
    if (compression == Compression::kNone) return;
    inflater.emplace(compression);
    packed.resize(kPiece);
  }

  // Reads raw bytes of the file; returns 0 at its end.
  size_t read_file(char* to, size_t most) {
    const size_t count = std::min<uint64_t>(most, file.size() - file_position);
    file.read(file_position, to, count);
    file_position += count;
    return count;
  }

  // Refills `ahead`, which was read completely; it stays empty at the end.
  void refill() {
    begin = end = 0;  // in case of an error, bytes are never returned twice
    if (!inflater) {
      end = read_file(ahead.data(), ahead.size());
      return;
    }
    z_stream& z = inflater->stream();
    z.next_out = reinterpret_cast<Bytef*>(ahead.data());
    z.avail_out = static_cast<uInt>(ahead.size());
    while (z.avail_out == ahead.size()) {
      if (z.avail_in == 0) {
        const size_t count = read_file(packed.data(), packed.size());
        z.next_in = reinterpret_cast<Bytef*>(packed.data());
        z.avail_in = static_cast<uInt>(count);
        if (count == 0 && in_member) {
          failf(Code::kDataLoss, "file '{}': expected the end of compressed data, got that of the file at byte {}",
                path, file_position);
        }
        if (count == 0) break;
      }
      in_member = true;
      const int result = inflate(&z, Z_NO_FLUSH);
      if (result == Z_STREAM_END) {  // another member may follow
        in_member = false;
        inflateReset(&z);
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        failf(Code::kDataLoss, "file '{}': expected compressed data, got \"{}\" before byte {}", path,
              z.msg == nullptr ? "an error" : z.msg, file_position);
      }
    }
    end = ahead.size() - z.avail_out;
  }

  // The available next bytes; empty at the end.
  std::string_view next() {
    if (begin == end) refill();
    return {ahead.data() + begin, end - begin};
  }
  void pass(size_t count) {
    begin += count;
    position += count;
  }
  void expect_at_most(uint64_t bytes) const {
    if (bytes <= kMaxFileBytes) return;
    failf(Code::kResourceExhausted, "file '{}': expected at most {} bytes at a time, got {}", path, kMaxFileBytes,
          bytes);
  }

  std::string path;
  RandomAccessFile file;
  uint64_t file_position = 0;
  std::vector<char> ahead, packed;
  size_t begin = 0, end = 0;  // the unread part of `ahead`
  uint64_t position = 0;
  std::optional<Inflater> inflater;
  bool in_member = false;
};

InputStream::InputStream(const std::string& path, Compression compression)
    : impl_(std::make_unique<Impl>(path, compression)) {}
InputStream::~InputStream() = default;

void InputStream::read(uint64_t count, std::string& to) {
  to.clear();
  while (to.size() < count) {
    const std::string_view next = impl_->next();
    if (next.empty()) return;
    const size_t some = std::min<uint64_t>(next.size(), count - to.size());
    impl_->expect_at_most(to.size() + some);
    to.append(next.substr(0, some));
    impl_->pass(some);
  }
}

uint64_t InputStream::skip(uint64_t count) {
  uint64_t done = 0;
  while (done < count) {
    if (impl_->begin == impl_->end && !impl_->inflater) {  // the rest is uncompressed and can be skipped in the file
      const uint64_t rest = std::min<uint64_t>(count - done, impl_->file.size() - impl_->file_position);
      impl_->file_position += rest;
      impl_->position += rest;
      return done + rest;
    }
    const size_t some = std::min<uint64_t>(impl_->next().size(), count - done);
    if (some == 0) break;
    impl_->pass(some);
    done += some;
  }
  return done;
}

bool InputStream::read_line(std::string& line) {
  line.clear();
  bool ended = false;
  while (!ended) {
    const std::string_view next = impl_->next();
    if (next.empty()) break;
    const size_t found = next.find('\n');
    ended = found != std::string_view::npos;
    const size_t some = ended ? found : next.size();
    impl_->expect_at_most(line.size() + some);
    line.append(next.substr(0, some));
    impl_->pass(some + (ended ? 1 : 0));
  }
  if (line.ends_with('\r')) line.pop_back();
  return ended || !line.empty();
}

uint64_t InputStream::position() const noexcept { return impl_->position; }
const std::string& InputStream::path() const noexcept { return impl_->path; }

}  // namespace panto
