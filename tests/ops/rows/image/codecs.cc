// Samples of images and sound in encoded bytes, with what TensorFlow makes of them; more of these, and bytes that are
// damaged, are in tests/device/media.
#include <string>

#include "panto/tests/device/media/media_reference.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::codecs_rows {
namespace {

Array file(const char* name) { return texts({}, {media_file(name)}); }
const Tensor& stored(const std::string& key) { return media_arrays().at(key); }
// Of one input or output of a call.
Array value(const std::string& key) { return to_array(stored(key)); }
Array bytes(const std::string& key) { return texts({}, {text_of(stored(key))}); }

Sample decoded(const char* name, const std::string& call, Attrs attrs = {}) {
  return {.in = {file(name)}, .attrs = std::move(attrs), .out = {value(call + "/o0")}};
}
Sample encoded(const std::string& call, Attrs attrs = {}) {
  return {.in = {value(call + "/i0")}, .attrs = std::move(attrs), .out = {bytes(call + "/t0")}};
}
Sample heard(const char* name, const std::string& call, Attrs attrs = {}) {
  return {.in = {file(name)}, .attrs = std::move(attrs), .out = {value(call + "/o0"), value(call + "/o1")}};
}

const Array kNone = texts({}, {"no image"}), kTwo = texts({2}, {"", ""});
const std::string kGot = "contents: expected the bytes of ";
ErrorSample none(const char* wanted, DType type = DType::kInvalid) {
  return {.in = {kNone}, .text = kGot + wanted + ", got those of none that is known", .type = type};
}
const ErrorSample kRank = {.in = {kTwo}, .text = "contents: expected a scalar, got shape [2]"};
const ErrorSample kChannels = {
    .in = {kNone}, .attrs = {{"channels", 2}}, .text = "channels: expected 0, 1, 3 or 4, got 2"};

const Family codecs(
    "codecs",
    {
        {"DecodePng",
         {.samples = {decoded("png3", "DecodePng;channels=0#png3"),
                      decoded("wide4", "DecodePng;channels=3#wide4", {{"channels", 3}}),
                      decoded("png2", "DecodePng;channels=4#png2", {{"channels", 4}})},
          .errors = {kRank,
                     kChannels,
                     none("a PNG, JPEG or GIF"),
                     {.in = {file("bmp24")},
                      .text = "contents: expected the bytes of a PNG, JPEG or GIF, got those of BMP"},
                     {.in = {file("gif_frames")}, .text = "contents: expected a GIF of one frame, got 3"}},
          .types = {kUint8},
          .data_dependent_shape = true}},
        {"DecodePng",
         {.samples = {decoded("wide3", "DecodePng;channels=0;dtype=dtype:uint16#wide3", {{"channels", 0}})},
          .label = "uint16",
          .types = {kUint16},
          .data_dependent_shape = true}},
        {"DecodeJpeg",
         {.samples = {decoded("flat", "DecodeJpeg#flat"),
                      decoded("flat", "DecodeJpeg;channels=1;ratio=2#flat", {{"channels", 1}, {"ratio", 2}})},
          .errors = {kRank,
                     kChannels,
                     none("a PNG, JPEG or GIF"),
                     {.in = {kNone}, .attrs = {{"ratio", 3}}, .text = "ratio: expected 1, 2, 4 or 8, got 3"},
                     {.in = {kNone},
                      .attrs = {{"dct_method", "SLOW"}},
                      .text = "dct_method: expected INTEGER_FAST, INTEGER_ACCURATE or none, got 'SLOW'"},
                     {.in = {file("flat")},
                      .attrs = {{"channels", 4}},
                      .text = "channels: expected 0, 1 or 3 for a JPEG, got 4"}},
          .data_dependent_shape = true}},
        {"DecodeAndCropJpeg",
         {.samples = {{.in = {file("flat"), list({2, 3, 4, 5}).as(kInt32)},
                       .out = {value("DecodeAndCropJpeg#flat/o0")}}},
          .errors = {{.in = {file("flat"), list({2, 3, 4}).as(kInt32)},
                      .text = "crop_window: expected y, x, height and width, got 3 numbers"},
                     {.in = {file("flat"), list({2, 3, 0, 5}).as(kInt32)},
                      .text = "crop_window[2]: expected at least 1, got 0"},
                     {.in = {file("flat"), list({2, 3, 4, 6}).as(kInt32)},
                      .text = "crop_window: expected one inside of 8 x 8 pixels, got y 2, x 3, height 4, width 6"}},
          .fixed = {1},
          .data_dependent_shape = true}},
        {"ExtractJpegShape",
         {.samples = {decoded("colours", "ExtractJpegShape#colours"), decoded("cmyk", "ExtractJpegShape#cmyk")},
          .errors = {kRank, none("a JPEG")}}},
        {"DecodeGif",
         {.samples = {decoded("gif_frames", "DecodeGif#gif_frames"), decoded("png3", "DecodeGif#png3")},
          .errors = {kRank, none("a PNG, JPEG or GIF")},
          .data_dependent_shape = true}},
        {"DecodeBmp",
         {.samples = {decoded("bmp24", "DecodeBmp;channels=0#bmp24"),
                      decoded("bmp8", "DecodeBmp;channels=4#bmp8", {{"channels", 4}})},
          .errors =
              {kRank,
               none("a BMP"),
               {.in = {kNone}, .attrs = {{"channels", 1}}, .text = "channels: expected 0, 3 or 4 for a BMP, got 1"}},
          .data_dependent_shape = true}},
        {"DecodeImage",
         {.samples = {decoded("gif_frames", "DecodeImage;expand_animations=false#gif_frames",
                              {{"expand_animations", false}}),
                      decoded("bmp24", "DecodeImage;dtype=dtype:uint8#bmp24")},
          .errors =
              {kRank,
               kChannels,
               none("a PNG, JPEG, GIF or BMP"),
               {.in = {file("gif")}, .attrs = {{"channels", 4}}, .text = "channels: expected 0 or 3 for a GIF, got 4"}},
          .types = {kUint8},
          .data_dependent_shape = true}},
        {"DecodeImage",
         {.samples = {decoded("wide4", "DecodeImage;dtype=dtype:uint16#wide4"),
                      decoded("bmp24", "DecodeImage;dtype=dtype:uint16#bmp24")},
          .label = "uint16",
          .types = {kUint16},
          .data_dependent_shape = true}},
        {"DecodeImage",
         {.samples = {decoded("wide4", "DecodeImage;dtype=dtype:float32#wide4"),
                      decoded("bmp24", "DecodeImage;dtype=dtype:float32#bmp24")},
          .label = "float32",
          .types = {kFloat32},
          .gradient = false,
          .data_dependent_shape = true}},
        {"EncodePng",
         {.samples = {encoded("EncodePng;compression=0#colours0", {{"compression", 0}})},
          .errors = {{.in = {filled({2, 2}, 0)}, .text = "image: expected a rank of at least 3, got shape [2,2]"},
                     {.in = {filled({2, 2, 5}, 0)}, .text = "channels of image: expected 1 to 4, got 5"},
                     {.in = {filled({2, 0, 1}, 0)},
                      .text = "image: expected a height and a width of at least 1, got shape [2,0,1]"},
                     {.in = {filled({2, 2, 1}, 0)},
                      .attrs = {{"compression", 10}},
                      .text = "compression: expected -1 to 9, got 10"}},
          .types = {kUint8}}},
        {"EncodePng",
         {.samples = {encoded("EncodePng;compression=0#wide0", {{"compression", 0}})},
          .label = "uint16",
          .types = {kUint16}}},
        {"EncodeJpeg",
         {.samples = {encoded("EncodeJpeg#flat"),
                      encoded("EncodeJpeg;format=grayscale;quality=50;density_unit=cm;x_density=12#flat",
                              {{"format", "grayscale"}, {"quality", 50}, {"density_unit", "cm"}, {"x_density", 12}})},
          .errors = {{.in = {filled({2, 2, 2}, 0)}, .text = "channels of image: expected 1 or 3, got 2"},
                     {.in = {filled({2, 2, 3}, 0)},
                      .attrs = {{"quality", 101}},
                      .text = "quality: expected 0 to 100, got 101"},
                     {.in = {filled({2, 2, 3}, 0)},
                      .attrs = {{"format", "grayscale"}},
                      .text = "channels of image, by format: expected 1, got 3"}}}},
        {"EncodeJpegVariableQuality",
         {.samples = {{.in = {value("EncodeJpegVariableQuality#flat/i0"), scalar(30).as(kInt32)},
                       .out = {bytes("EncodeJpegVariableQuality#flat/t0")}}},
          .errors = {{.in = {filled({2, 2, 3}, 0), scalar(-1).as(kInt32)},
                      .text = "quality: expected 0 to 100, got -1"}}}},
        {"DecodeWav",
         {.samples = {heard("wav", "DecodeWav#wav"),
                      heard("wav", "DecodeWav;desired_channels=3#wav", {{"desired_channels", 3}}),
                      heard("wav_more", "DecodeWav;desired_samples=12#wav_more", {{"desired_samples", 12}})},
          .errors = {kRank,
                     {.in = {kNone}, .text = "wav: expected 'RIFF', got 'no i'"},
                     {.in = {kNone},
                      .attrs = {{"desired_samples", -2}},
                      .text = "desired_samples: expected at least -1, got -2"}},
          .gradient = false,
          .data_dependent_shape = true}},
        {"EncodeWav",
         {.samples = {{.in = {value("EncodeWav#stereo/i0").as(kFloat32), scalar(8000).as(kInt32)},
                       .out = {bytes("EncodeWav#stereo/t0")}}},
          .errors = {{.in = {filled({2}, 0).as(kFloat32), scalar(1).as(kInt32)},
                      .text = "audio: expected a matrix, got shape [2]"},
                     {.in = {filled({2, 1}, 0).as(kFloat32), scalar(0).as(kInt32)},
                      .text = "wav: expected a positive sample rate, got 0"}},
          .gradient = false}},
    });

}  // namespace
}  // namespace panto::test::codecs_rows
