#include <csetjmp>
#include <cstdio>

// They take names of <cstdio> for granted.
#include <jpeglib.h>

#include <jerror.h>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/nn/data/codecs.h"

namespace panto::images {
namespace {

// A progressive image is decoded once for each scan, and a few bytes make one.
constexpr int kMaxScans = 500;

// What libjpeg knows of errors; its own part must come first.
struct ErrorManager {
  jpeg_error_mgr base = {};
  std::jmp_buf jump = {};
  char message[JMSG_LENGTH_MAX] = "";
  int code = 0;
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto* errors = reinterpret_cast<ErrorManager*>(info->err);
  errors->code = info->err->msg_code;
  (*info->err->format_message)(info, errors->message);
  std::longjmp(errors->jump, 1);  // NOLINT(cert-err52-cpp): libjpeg's way
}

// Negative levels are faults of the data, which libjpeg would fill with grey. Some say nothing of the pixels.
void on_message(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_JFIF_MAJOR && code != JWRN_ADOBE_XFORM) on_error(info);
}
void on_output(j_common_ptr /*info*/) {}

void on_progress(j_common_ptr info) {
  auto* decoder = reinterpret_cast<j_decompress_ptr>(info);
  if (decoder->input_scan_number <= kMaxScans) return;
  auto* errors = reinterpret_cast<ErrorManager*>(info->err);
  std::snprintf(errors->message, sizeof(errors->message), "more than %d scans", kMaxScans);
  std::longjmp(errors->jump, 1);  // NOLINT(cert-err52-cpp)
}

void prepare(ErrorManager& errors) {
  jpeg_std_error(&errors.base);
  errors.base.error_exit = on_error;
  errors.base.emit_message = on_message;
  errors.base.output_message = on_output;
}

// False where libjpeg reported an error; what `step` holds has no destructors.
template <class Step>
bool guarded(ErrorManager& errors, Step step) {
  if (setjmp(errors.jump) != 0) return false;  // NOLINT(cert-err52-cpp)
  step();
  return true;
}

[[noreturn]] void fail_jpeg(const ErrorManager& errors, std::string_view expected) {
  const bool memory = errors.code == JERR_OUT_OF_MEMORY;
  failf(memory ? Code::kResourceExhausted : Code::kDataLoss, "jpeg: expected {}, got: {}", expected,
        std::string_view(errors.message));
}

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {
    prepare(errors_);
    info_.err = &errors_.base;
    progress_.progress_monitor = on_progress;
  }
  ~Decoder() { jpeg_destroy_decompress(&info_); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  Tensor decode(int64_t max_bytes) {
    guard([this] {
      jpeg_create_decompress(&info_);
      info_.progress = &progress_;
      jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
      jpeg_read_header(&info_, TRUE);
    });
    switch (info_.jpeg_color_space) {
      case JCS_GRAYSCALE: info_.out_color_space = JCS_GRAYSCALE; break;
      case JCS_YCbCr:
      case JCS_RGB: info_.out_color_space = JCS_RGB; break;
      default:
        failf(Code::kUnimplemented, "jpeg: expected grey, YCbCr or RGB, got {} channels of other colours",
              info_.num_components);
    }
    const int64_t channels = info_.out_color_space == JCS_RGB ? 3 : 1;
    const Tensor image = allocate_image(info_.image_height, info_.image_width, channels, max_bytes);
    auto* data = mutable_data<unsigned char>(image);
    const auto row_bytes = static_cast<size_t>(channels * image.dim(1));
    guard([this, data, row_bytes] {
      jpeg_start_decompress(&info_);
      while (info_.output_scanline < info_.output_height) {
        JSAMPROW row = data + info_.output_scanline * row_bytes;
        jpeg_read_scanlines(&info_, &row, 1);
      }
      jpeg_finish_decompress(&info_);
    });
    return image;
  }

 private:
  template <class Step>
  void guard(Step step) {
    if (!guarded(errors_, step)) fail_jpeg(errors_, "a whole image");
  }

  std::string_view bytes_;
  ErrorManager errors_;
  jpeg_progress_mgr progress_ = {};
  jpeg_decompress_struct info_ = {};
};

// Where libjpeg writes to; its own part must come first.
struct Destination {
  jpeg_destination_mgr base = {};
  std::string* written = nullptr;
  unsigned char buffer[1 << 14] = {};
};

void on_begin(j_compress_ptr info) {
  auto* to = reinterpret_cast<Destination*>(info->dest);
  to->base.next_output_byte = to->buffer;
  to->base.free_in_buffer = sizeof(to->buffer);
}

void flush(j_compress_ptr info, size_t count) {
  auto* to = reinterpret_cast<Destination*>(info->dest);
  bool room = true;
  try {
    to->written->append(reinterpret_cast<const char*>(to->buffer), count);
  } catch (...) {
    room = false;  // no exception may pass libjpeg
  }
  if (!room) ERREXIT1(info, JERR_OUT_OF_MEMORY, 0);
}

boolean on_full(j_compress_ptr info) {
  flush(info, sizeof(Destination::buffer));
  on_begin(info);
  return TRUE;
}

void on_end(j_compress_ptr info) {
  const auto* to = reinterpret_cast<Destination*>(info->dest);
  flush(info, sizeof(to->buffer) - to->base.free_in_buffer);
}

class Encoder {
 public:
  Encoder() {
    prepare(errors_);
    info_.err = &errors_.base;
    to_.base.init_destination = on_begin;
    to_.base.empty_output_buffer = on_full;
    to_.base.term_destination = on_end;
    to_.written = &bytes_;
  }
  ~Encoder() { jpeg_destroy_compress(&info_); }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  std::string encode(const Pixels& pixels, int quality) {
    if (pixels.height > JPEG_MAX_DIMENSION || pixels.width > JPEG_MAX_DIMENSION) {
      invalid("jpeg: expected sides of at most {}, got {} x {}", JPEG_MAX_DIMENSION, pixels.width, pixels.height);
    }
    const Pixels* p = &pixels;
    const bool whole = guarded(errors_, [this, p, quality] {
      jpeg_create_compress(&info_);
      info_.dest = &to_.base;
      info_.image_width = static_cast<JDIMENSION>(p->width);
      info_.image_height = static_cast<JDIMENSION>(p->height);
      info_.input_components = static_cast<int>(p->channels);
      info_.in_color_space = p->channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
      jpeg_set_defaults(&info_);
      jpeg_set_quality(&info_, quality, TRUE);
      jpeg_start_compress(&info_, TRUE);
      for (int64_t i = 0; i < p->height; ++i) {
        JSAMPROW row = const_cast<unsigned char*>(p->data) + i * p->width * p->channels;  // it is only read
        jpeg_write_scanlines(&info_, &row, 1);
      }
      jpeg_finish_compress(&info_);
    });
    if (!whole) fail_jpeg(errors_, "an image that can be written");
    return std::move(bytes_);
  }

 private:
  ErrorManager errors_;
  Destination to_;
  std::string bytes_;
  jpeg_compress_struct info_ = {};
};

}  // namespace

Tensor decode_jpeg(std::string_view bytes, int64_t max_bytes) { return Decoder(bytes).decode(max_bytes); }
std::string encode_jpeg(const Pixels& pixels, int quality) { return Encoder().encode(pixels, quality); }

}  // namespace panto::images
