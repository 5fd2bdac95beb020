#include <csetjmp>
#include <cstdio>

// jpeglib.h requires <cstdio> to be included before it.
#include <jpeglib.h>

#include <jerror.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/media/codecs.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::images {
namespace {

// A progressive image is decoded once for each scan, and a scan takes only a few bytes.
constexpr int kMaxScans = 500;

// State of libjpeg's error handling. `base` must be the first member.
struct ErrorManager {
  jpeg_error_mgr base = {};
  std::jmp_buf jump = {};
  char message[JMSG_LENGTH_MAX] = "";
  int code = 0;
  bool strict = true;  // damaged data, which libjpeg replaces by grey, is an error
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto* errors = reinterpret_cast<ErrorManager*>(info->err);
  errors->code = info->err->msg_code;
  (*info->err->format_message)(info, errors->message);
  std::longjmp(errors->jump, 1);  // NOLINT(cert-err52-cpp): libjpeg's way
}

// Negative levels mean damaged data. Some of these messages do not concern the pixels.
void on_message(j_common_ptr info, int level) {
  if (!reinterpret_cast<ErrorManager*>(info->err)->strict) return;
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

// Returns false if libjpeg reported an error. `step` must not hold objects with destructors.
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
    const Tensor image = allocate_image(Shape{info_.image_height, info_.image_width, channels}, max_bytes);
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

  Tensor decode(int64_t max_bytes, const JpegForm& form) {
    errors_.strict = false;
    begin(form.try_recover_truncated);
    int64_t channels = form.channels;
    if (channels == 0) channels = std::min(info_.num_components, 3);
    const bool inks = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = channels == 1 ? JCS_GRAYSCALE : inks ? JCS_CMYK : JCS_RGB;
    if (channels != 1 && channels != 3) {
      failf(Code::kUnimplemented, "jpeg: expected 1 or 3 channels, got {}", channels);
    }
    info_.do_fancy_upsampling = form.fancy_upscaling ? TRUE : FALSE;
    info_.scale_num = 1;
    info_.scale_denom = static_cast<unsigned>(form.ratio);
    info_.dct_method = form.accurate ? JDCT_ISLOW : JDCT_IFAST;
    guard([this] { jpeg_calc_output_dimensions(&info_); });
    const int64_t height = info_.output_height, width = info_.output_width;
    const auto [top, left, rows, columns] = form.window.value_or(std::array<int64_t, 4>{0, 0, height, width});
    if (top < 0 || left < 0 || rows <= 0 || columns <= 0 || rows > height || columns > width || top > height - rows ||
        left > width - columns) {
      invalid("crop_window: expected one inside of {} x {} pixels, got y {}, x {}, height {}, width {}", height, width,
              top, left, rows, columns);
    }
    // Even for a part of it, libjpeg may keep all of a progressive image in memory.
    expect_small(Shape{info_.image_height, info_.image_width, channels}, max_bytes);
    const Tensor image = allocate_image(Shape{rows, columns, channels}, max_bytes);
    auto* const data = mutable_data<unsigned char>(image);
    // Rows of a file have at most 65,535 pixels.
    const int64_t from_channels = channels == 1 ? 1 : inks ? 4 : 3;
    std::vector<unsigned char> whole_row(static_cast<size_t>(width * from_channels));
    JSAMPROW row = whole_row.data();
    bool missing = false;
    auto first = static_cast<JDIMENSION>(left), count = static_cast<JDIMENSION>(columns);
    const bool part = columns < width;
    guard([&missing, &first, &count, part, this] {
      missing = jpeg_start_decompress(&info_) == FALSE;
      // At the part's edges colours are smoothed as at the image's edges, as in TensorFlow.
      if (!missing && part) jpeg_crop_scanline(&info_, &first, &count);
    });
    const int64_t skipped = part ? left - first : 0;
    while (!missing && info_.output_scanline < top + rows) {
      const int64_t y = info_.output_scanline;
      guard([&missing, this, row] {
        JSAMPROW one = row;
        missing = jpeg_read_scanlines(&info_, &one, 1) != 1;
      });
      if (missing || y < top) continue;
      put(row + skipped * from_channels, columns, from_channels, data + (y - top) * columns * channels);
    }
    if (!missing && info_.output_scanline == info_.output_height) {
      guard([&missing, this] { missing = jpeg_finish_decompress(&info_) == FALSE; });
    }
    if (missing) {
      const int64_t read = std::max(int64_t{info_.output_scanline} - top, int64_t{0});
      const auto wanted = std::min(1.0F, form.acceptable_fraction) * static_cast<float>(rows);
      if (static_cast<float>(read) < wanted || read >= rows) {
        failf(Code::kDataLoss, "jpeg: expected a whole image, got: the bytes end too early");
      }
      std::memset(data + read * columns * channels, 0, static_cast<size_t>((rows - read) * columns * channels));
    }
    return image;
  }

  std::array<int64_t, 3> shape() {
    errors_.strict = false;
    begin(false);
    return {info_.image_height, info_.image_width, info_.num_components};
  }

 private:
  // Reads the header. `recover`: an image may end where the bytes end.
  void begin(bool recover) {
    bool missing = false;
    guard([&missing, this, recover] {
      jpeg_create_decompress(&info_);
      info_.progress = &progress_;
      jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
      if (!recover) {
        // Makes libjpeg report that data is missing.
        info_.src->fill_input_buffer = [](j_decompress_ptr) -> boolean { return FALSE; };
        info_.src->skip_input_data = [](j_decompress_ptr info, long count) {
          jpeg_source_mgr& source = *info->src;
          const size_t skipped = std::min(static_cast<size_t>(std::max(count, 0L)), source.bytes_in_buffer);
          source.next_input_byte += skipped;
          source.bytes_in_buffer -= skipped;
        };
      }
      missing = jpeg_read_header(&info_, TRUE) != JPEG_HEADER_OK;
    });
    if (missing) fail(Code::kDataLoss, "jpeg: expected a whole image, got: the bytes end too early");
  }

  // Writes a row's pixels; converts CMYK to RGB. Adobe's files store inverted ink values.
  void put(const unsigned char* from, int64_t count, int64_t channels, unsigned char* to) const {
    if (channels != 4) {
      std::memcpy(to, from, static_cast<size_t>(count * channels));
      return;
    }
    const bool light = info_.saw_Adobe_marker != 0;
    for (; count > 0; --count, from += 4, to += 3) {
      for (int c = 0; c < 3; ++c) {
        to[c] = static_cast<unsigned char>(light ? from[3] * from[c] / 255 : (255 - from[3]) * (255 - from[c]) / 255);
      }
    }
  }

  template <class Step>
  void guard(Step step) {
    if (!guarded(errors_, step)) fail_jpeg(errors_, "a whole image");
  }

  std::string_view bytes_;
  ErrorManager errors_;
  jpeg_progress_mgr progress_ = {};
  jpeg_decompress_struct info_ = {};
};

// Destination of libjpeg's output. `base` must be the first member.
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
    room = false;  // exceptions must not pass through libjpeg
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

