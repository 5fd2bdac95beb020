// Encoded images and sound beside TensorFlow, and bytes that are none.
#include <algorithm>
#include <cstdlib>
#include <random>

#include "panto/lib/core/media/wav.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/device/media/media_reference.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/trace/graph_scope.h"

namespace panto::test {
namespace {

// How far an element may be off.
double slack(const MediaCall& call) {
  // Versions of libjpeg differ in how they round; the rest of a JPEG's is exact.
  const std::string& bytes =
      call.in.empty() || call.in[0].dtype() != kString ? std::string() : call.in[0].item<std::string>();
  if (bytes.starts_with("\xff\xd8")) {
    return call.out[0].dtype() == kFloat32 ? 1.01 / 255 : call.out[0].dtype() == kUint16 ? 256 : 1;
  }
  return 0;
}

void expect_same(const MediaCall& call, const std::vector<Tensor>& got, double relative = 0) {
  BOOST_REQUIRE(got.size() == call.out.size());
  for (size_t k = 0; k < got.size(); ++k) {
    const Tensor &a = got[k], &b = call.out[k];
    BOOST_TEST(a.shape().to_string() == b.shape().to_string(), call.name);
    BOOST_TEST(dtype_name(a.dtype()) == dtype_name(b.dtype()), call.name);
    if (a.shape().to_string() != b.shape().to_string()) continue;
    if (a.dtype() == kString) {
      BOOST_TEST((a.item<std::string>() == b.item<std::string>()), call.name);
      continue;
    }
    const auto x = a.cast(kFloat64).to_vector<double>(), y = b.cast(kFloat64).to_vector<double>();
    double most = 0;
    for (size_t i = 0; i < x.size(); ++i)
      most = std::max(most, std::abs(x[i] - y[i]) - relative * std::max(1.0, std::abs(y[i])));
    BOOST_TEST(most <= slack(call), call.name << " differs by " << most);
  }
}

BOOST_AUTO_TEST_SUITE(device)
BOOST_AUTO_TEST_SUITE(media)

BOOST_AUTO_TEST_CASE(what_tensorflow_decodes) {
  int calls = 0;
  for (const MediaCall& call : media_calls()) {
    if (!call.op.starts_with("Decode") && !call.op.starts_with("Encode") && !call.op.starts_with("Extract")) continue;
    ++calls;
    expect_same(call, call.run());
  }
  BOOST_TEST(calls > 100);
}

BOOST_AUTO_TEST_CASE(summaries_of_tensorflow) {
  int calls = 0;
  for (MediaCall call : media_calls()) {
    if (call.op.find("Summary") == std::string::npos) continue;
    ++calls;
    if (call.op == "ImageSummary") {
      call.attrs.emplace_back("bad_color", AttrValue(tensor(std::vector<uint8_t>{255, 0, 0, 255}, Shape{4})));
    }
    expect_same(call, call.run());
  }
  BOOST_TEST(calls > 20);
}

BOOST_AUTO_TEST_CASE(pictures_and_spectra_of_tensorflow) {
  int calls = 0;
  for (const MediaCall& call : media_calls()) {
    const bool spectrum = call.op == "AudioSpectrogram" || call.op == "Mfcc";
    if (!spectrum && !call.op.starts_with("Draw") && !call.op.starts_with("ImageProjective") &&
        !call.op.starts_with("ScaleAnd")) {
      continue;
    }
    ++calls;
    // Transforms are computed in another order.
    expect_same(call, call.run(), call.op.starts_with("Draw") ? 0 : 2e-5);
  }
  BOOST_TEST(calls > 20);
}

// Decoding ends in values or an Error, with little memory.
bool survives(const std::string& op, const std::string& bytes) {
  try {
    const Tensor in[] = {tensor(bytes)};
    (void)dispatch::call(op, in);
    return true;
  } catch (const Error& error) {
    const Code code = error.code();
    BOOST_TEST((code == Code::kDataLoss || code == Code::kInvalidArgument || code == Code::kResourceExhausted ||
                code == Code::kUnimplemented),
               error.what());
    return false;
  }
}

BOOST_AUTO_TEST_CASE(every_truncation_is_noticed) {
  for (const auto& [op, file] : {std::pair{"DecodePng", "png3"},
                                 {"DecodePng", "wide1"},
                                 {"DecodeJpeg", "colours"},
                                 {"DecodeJpeg", "progressive"},
                                 {"DecodeGif", "gif_frames"},
                                 {"DecodeBmp", "bmp24"},
                                 {"DecodeWav", "wav_more"},
                                 {"DecodeImage", "gif"}}) {
    const std::string bytes = media_file(file);
    BOOST_TEST(survives(op, bytes), file);
    // Behind the end of a JPEG's image, where marks are, the bytes that TensorFlow misses are missed here too.
    for (size_t n = 0; n < bytes.size(); n += 1 + bytes.size() / 300) {
      BOOST_TEST(!survives(op, bytes.substr(0, n)), file << ": " << n << " of " << bytes.size());
    }
    BOOST_TEST(!survives(op, bytes.substr(0, bytes.size() - 1)), file);
  }
}

BOOST_AUTO_TEST_CASE(damaged_bytes_are_survived) {
  std::mt19937 random(8);
  for (const auto& [op, file] : {std::pair{"DecodePng", "wide3"},
                                 {"DecodeJpeg", "progressive"},
                                 {"DecodeJpeg", "cmyk"},
                                 {"DecodeGif", "gif_frames"},
                                 {"DecodeBmp", "bmp8"},
                                 {"DecodeBmp", "bmp32"},
                                 {"DecodeWav", "wav_more"},
                                 {"DecodeImage", "gif_small"}}) {
    const std::string bytes = media_file(file);
    int errors = 0;
    for (int i = 0; i < 500; ++i) {
      std::string changed = bytes;
      for (size_t k = 1 + random() % 4; k > 0; --k) {
        // Headers more often than what they are of.
        const size_t end = random() % 2 == 0 ? std::min<size_t>(changed.size(), 64) : changed.size();
        changed[random() % end] = static_cast<char>(random());
      }
      errors += survives(op, changed) ? 0 : 1;
    }
    BOOST_TEST(errors > 20, file);
  }
}

BOOST_AUTO_TEST_CASE(what_takes_memory_is_checked_before) {
  std::string gif = media_file("gif");
  const size_t frame = gif.find(',');
  for (const size_t at : {frame + 5, frame + 7}) gif[at] = gif[at + 1] = '\xff';
  expect_error_begins([&] { (void)decode_gif(gif); }, "DataLoss: gif: expected at least 393");
  std::string bmp = media_file("bmp24");
  for (const size_t at : {18, 22}) bmp[at] = bmp[at + 1] = bmp[at + 2] = '\x7f';
  expect_error_begins([&] { (void)decode_bmp(bmp); }, "DataLoss: bmp: expected ");
  expect_error_begins([&] { (void)decode_wav(media_file("wav"), {.desired_samples = int64_t{1} << 40}); },
                      "ResourceExhausted: wav: expected at most 2147483648 bytes when decoded, got ");
  expect_error_begins([&] { (void)decode_wav(media_file("wav"), {.desired_channels = int64_t{1} << 62}); },
                      "InvalidArgument: samples: expected a product below 2^63, got ");
  std::string jpeg = media_file("progressive");
  const size_t start = jpeg.find(std::string("\xff\xc2", 2));
  for (size_t i = 0; i < 4; ++i) jpeg[start + 5 + i] = '\xf0';
  expect_error_begins([&] { (void)decode_jpeg(jpeg, {.ratio = 8}); },
                      "ResourceExhausted: image: expected at most 536870912 bytes when decoded, got ");
  expect_error_begins([&] { (void)decode_and_crop_jpeg(jpeg, {0, 0, 1, 1}); }, "ResourceExhausted: image: ");
}

BOOST_AUTO_TEST_CASE(truncated_jpegs_that_are_wanted) {
  const Tensor grey = cast(floor_mod(range(0, 64 * 48, 1), 251), kUint8).reshape({64, 48, 1});
  const std::string whole = encode_jpeg(concat({grey, grey, grey}, 2)).item<std::string>(),
                    part = whole.substr(0, whole.size() - 300);
  const Tensor image = decode_jpeg(whole);
  const Tensor recovered = decode_jpeg(part, {.try_recover_truncated = true});
  BOOST_TEST(recovered.shape().to_string() == image.shape().to_string());
  const auto row = [](const Tensor& t, int64_t y) { return slice(t, {y, 0, 0}, {1, -1, -1}).to_vector<uint8_t>(); };
  BOOST_TEST(row(recovered, 0) == row(image, 0));
  const Tensor black = decode_jpeg(part, {.acceptable_fraction = 0.25F});
  BOOST_TEST(row(black, 0) == row(image, 0));
  BOOST_TEST(row(black, image.dim(0) - 1) == std::vector<uint8_t>(static_cast<size_t>(3 * image.dim(1))));
  expect_error_begins([&] { (void)decode_jpeg(part, {.acceptable_fraction = 0.99F}); },
                      "DataLoss: jpeg: expected a whole image, got: the bytes end too early");
}

BOOST_AUTO_TEST_CASE(what_is_encoded_is_decoded) {
  const Tensor image = decode_png(media_file("png3"));
  for (const int64_t compression : {-1, 0, 9}) {
    BOOST_TEST(decode_png(encode_png(image, {.compression = compression})).to_vector<uint8_t>() ==
               image.to_vector<uint8_t>());
  }
  const Tensor wide = decode_png(media_file("wide4"), {.dtype = kUint16});
  const Tensor both = encode_png(stack({wide, wide}));
  BOOST_TEST(both.shape().to_string() == "[2]");
  const Tensor again = decode_png(slice(both, {1}, {1}).reshape({}), {.dtype = kUint16});
  BOOST_TEST(again.to_vector<uint16_t>() == wide.to_vector<uint16_t>());
  const Tensor photo = decode_jpeg(media_file("colours"));
  const auto farthest = [&](const Tensor& bytes) {
    const auto a = decode_jpeg(bytes, {.dct_method = "INTEGER_ACCURATE"}).to_vector<uint8_t>(),
               b = photo.to_vector<uint8_t>();
    int most = 0;
    for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
    return most;
  };
  const EncodeJpegAttrs best{.quality = 100, .chroma_downsampling = false};
  BOOST_TEST(farthest(encode_jpeg(photo, best)) <= 8);
  EncodeJpegAttrs other = best;
  other.progressive = other.optimize_size = true;
  other.density_unit = "cm";
  other.x_density = 118;
  other.xmp_metadata = "<x/>";
  const std::string bytes = encode_jpeg(photo, other).item<std::string>();
  BOOST_TEST(farthest(tensor(bytes)) <= 8);
  BOOST_TEST(bytes.substr(6, 8) == std::string("JFIF\0\1\1\2", 8));
  BOOST_TEST(bytes.substr(14, 4) == std::string("\0\x76\1\x2c", 4));
  BOOST_TEST(bytes.find(std::string("http://ns.adobe.com/xap/1.0/\0<x/>", 33)) != std::string::npos);
  BOOST_TEST(encode_jpeg_variable_quality(photo, 10).item<std::string>().size() <
             encode_jpeg_variable_quality(photo, 90).item<std::string>().size());
  expect_error_begins([&] { (void)encode_jpeg_variable_quality(photo, 101); },
                      "InvalidArgument: quality: expected 0 to 100, got 101");
}

BOOST_AUTO_TEST_CASE(shapes_in_graphs) {
  const auto shape = [](const Tensor& t) { return t.partial_shape().to_string(); };
  Graph graph;
  const GraphScope scope(graph);
  const Tensor contents = placeholder(kString, {});
  BOOST_TEST(shape(decode_png(contents)) == "[?,?,?]");
  BOOST_TEST(shape(decode_png(contents, {.channels = 3})) == "[?,?,3]");
  BOOST_TEST(shape(decode_gif(contents)) == "[?,?,?,3]");
  BOOST_TEST(shape(decode_image(contents)) == PartialShape().to_string());
  BOOST_TEST(shape(decode_image(contents, {.channels = 1, .expand_animations = false})) == "[?,?,1]");
  BOOST_TEST(shape(decode_and_crop_jpeg(contents, {1, 2, 3, 4})) == "[3,4,?]");
  BOOST_TEST(shape(extract_jpeg_shape(contents)) == "[3]");
  BOOST_TEST(shape(decode_wav(contents, {.desired_channels = 2}).audio) == "[?,2]");
  BOOST_TEST(shape(encode_png(placeholder(kUint8, PartialShape{2, -1, 3, 3, 3}))) == "[2,?]");
}

BOOST_AUTO_TEST_CASE(sound_files) {
  const TestFolder folder;
  const Wav wav = wav_from_bytes(media_file("wav"));
  BOOST_TEST(wav.sample_rate == 8000);
  BOOST_TEST(wav.samples.shape().to_string() == "[7,2]");
  write_wav(folder / "a.wav", wav.samples, 11025);
  const Wav again = read_wav(folder / "a.wav");
  BOOST_TEST(again.sample_rate == 11025);
  BOOST_TEST(again.samples.to_vector<float>() == wav.samples.to_vector<float>());
  write_wav(folder / "b.wav", tensor({0.5F, -2.F, 2.F}), 1);
  BOOST_TEST(read_wav(folder / "b.wav").samples.to_vector<float>() ==
             (std::vector<float>{0.5F, -1.F, 32767.F / 32768}));
  expect_error([&] { (void)wav_bytes(tensor({1}), 1); },
               "InvalidArgument: wav: expected float32 [frames] or [frames, channels], got int32[1]");
  expect_error([&] { (void)wav_bytes(tensor({1.F}), 0); },
               "InvalidArgument: wav: expected a positive sample rate, got 0");
  std::string bytes = media_file("wav");
  bytes[20] = 3;
  expect_error([&] { (void)wav_from_bytes(bytes); }, "Unimplemented: wav: expected samples of PCM (1), got format 3");
  expect_error([&] { (void)wav_from_bytes("RIFX and more"); }, "InvalidArgument: wav: expected 'RIFF', got 'RIFX'");
  expect_error_begins([&] { (void)read_wav(folder / "none.wav"); }, "NotFound: cannot open file '");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
