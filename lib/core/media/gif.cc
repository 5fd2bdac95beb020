// GIF, with giflib. giflib's DGifSlurp allocates memory for any size that a frame claims, so frames are read one by
// one: once for their sizes, then again for their pixels.
#include <gif_lib.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/media/codecs.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::images {
namespace {

[[noreturn]] void fail_gif(int error) {
  const char* const text = GifErrorString(error);
  const bool memory = error == D_GIF_ERR_NOT_ENOUGH_MEM || error == E_GIF_ERR_NOT_ENOUGH_MEM;
  failf(memory ? Code::kResourceExhausted : Code::kDataLoss, "gif: expected whole frames, got: {}",
        text == nullptr ? "damaged ones" : text);
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {
    int error = 0;
    gif_ = DGifOpen(this, on_read, &error);
    if (gif_ == nullptr) fail_gif(error);
  }
  ~Reader() { DGifCloseFile(gif_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Reads the next frame's description and its transparent colour (-1: none). Returns false at the end.
  bool next(int& transparent) {
    transparent = NO_TRANSPARENT_COLOR;
    for (;;) {
      GifRecordType type = UNDEFINED_RECORD_TYPE;
      check(DGifGetRecordType(gif_, &type));
      switch (type) {
        case TERMINATE_RECORD_TYPE: return false;
        case IMAGE_DESC_RECORD_TYPE: check(DGifGetImageDesc(gif_)); return true;
        case EXTENSION_RECORD_TYPE: {
          int code = 0;
          GifByteType* block = nullptr;
          check(DGifGetExtension(gif_, &code, &block));
          while (block != nullptr) {
            GraphicsControlBlock control;
            if (code == GRAPHICS_EXT_FUNC_CODE && DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK) {
              transparent = control.TransparentColor;
            }
            check(DGifGetExtensionNext(gif_, &block));
          }
          break;
        }
        default: fail_gif(D_GIF_ERR_WRONG_RECORD);
      }
    }
  }

  const GifImageDesc& frame() const { return gif_->Image; }
  const ColorMapObject* colours() const {
    return gif_->Image.ColorMap != nullptr ? gif_->Image.ColorMap : gif_->SColorMap;
  }

  // Skips the frame's pixels. Returns the number of bytes that they take.
  int64_t skip() {
    const size_t before = rest_.size();
    int size = 0;
    GifByteType* block = nullptr;
    check(DGifGetCode(gif_, &size, &block));
    while (block != nullptr) check(DGifGetCodeNext(gif_, &block));
    return static_cast<int64_t>(before - rest_.size());
  }

  void line(std::vector<GifPixelType>& to) { check(DGifGetLine(gif_, to.data(), static_cast<int>(to.size()))); }

 private:
  void check(int result) const {
    if (result != GIF_OK) fail_gif(gif_->Error);
  }
  static int on_read(GifFileType* gif, GifByteType* to, int count) {
    std::string_view& rest = static_cast<Reader*>(gif->UserData)->rest_;
    const size_t read = std::min(rest.size(), static_cast<size_t>(std::max(count, 0)));
    if (read > 0) std::memcpy(to, rest.data(), read);
    rest.remove_prefix(read);
    return static_cast<int>(read);
  }

  std::string_view rest_;
  GifFileType* gif_ = nullptr;
};

// Calls f(row) for the rows of a frame in storage order.
template <class F>
void for_each_row(int height, bool interlaced, const F& f) {
  constexpr int kFirst[] = {0, 4, 2, 1}, kStep[] = {8, 8, 4, 2};
  if (!interlaced) {
    for (int y = 0; y < height; ++y) f(y);
    return;
  }
  for (int pass = 0; pass < 4; ++pass) {
    for (int y = kFirst[pass]; y < height; y += kStep[pass]) f(y);
  }
}

}  // namespace

Tensor decode_gif(std::string_view bytes, int64_t max_bytes, bool all_frames) {
  int64_t frames = 0, height = 0, width = 0;
  int transparent = 0;
  for (Reader reader(bytes); reader.next(transparent); ++frames) {
    const int64_t h = reader.frame().Height, w = reader.frame().Width;
    // A code of at least three bits stands for fewer than 4,096 pixels: a frame that claims more is damaged.
    constexpr int64_t kBestRatio = 4096 * 8 / 3;
    const int64_t stored = reader.skip();
    if (h <= 0 || w <= 0) failf(Code::kDataLoss, "gif: expected frames with pixels, got {} x {}", w, h);
    if (h * w / kBestRatio > stored) {
      failf(Code::kDataLoss, "gif: expected at least {} bytes for {} x {} pixels, got {}", h * w / kBestRatio, w, h,
            stored);
    }
    height = std::max(height, h);
    width = std::max(width, w);
  }
  if (frames == 0) fail(Code::kDataLoss, "gif: expected frames, got none");
  const int64_t count = all_frames ? frames : 1;
  const Tensor image = allocate_image(all_frames ? Shape{count, height, width, 3} : Shape{height, width, 3}, max_bytes);
  auto* canvas = mutable_data<uint8_t>(image);
  const int64_t canvas_bytes = height * width * 3;
  Reader reader(bytes);
  for (int64_t k = 0; k < count && reader.next(transparent); ++k, canvas += canvas_bytes) {
    if (k == 0) {
      std::memset(canvas, 0, static_cast<size_t>(canvas_bytes));
    } else {
      std::memcpy(canvas, canvas - canvas_bytes, static_cast<size_t>(canvas_bytes));
    }
    const GifImageDesc& frame = reader.frame();
    const ColorMapObject* const colours = reader.colours();
    if (colours == nullptr) failf(Code::kDataLoss, "gif: expected colours for frame {}, got none", k);
    std::vector<GifPixelType> line(static_cast<size_t>(frame.Width));
    for_each_row(frame.Height, frame.Interlace, [&](int row) {
      reader.line(line);
      const int64_t y = int64_t{frame.Top} + row;
      if (y < 0 || y >= height) return;
      for (size_t i = 0; i < line.size(); ++i) {
        const int64_t x = frame.Left + static_cast<int64_t>(i);
        if (x < 0 || x >= width || line[i] == transparent) continue;
        if (line[i] >= colours->ColorCount) {
          failf(Code::kDataLoss, "gif: expected a colour below {}, got {}", colours->ColorCount, line[i]);
        }
        const GifColorType& colour = colours->Colors[line[i]];
        uint8_t* const to = canvas + (y * width + x) * 3;
        to[0] = colour.Red;
        to[1] = colour.Green;
        to[2] = colour.Blue;
      }
    });
  }
  return image;
}

// ---- Writing -------------------------------------------------------------------------------------------------------

namespace {

int on_write(GifFileType* gif, const GifByteType* bytes, int count) {
  try {
    static_cast<std::string*>(gif->UserData)->append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(count));
  } catch (...) {
    return 0;  // exceptions must not pass through giflib
  }
  return count;
}

}  // namespace

std::string encode_gif(const Pixels& pixels) {
  if (pixels.height > UINT16_MAX || pixels.width > UINT16_MAX) {
    invalid("gif: expected sides below 2^16, got {} x {}", pixels.width, pixels.height);
  }
  constexpr size_t kMostColours = 256;
  std::map<uint32_t, GifPixelType> numbers;
  std::vector<GifColorType> palette;
  std::vector<GifPixelType> lines(static_cast<size_t>(pixels.height * pixels.width));
  const unsigned char* p = pixels.data;
  for (GifPixelType& number : lines) {
    const unsigned char red = p[0], green = pixels.channels == 3 ? p[1] : p[0],
                        blue = pixels.channels == 3 ? p[2] : p[0];
    p += pixels.channels;
    const uint32_t key = uint32_t{red} << 16 | uint32_t{green} << 8 | blue;
    const auto [found, added] = numbers.emplace(key, static_cast<GifPixelType>(palette.size()));
    if (added) {
      if (palette.size() == kMostColours) invalid("gif: expected at most {} colours, got more", kMostColours);
      palette.push_back({red, green, blue});
    }
    number = found->second;
  }
  int bits = 1;
  while ((size_t{1} << bits) < palette.size()) ++bits;
  palette.resize(size_t{1} << bits);
  std::string bytes;
  int error = 0;
  GifFileType* const gif = EGifOpen(&bytes, on_write, &error);
  ColorMapObject* const colours = GifMakeMapObject(static_cast<int>(palette.size()), palette.data());
  bool whole = gif != nullptr && colours != nullptr;
  const auto width = static_cast<int>(pixels.width), height = static_cast<int>(pixels.height);
  whole = whole && EGifPutScreenDesc(gif, width, height, bits, 0, colours) == GIF_OK &&
          EGifPutImageDesc(gif, 0, 0, width, height, false, nullptr) == GIF_OK;
  for (int y = 0; whole && y < height; ++y) {
    whole = EGifPutLine(gif, lines.data() + static_cast<size_t>(y) * static_cast<size_t>(width), width) == GIF_OK;
  }
  if (gif != nullptr) {
    if (!whole) error = gif->Error;
    int closing = 0;
    if (EGifCloseFile(gif, &closing) != GIF_OK && whole) {
      whole = false;
      error = closing;
    }
  }
  GifFreeMapObject(colours);
  if (!whole) fail_gif(colours == nullptr ? E_GIF_ERR_NOT_ENOUGH_MEM : error);
  return bytes;
}

}  // namespace panto::images
