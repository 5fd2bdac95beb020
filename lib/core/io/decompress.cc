#include "panto/lib/core/io/decompress.h"

#include <zlib.h>

#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/zlib_bits.h"

namespace panto {
namespace {

class Inflate {
 public:
  explicit Inflate(Compression compression) {
    if (inflateInit2(&stream, zlib_window_bits(compression)) != Z_OK) {
      fail(Code::kResourceExhausted, "zlib: expected room for a stream, got none");
    }
  }
  ~Inflate() { inflateEnd(&stream); }
  Inflate(const Inflate&) = delete;
  Inflate& operator=(const Inflate&) = delete;
  z_stream stream{};
};

constexpr uint64_t kMostAtOnce = uint64_t{1} << 30;  // zlib counts in 32 bits

}  // namespace

std::string decompress(std::string_view bytes, Compression compression, uint64_t limit) {
  if (compression == Compression::kNone || bytes.empty()) return std::string(bytes);
  Inflate inflater(compression);
  z_stream& z = inflater.stream;
  std::string out;
  // Grows with the output, not by a size that the input claims.
  std::string piece(std::clamp<size_t>(bytes.size() * 4, 256, size_t{1} << 18), '\0');
  size_t taken = 0;
  for (bool ended = false; !ended || taken < bytes.size();) {
    if (ended && inflateReset(&z) != Z_OK) fail(Code::kDataLoss, "compressed bytes: expected another member, got none");
    const size_t given = std::min<uint64_t>(bytes.size() - taken, kMostAtOnce);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + taken));
    z.avail_in = static_cast<uInt>(given);
    z.next_out = reinterpret_cast<Bytef*>(piece.data());
    z.avail_out = static_cast<uInt>(piece.size());
    const int result = inflate(&z, Z_NO_FLUSH);
    const size_t used = given - z.avail_in, made = piece.size() - z.avail_out;
    taken += used;
    if (made > limit - out.size()) {
      failf(Code::kResourceExhausted, "compressed bytes: expected at most {} of what they were, got more", limit);
    }
    out.append(piece, 0, made);
    ended = result == Z_STREAM_END;
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      failf(Code::kDataLoss, "compressed bytes: expected what zlib writes, got others at byte {}", taken);
    }
    if (!ended && used == 0 && made == 0) {
      failf(Code::kDataLoss, "compressed bytes: expected more than {}, got the end", bytes.size());
    }
    if (ended && compression == Compression::kZlib && taken < bytes.size()) {
      failf(Code::kDataLoss, "compressed bytes: expected {}, got {} more", taken, bytes.size() - taken);
    }
  }
  return out;
}

}  // namespace panto
