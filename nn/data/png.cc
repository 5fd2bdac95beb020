#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/nn/data/codecs.h"

namespace panto::images {
namespace {

// Deflate cannot do better; an image that says more lies.
constexpr uint64_t kBestRatio = 1032;

// What libpng's callbacks see.
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
    room = false;  // no exception may pass libpng
  }
  if (!room) png_error(png, "out of memory");
}
void on_flush(png_structp /*png*/) {}

// False where libpng reported an error; what `step` holds has no destructors.
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

  Tensor decode(int64_t max_bytes) {
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
    // Everything to 8 bits a channel, without a palette.
    guard([this] {
      png_set_expand(png_);
      png_set_scale_16(png_);
      png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
    });
    const Tensor image = allocate_image(height, width, png_get_channels(png_, info_), max_bytes);
    const auto row_bytes = static_cast<size_t>(image.dim(2) * width);
    if (png_get_rowbytes(png_, info_) != row_bytes) fail(Code::kInternal, "png: expected rows of 8 bits a channel");
    std::vector<png_bytep> rows(static_cast<size_t>(height));
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = mutable_data<unsigned char>(image) + i * row_bytes;
    png_bytepp first_row = rows.data();
    guard([this, first_row] {
      png_read_image(png_, first_row);
      png_read_end(png_, nullptr);
    });
    return image;
  }

 private:
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

  std::string encode(const Pixels& pixels) {
    static constexpr int kColours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                       PNG_COLOR_TYPE_RGB_ALPHA};
    if (pixels.height > INT32_MAX || pixels.width > INT32_MAX) {
      invalid("png: expected sides below 2^31, got {} x {}", pixels.width, pixels.height);
    }
    const Pixels* p = &pixels;
    const bool whole = guarded(png_, [this, p] {
      png_set_write_fn(png_, &state_, on_write, on_flush);
      png_set_IHDR(png_, info_, static_cast<png_uint_32>(p->width), static_cast<png_uint_32>(p->height), 8,
                   kColours[p->channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                   PNG_FILTER_TYPE_DEFAULT);
      png_write_info(png_, info_);
      for (int64_t i = 0; i < p->height; ++i) png_write_row(png_, p->data + i * p->width * p->channels);
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
std::string encode_png(const Pixels& pixels) { return Encoder().encode(pixels); }

}  // namespace panto::images