  std::string encode(const Pixels& pixels, const JpegWay& wanted) {
    if (pixels.height > JPEG_MAX_DIMENSION || pixels.width > JPEG_MAX_DIMENSION) {
      invalid("jpeg: expected sides of at most {}, got {} x {}", JPEG_MAX_DIMENSION, pixels.width, pixels.height);
    }
    const Pixels* p = &pixels;
    const JpegWay* way = &wanted;
    // The marker of XMP metadata in Adobe's form, with its terminating zero.
    static constexpr char kXmpText[] = "http://ns.adobe.com/xap/1.0/";
    constexpr std::string_view kXmp(kXmpText, sizeof(kXmpText));
    constexpr size_t kLongestMarker = 65533;
    std::string xmp;
    if (!way->xmp_metadata.empty()) {
      xmp.append(kXmp).append(way->xmp_metadata);
      if (xmp.size() > kLongestMarker) {
        invalid("xmp_metadata: expected at most {} bytes, got {}", kLongestMarker - kXmp.size(),
                way->xmp_metadata.size());
      }
    }
    const auto* xmp_bytes = reinterpret_cast<const unsigned char*>(xmp.data());
    const auto xmp_size = static_cast<unsigned>(xmp.size());
    const bool whole = guarded(errors_, [this, p, way, xmp_bytes, xmp_size] {
      jpeg_create_compress(&info_);
      info_.dest = &to_.base;
      info_.image_width = static_cast<JDIMENSION>(p->width);
      info_.image_height = static_cast<JDIMENSION>(p->height);
      info_.input_components = static_cast<int>(p->channels);
      info_.in_color_space = p->channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
      jpeg_set_defaults(&info_);
      if (way->x_density > 0) {
        info_.density_unit = way->centimetres ? 2 : 1;
        info_.X_density = static_cast<UINT16>(way->x_density);
        info_.Y_density = static_cast<UINT16>(way->y_density);
      }
      info_.optimize_coding = way->optimize_size ? TRUE : FALSE;
      if (p->channels == 3 && !way->chroma_downsampling) {
        info_.comp_info[0].h_samp_factor = 1;
        info_.comp_info[0].v_samp_factor = 1;
      }
      jpeg_set_quality(&info_, way->quality, TRUE);
      if (way->progressive) jpeg_simple_progression(&info_);
      jpeg_start_compress(&info_, TRUE);
      if (xmp_size > 0) jpeg_write_marker(&info_, JPEG_APP0 + 1, xmp_bytes, xmp_size);
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
Tensor decode_jpeg(std::string_view bytes, int64_t max_bytes, const JpegForm& form) {
  return Decoder(bytes).decode(max_bytes, form);
}
std::array<int64_t, 3> jpeg_shape(std::string_view bytes) { return Decoder(bytes).shape(); }
std::string encode_jpeg(const Pixels& pixels, const JpegWay& way) { return Encoder().encode(pixels, way); }

}  // namespace panto::images
