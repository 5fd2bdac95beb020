#include <png.h>

#include <bit>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/media/codecs.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::images {
namespace {

// Deflate's best compression ratio: an image that claims more is damaged.
constexpr uint64_t kBestRatio = 1032;

// State that libpng's callbacks use.
struct State {
  char message[128] = "";
  std::string_view rest;           // to be read
  std::string* written = nullptr;  // where to write
};

State& state_of(png_structp png) { return *static_cast<State*>(png_get_error_ptr(png)); }

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  std::snprintf(state_of(png).message, sizeof(State::message), "%s", message);
  png_longjmp(png, 1);
}
void on_warning(png_structp /*png*/, png_const_charp /*message*/) {}

void on_read(png_structp png, png_bytep to, size_t count) {
  State& state = *static_cast<State*>(png_get_io_ptr(png));
  if (count > state.rest.size()) png_error(png, "the bytes end too early");
  std::memcpy(to, state.rest.data(), count);
  state.rest.remove_prefix(count);
}

void on_write(png_structp png, png_bytep bytes, size_t count) {
  bool room = true;
  try {
    static_cast<State*>(png_get_io_ptr(png))->written->append(reinterpret_cast<const char*>(bytes), count);
  } catch (...) {
    room = false;  // exceptions must not pass through libpng
  }
  if (!room) png_error(png, "out of memory");
}
void on_flush(png_structp /*png*/) {}

// Returns false if libpng reported an error. `step` must not hold objects with destructors.
template <class Step>
bool guarded(png_structp png, Step step) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;  // NOLINT(cert-err52-cpp): libpng's way
  step();
  return true;
}

[[noreturn]] void fail_png(const State& state, std::string_view expected) {
  const std::string_view message = state.message;
  const bool memory = message.find("memory") != std::string_view::npos;
  failf(memory ? Code::kResourceExhausted : Code::kDataLoss, "png: expected {}, got: {}", expected, message);
}

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : size_(bytes.size()) {
    state_.rest = bytes;
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state_, on_error, on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, &info_, nullptr);
      fail(Code::kResourceExhausted, "png: expected room for a decoder, got none");
    }
  }
  ~Decoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Decodes to 8 bits a channel, without a palette.
  Tensor decode(int64_t max_bytes) {
    begin();
    guard([this] {
      png_set_expand(png_);
      png_set_scale_16(png_);
      png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
    });
    return rows(max_bytes, kUint8);
  }

  Tensor decode(int64_t max_bytes, const PngForm& form) {
    begin();
    const int colours = png_get_color_type(png_, info_), bits = png_get_bit_depth(png_, info_);
    const bool transparent = png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
    const bool wide = form.type == kUint16;
    int64_t channels = form.channels;
    if (channels == 0) {
      channels = colours != PNG_COLOR_TYPE_PALETTE ? png_get_channels(png_, info_) : transparent ? 4 : 3;
    }
    guard([this, colours, bits, transparent, wide, channels] {
      const bool alpha = (colours & PNG_COLOR_MASK_ALPHA) != 0, grey = (colours & PNG_COLOR_MASK_COLOR) == 0;
      if (channels % 2 != 0) {
        if (alpha || transparent) png_set_strip_alpha(png_);
      } else if (transparent) {
        png_set_tRNS_to_alpha(png_);
      } else if (!alpha) {
        png_set_add_alpha(png_, (1U << bits) - 1, PNG_FILLER_AFTER);
      }
      if (bits > 8 && !wide) png_set_strip_16(png_);
      png_set_packing(png_);
      png_set_interlace_handling(png_);
      if (wide && std::endian::native == std::endian::little) png_set_swap(png_);
      if (colours == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
      if (grey && bits < 8) png_set_expand_gray_1_2_4_to_8(png_);
      // The remaining weight is that of blue (ITU-R BT.601).
      if (channels < 3 && !grey) png_set_rgb_to_gray(png_, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
      if (channels >= 3 && grey) png_set_gray_to_rgb(png_);
      png_read_update_info(png_, info_);
    });
    if (png_get_channels(png_, info_) != channels) {
      failf(Code::kDataLoss, "png: expected {} channels, got {}", channels, png_get_channels(png_, info_));
    }
    const Tensor image = rows(max_bytes, form.type);
    if (wide && bits <= 8) {
      // libpng wrote 8-bit samples to the first half of each row: widen them in place.
      const int64_t count = image.dim(1) * channels;
      for (int64_t r = 0; r < image.dim(0); ++r) {
        auto* to = mutable_data<uint16_t>(image) + r * count;
        const auto* from = reinterpret_cast<const unsigned char*>(to);
        for (int64_t i = count; i-- > 0;) to[i] = static_cast<uint16_t>(from[i] * 257);
      }
    }
    return image;
  }

 private:
  // Reads the header.
  void begin() {
    guard([this] {
      png_set_read_fn(png_, &state_, on_read);
      png_read_info(png_, info_);
    });
    const int64_t height = png_get_image_height(png_, info_);
    const int64_t width = png_get_image_width(png_, info_);
    const uint64_t raw = static_cast<uint64_t>(height) * (png_get_rowbytes(png_, info_) + 1);
    if (raw / kBestRatio > size_) {
      failf(Code::kDataLoss, "png: expected at least {} bytes for {} x {} pixels, got {}", raw / kBestRatio, width,
            height, size_);
    }
  }

  // Reads the pixels in the format that libpng was set to. If libpng returns 8-bit samples for a 16-bit image, only the
  // first half of each row is filled.
  Tensor rows(int64_t max_bytes, DType type) {
    const int64_t height = png_get_image_height(png_, info_), width = png_get_image_width(png_, info_);
    const Tensor image = allocate_image(Shape{height, width, png_get_channels(png_, info_)}, max_bytes, type);
    const auto row_bytes = static_cast<size_t>(image.dim(2) * width) * dtype_size(type);
    const size_t given = png_get_rowbytes(png_, info_);
    if (given != row_bytes && given != static_cast<size_t>(image.dim(2) * width)) {
      fail(Code::kInternal, "png: expected rows of whole bytes a channel");
    }
    std::vector<png_bytep> rows(static_cast<size_t>(height));
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i] = static_cast<unsigned char*>(image.impl()->data) + i * row_bytes;
    }
    png_bytepp first_row = rows.data();
    guard([this, first_row] {
      png_read_image(png_, first_row);
      png_read_end(png_, nullptr);
    });
    return image;
  }

  template <class Step>
  void guard(Step step) {
    if (!guarded(png_, step)) fail_png(state_, "a whole image");
  }

  size_t size_;
  State state_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

class Encoder {
 public:
  Encoder() {
    state_.written = &bytes_;
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &state_, on_error, on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_write_struct(&png_, &info_);
      fail(Code::kResourceExhausted, "png: expected room for an encoder, got none");
    }
  }
  ~Encoder() { png_destroy_write_struct(&png_, &info_); }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  std::string encode(const Pixels& pixels, int compression) {
    static constexpr int kColours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                       PNG_COLOR_TYPE_RGB_ALPHA};
    if (pixels.height > INT32_MAX || pixels.width > INT32_MAX) {
      invalid("png: expected sides below 2^31, got {} x {}", pixels.width, pixels.height);
    }
    const Pixels* p = &pixels;
    const bool whole = guarded(png_, [this, p, compression] {
      png_set_write_fn(png_, &state_, on_write, on_flush);
      png_set_compression_level(png_, compression);
      png_set_IHDR(png_, info_, static_cast<png_uint_32>(p->width), static_cast<png_uint_32>(p->height),
                   static_cast<int>(p->bits), kColours[p->channels - 1], PNG_INTERLACE_NONE,
                   PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
      png_write_info(png_, info_);
      if (p->bits > 8 && std::endian::native == std::endian::little) png_set_swap(png_);
      for (int64_t i = 0; i < p->height; ++i) png_write_row(png_, p->data + i * p->width * p->channels * (p->bits / 8));
      png_write_end(png_, nullptr);
    });
    if (!whole) fail_png(state_, "an image that can be written");
    return std::move(bytes_);
  }

 private:
  State state_;
  std::string bytes_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

Tensor decode_png(std::string_view bytes, int64_t max_bytes) { return Decoder(bytes).decode(max_bytes); }
Tensor decode_png(std::string_view bytes, int64_t max_bytes, const PngForm& form) {
  return Decoder(bytes).decode(max_bytes, form);
}
std::string encode_png(const Pixels& pixels, int compression) { return Encoder().encode(pixels, compression); }

}  // namespace panto::images
