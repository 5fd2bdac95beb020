// Images: PNGs put together here chunk by chunk (zlib is all that is shared with libpng), JPEGs beside what Pillow
// decodes them to (images/generate.py), and bytes that are no image.
#include "panto/nn/data/image.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <random>

#include "panto/lib/base/file.h"
#include "panto/lib/core/io/npy.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"

namespace panto {
namespace {

using Bytes = std::vector<uint8_t>;
const std::string kImages = PANTO_TEST_SOURCE "/tests/nn/data/images/";
const std::string kSignature = "\x89PNG\r\n\x1a\n";

std::string big_endian(uint32_t n) {
  return {static_cast<char>(n >> 24), static_cast<char>(n >> 16), static_cast<char>(n >> 8), static_cast<char>(n)};
}

std::string chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(static_cast<uint32_t>(data.size())) + body + big_endian(static_cast<uint32_t>(crc));
}

std::string header(uint32_t width, uint32_t height, int bits, int colour, int interlace = 0) {
  return chunk("IHDR", big_endian(width) + big_endian(height) + static_cast<char>(bits) + static_cast<char>(colour) +
                           std::string(2, '\0') + static_cast<char>(interlace));
}

std::string deflated(const std::string& raw) {
  uLongf size = compressBound(raw.size());
  std::string out(size, '\0');
  BOOST_REQUIRE(compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(raw.data()),
                         raw.size()) == Z_OK);
  out.resize(size);
  return out;
}

// `rows`: the bytes of each row; `before`: chunks between header and pixels.
std::string png(uint32_t width, int bits, int colour, const std::vector<Bytes>& rows, const std::string& before = "") {
  std::string raw;
  for (const Bytes& row : rows) raw.append(1, '\0').append(row.begin(), row.end());
  return kSignature + header(width, static_cast<uint32_t>(rows.size()), bits, colour) + before +
         chunk("IDAT", deflated(raw)) + chunk("IEND", "");
}

void expect_image(const Tensor& image, const Shape& shape, const Bytes& values) {
  BOOST_TEST(dtype_name(image.dtype()) == "uint8");
  BOOST_TEST(image.shape().to_string() == shape.to_string());
  BOOST_TEST(image.to_vector<uint8_t>() == values, boost::test_tools::per_element());
}

Tensor image_of(const Shape& shape) {
  Bytes values(static_cast<size_t>(shape.numel()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 37 + i * i / 3);
  return tensor(values, shape);
}

uint32_t number_at(const std::string& bytes, size_t at) {
  uint32_t n = 0;
  for (size_t i = 0; i < 4; ++i) n = n << 8 | static_cast<uint8_t>(bytes.at(at + i));
  return n;
}

// The pixels of a PNG of 8 bits a channel without a palette and interlacing, by the format's description.
Bytes decoded_here(const std::string& bytes, size_t& channels) {
  const size_t width = number_at(bytes, 16), height = number_at(bytes, 20);
  channels = std::map<int, size_t>{{0, 1}, {4, 2}, {2, 3}, {6, 4}}.at(bytes.at(25));
  BOOST_TEST(bytes.at(24) == 8);
  std::string packed;
  for (size_t at = 8; at < bytes.size(); at += number_at(bytes, at) + 12) {
    if (bytes.substr(at + 4, 4) == "IDAT") packed += bytes.substr(at + 8, number_at(bytes, at));
  }
  const size_t row_bytes = width * channels;
  uLongf size = height * (row_bytes + 1);
  Bytes raw(size);
  BOOST_REQUIRE(uncompress(raw.data(), &size, reinterpret_cast<const Bytef*>(packed.data()), packed.size()) == Z_OK);
  Bytes pixels(height * row_bytes);
  for (size_t r = 0; r < height; ++r) {
    for (size_t i = 0; i < row_bytes; ++i) {
      const int left = i >= channels ? pixels[r * row_bytes + i - channels] : 0;
      const int up = r > 0 ? pixels[(r - 1) * row_bytes + i] : 0;
      const int corner = r > 0 && i >= channels ? pixels[(r - 1) * row_bytes + i - channels] : 0;
      const int p = left + up - corner;
      const int a = std::abs(p - left), b = std::abs(p - up), c = std::abs(p - corner);
      const int paeth = a <= b && a <= c ? left : b <= c ? up : corner;
      const int predicted[] = {0, left, up, (left + up) / 2, paeth};
      const int filter = raw[r * (row_bytes + 1)];
      pixels[r * row_bytes + i] = static_cast<uint8_t>(raw[r * (row_bytes + 1) + 1 + i] + predicted[filter]);
    }
  }
  return pixels;
}

// An image or an Error, nothing else.
bool survives(const std::string& bytes) {
  try {
    (void)decode_image(bytes, {.max_bytes = 1 << 20});
    return true;
  } catch (const Error& error) {
    const Code code = error.code();
    BOOST_TEST((code == Code::kDataLoss || code == Code::kInvalidArgument || code == Code::kResourceExhausted ||
                code == Code::kUnimplemented),
               error.what());
    return false;
  }
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(image)

BOOST_AUTO_TEST_CASE(png_of_each_colour_type) {
  expect_image(decode_image(png(2, 8, 0, {{1, 2}, {3, 4}})), {2, 2, 1}, {1, 2, 3, 4});
  expect_image(decode_image(png(1, 8, 4, {{1, 2}, {3, 4}})), {2, 1, 2}, {1, 2, 3, 4});
  expect_image(decode_image(png(2, 8, 2, {{1, 2, 3, 4, 5, 6}})), {1, 2, 3}, {1, 2, 3, 4, 5, 6});
  expect_image(decode_image(png(1, 8, 6, {{1, 2, 3, 4}})), {1, 1, 4}, {1, 2, 3, 4});
}

BOOST_AUTO_TEST_CASE(png_of_a_palette) {
  const std::string palette = chunk("PLTE", std::string("\x0a\x14\x1e\xff\x00\x01", 6));
  expect_image(decode_image(png(2, 8, 3, {{1, 0}}, palette)), {1, 2, 3}, {255, 0, 1, 10, 20, 30});
  expect_image(decode_image(png(3, 1, 3, {{0xa0}}, palette)), {1, 3, 3}, {255, 0, 1, 10, 20, 30, 255, 0, 1});
  expect_image(decode_image(png(2, 8, 3, {{1, 0}}, palette + chunk("tRNS", "\x07"))), {1, 2, 4},
               {255, 0, 1, 255, 10, 20, 30, 7});
}

BOOST_AUTO_TEST_CASE(png_of_other_depths) {
  expect_image(decode_image(png(4, 1, 0, {{0x50}})), {1, 4, 1}, {0, 255, 0, 255});
  expect_image(decode_image(png(4, 2, 0, {{0x1b}})), {1, 4, 1}, {0, 85, 170, 255});
  expect_image(decode_image(png(2, 4, 0, {{0x1f}})), {1, 2, 1}, {17, 255});
  // n / 257, rounded to nearest: 0x80 is 0.498, 0x81 is 0.502.
  expect_image(decode_image(png(5, 16, 0, {{0, 0, 0, 0x80, 0, 0x81, 0x80, 0x80, 0xff, 0xff}})), {1, 5, 1},
               {0, 0, 1, 128, 255});
  expect_image(decode_image(png(1, 16, 2, {{0x10, 0x10, 0x20, 0x20, 0x30, 0x30}})), {1, 1, 3}, {16, 32, 48});
  // A grey that is transparent.
  expect_image(decode_image(png(2, 8, 0, {{1, 2}}, chunk("tRNS", std::string("\0\2", 2)))), {1, 2, 2}, {1, 255, 2, 0});
}

BOOST_AUTO_TEST_CASE(png_interlaced) {
  // Adam7: first column, first row, distance of columns and of rows of the seven passes.
  constexpr int kPasses[7][4] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                 {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
  Bytes values(11 * 9);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i);
  std::string raw;
  for (const auto& [x0, y0, dx, dy] : kPasses) {
    for (int y = y0; y < 9; y += dy) {
      raw += '\0';
      for (int x = x0; x < 11; x += dx) raw += static_cast<char>(values[static_cast<size_t>(y * 11 + x)]);
    }
  }
  expect_image(decode_image(kSignature + header(11, 9, 8, 0, 1) + chunk("IDAT", deflated(raw)) + chunk("IEND", "")),
               {9, 11, 1}, values);
}

BOOST_AUTO_TEST_CASE(png_written) {
  for (const Shape& shape : {Shape{5, 7, 1}, Shape{5, 7, 2}, Shape{31, 17, 3}, Shape{1, 1, 4}, Shape{64, 3, 4}}) {
    const Tensor image = image_of(shape);
    const std::string bytes = png_bytes(image);
    size_t channels = 0;
    BOOST_TEST((decoded_here(bytes, channels) == image.to_vector<uint8_t>()));
    BOOST_TEST(static_cast<int64_t>(channels) == shape[2]);
    expect_image(decode_image(bytes), shape, image.to_vector<uint8_t>());
  }
  expect_image(decode_image(png_bytes(tensor(Bytes{1, 2, 3, 4, 5, 6}, Shape{2, 3}))), {2, 3, 1}, {1, 2, 3, 4, 5, 6});
}

BOOST_AUTO_TEST_CASE(jpeg_beside_pillow) {
  for (const auto& [name, expected] : read_npz(kImages + "decoded.npz")) {
    const Tensor got = read_image(kImages + name + ".jpg");
    BOOST_TEST(got.shape().to_string() == expected.shape().to_string(), name);
    const auto a = got.to_vector<uint8_t>(), b = expected.to_vector<uint8_t>();
    // Versions of the library differ in how they round.
    for (size_t i = 0; i < a.size(); ++i) BOOST_TEST(std::abs(a[i] - b[i]) <= 1, name << " at " << i);
  }
}

BOOST_AUTO_TEST_CASE(jpeg_written) {
  // Smooth images stay nearly what they are, the better the higher the quality.
  Bytes values;
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 48; ++x) {
      for (const int v : {x * 4, y * 6, 200 - x - y}) values.push_back(static_cast<uint8_t>(v));
    }
  }
  const Tensor image = tensor(values, Shape{32, 48, 3});
  const auto farthest = [&](int quality) {
    const auto got = decode_image(jpeg_bytes(image, {.quality = quality})).to_vector<uint8_t>();
    BOOST_REQUIRE(got.size() == values.size());
    int most = 0;
    for (size_t i = 0; i < got.size(); ++i) most = std::max(most, std::abs(got[i] - values[i]));
    return most;
  };
  BOOST_TEST(farthest(95) <= 8);
  BOOST_TEST(farthest(1) > 30);
  BOOST_TEST(jpeg_bytes(image).size() > jpeg_bytes(image, {.quality = 10}).size());
  // A grey block of one value has no other frequencies: it stays exactly.
  expect_image(decode_image(jpeg_bytes(tensor(Bytes(64, 77), Shape{8, 8}))), {8, 8, 1}, Bytes(64, 77));
  // Larger than the buffer in which it is made.
  const Tensor noise = image_of({300, 300, 3});
  BOOST_TEST(decode_image(jpeg_bytes(noise, {.quality = 100})).shape().to_string() == "[300,300,3]");
  BOOST_TEST(jpeg_bytes(noise, {.quality = 100}).size() > 100000U);
}

BOOST_AUTO_TEST_CASE(channels_that_are_asked_for) {
  const std::string grey = png(1, 8, 0, {{100}}), grey_alpha = png(1, 8, 4, {{100, 50}}),
                    colour = png(1, 8, 2, {{10, 200, 30}}), colour_alpha = png(1, 8, 6, {{10, 200, 30, 50}});
  const auto expect = [](const std::string& bytes, int64_t channels, const Bytes& values) {
    expect_image(decode_image(bytes, {.channels = channels}), {1, 1, channels}, values);
  };
  expect(grey, 1, {100});
  expect(grey, 2, {100, 255});
  expect(grey, 3, {100, 100, 100});
  expect(grey, 4, {100, 100, 100, 255});
  expect(grey_alpha, 1, {100});
  expect(grey_alpha, 4, {100, 100, 100, 50});
  // 0.299 * 10 + 0.587 * 200 + 0.114 * 30 = 123.81.
  expect(colour, 1, {124});
  expect(colour, 2, {124, 255});
  expect(colour, 4, {10, 200, 30, 255});
  expect(colour_alpha, 1, {124});
  expect(colour_alpha, 2, {124, 50});
  expect(colour_alpha, 3, {10, 200, 30});
  expect(png(1, 8, 2, {{255, 255, 255}}), 1, {255});
  BOOST_TEST(read_image(kImages + "grey.jpg", {.channels = 3}).dim(2) == 3);
  for (const int64_t n : {-1, 5}) {
    expect_error(
        [&] { (void)decode_image(grey, {.channels = n}); },
        "InvalidArgument: image: expected 1 to 4 channels, or 0 for those of the file, got " + std::to_string(n));
  }
}

BOOST_AUTO_TEST_CASE(files) {
  const TestFolder folder;
  const Tensor image = image_of({4, 5, 3});
  write_png(folder / "a.png", image);
  expect_image(read_image(folder / "a.png"), {4, 5, 3}, image.to_vector<uint8_t>());
  write_jpeg(folder / "a.jpg", image, {.quality = 50});
  BOOST_TEST(read_image(folder / "a.jpg").shape().to_string() == "[4,5,3]");
  BOOST_TEST(folder.files() == 2U);
  expect_error([&] { (void)read_image(folder / "no.png"); },
               "NotFound: cannot open file '" + (folder / "no.png") + "': No such file or directory");
  write_file(folder / "a.png", "text");
  expect_error([&] { (void)read_image(folder / "a.png"); },
               "InvalidArgument: image: expected the bytes of a PNG, JPEG, GIF or BMP, got others [in file '" +
                   (folder / "a.png") + "']");
  expect_error([&] { write_png(folder / "no/a.png", image); },
               "NotFound: cannot write file '" + (folder / "no/a.png") + "': No such file or directory");
}

BOOST_AUTO_TEST_CASE(files_of_other_formats) {
  const TestFolder folder;
  for (const char* name : {"a.png", "a.bmp", "a.BMP"}) {
    const Tensor image = image_of({4, 5, 3});
    write_image(folder / name, image);
    expect_image(read_image(folder / name), {4, 5, 3}, image.to_vector<uint8_t>());
  }
  expect_image(decode_image(bmp_bytes(image_of({3, 5}))), {3, 5, 1}, image_of({3, 5}).to_vector<uint8_t>());
  expect_image(decode_image(bmp_bytes(image_of({3, 5, 4}))), {3, 5, 4}, image_of({3, 5, 4}).to_vector<uint8_t>());
  const Tensor colours = image_of({9, 8, 3});
  write_image(folder / "a.gif", colours);
  expect_image(read_image(folder / "a.gif"), {9, 8, 3}, colours.to_vector<uint8_t>());
  const Tensor frames = read_image(folder / "a.gif", {.channels = 4, .expand_animations = true});
  BOOST_TEST(frames.shape().to_string() == "[1,9,8,4]");
  expect_image(read_image(folder / "a.gif", {.channels = 1}), {9, 8, 1},
               decode_image(png_bytes(colours), {.channels = 1}).to_vector<uint8_t>());
  write_gif(folder / "one.gif", tensor(Bytes(6, 77), Shape{2, 3}));
  expect_image(read_image(folder / "one.gif", {.channels = 1}), {2, 3, 1}, Bytes(6, 77));
  Bytes many(3 * 257);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<uint8_t>(i % 3 == 0 ? i / 3 : i / 768);
  expect_error([&] { (void)gif_bytes(tensor(many, Shape{1, 257, 3})); },
               "InvalidArgument: gif: expected at most 256 colours, got more");
  expect_error(
      [] { (void)bmp_bytes(image_of({2, 2, 2})); },
      "InvalidArgument: bmp: expected uint8 [height, width, channels] with 1, 3 or 4 channels, got uint8[2,2,2]");
  expect_error([&] { write_image(folder / "a.tiff", colours); },
               "InvalidArgument: image: expected a path that ends in .png, .jpg, .jpeg, .bmp or .gif, got '" +
                   (folder / "a.tiff") + "'");
  write_file(folder / "bad.gif", gif_bytes(colours).substr(0, 100));
  expect_error_begins([&] { (void)read_image(folder / "bad.gif"); }, "DataLoss: gif: expected whole frames, got: ");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_written) {
  for (const Tensor& t :
       {image_of({2, 2, 5}), image_of({2, 0, 3}), image_of({4}), image_of({2, 2, 0}), image_of({1, 1, 1, 1})}) {
    expect_error([&] { (void)png_bytes(t); },
                 "InvalidArgument: png: expected uint8 [height, width, channels] with 1 to 4 channels, got uint8" +
                     t.shape().to_string());
  }
  expect_error([] { (void)png_bytes(tensor({{1.f}})); },
               "InvalidArgument: png: expected uint8 [height, width, channels] with 1 to 4 channels, got float32[1,1]");
  for (const int64_t channels : {2, 4}) {
    expect_error(
        [&] { (void)jpeg_bytes(image_of({2, 2, channels})); },
        "InvalidArgument: jpeg: expected uint8 [height, width, channels] with 1 or 3 channels, got uint8[2,2," +
            std::to_string(channels) + "]");
  }
  for (const int quality : {0, 101, -5}) {
    expect_error([&] { (void)jpeg_bytes(image_of({2, 2}), {.quality = quality}); },
                 "InvalidArgument: jpeg: expected a quality of 1 to 100, got " + std::to_string(quality));
  }
  expect_error([] { (void)jpeg_bytes(tensor(Bytes(70000), Shape{1, 70000})); },
               "InvalidArgument: jpeg: expected sides of at most 65500, got 70000 x 1");
  expect_error([] { (void)png_bytes(meta_tensor(kUint8, {2, 2})); },
               "FailedPrecondition: copy: expected a tensor with a value, got symbolic uint8[2,2]");
}

BOOST_AUTO_TEST_CASE(images_that_are_too_large) {
  // A few bytes that say they are many: refused before memory is taken.
  const auto small = [](uint32_t width, uint32_t height) {
    return kSignature + header(width, height, 8, 6) + chunk("IDAT", deflated(std::string(100, '\0'))) +
           chunk("IEND", "");
  };
  expect_error_begins([&] { (void)decode_image(small(100000, 100000)); },
                      "DataLoss: png: expected at least 38759786 bytes for 100000 x 100000 pixels, got ");
  expect_error_begins([&] { (void)decode_image(small(2000000, 1)); }, "DataLoss: png: expected a whole image, got: ");
  expect_error_begins([&] { (void)decode_image(small(0, 5)); }, "DataLoss: png: expected a whole image, got: ");
  // One that is what it says: 16 MB of zeros in 16 KB.
  const std::string bomb = kSignature + header(4000, 4000, 8, 0) +
                           chunk("IDAT", deflated(std::string(4000 * 4001, '\0'))) + chunk("IEND", "");
  BOOST_TEST(bomb.size() < 20000U);
  BOOST_TEST(decode_image(bomb).numel() == 16000000);
  expect_error([&] { (void)decode_image(bomb, {.max_bytes = 15999999}); },
               "ResourceExhausted: image: expected at most 15999999 bytes when decoded (ImageOptions::max_bytes), got "
               "16000000");
  expect_error([&] { (void)decode_image(bomb, {.channels = 4, .max_bytes = 16000000}); },
               "ResourceExhausted: image: expected at most 16000000 bytes when decoded (ImageOptions::max_bytes), got "
               "64000000");
  std::string jpeg = read_file(kImages + "colours.jpg");
  const size_t frame = jpeg.find(std::string("\xff\xc0", 2));
  for (size_t i = 0; i < 4; ++i) jpeg[frame + 5 + i] = static_cast<char>(0xf0);  // height and width
  expect_error([&] { (void)decode_image(jpeg); },
               "ResourceExhausted: image: expected at most 268435456 bytes when decoded (ImageOptions::max_bytes), got "
               "11413267200");
}

BOOST_AUTO_TEST_CASE(other_bytes) {
  for (const std::string& bytes :
       {std::string(), std::string("\x89PNG"), std::string("GIF88a"), std::string("\xff\xd8")}) {
    expect_error([&] { (void)decode_image(bytes); },
                 "InvalidArgument: image: expected the bytes of a PNG, JPEG, GIF or BMP, got others");
  }
  expect_error([] { (void)read_image(kImages + "cmyk.jpg"); },
               "Unimplemented: jpeg: expected grey, YCbCr or RGB, got 4 channels of other colours [in file '" +
                   kImages + "cmyk.jpg']");
  expect_error([] { (void)decode_image(kSignature); },
               "DataLoss: png: expected a whole image, got: the bytes end too early");
  // Wrong checksums, missing and foreign chunks.
  std::string bytes = png(2, 8, 0, {{1, 2}, {3, 4}});
  bytes[bytes.find("IDAT") + 8] ^= 1;
  expect_error_begins([&] { (void)decode_image(bytes); }, "DataLoss: png: expected a whole image, got: IDAT: ");
  expect_error_begins([] { (void)decode_image(kSignature + header(1, 1, 8, 0) + chunk("IEND", "")); },
                      "DataLoss: png: expected a whole image, got: ");
  expect_error_begins([] { (void)decode_image(png(1, 8, 3, {{0}})); }, "DataLoss: png: expected a whole image, got: ");
  expect_error_begins([] { (void)decode_image(png(3, 8, 2, {{1, 2}})); },
                      "DataLoss: png: expected a whole image, got: ");
}

BOOST_AUTO_TEST_CASE(every_truncation_is_noticed) {
  std::vector<std::string> images = {png_bytes(image_of({6, 5, 3})), png(4, 1, 0, {{0x50}, {0xa0}})};
  for (const char* name : {"colours.jpg", "progressive.jpg", "grey.jpg"}) images.push_back(read_file(kImages + name));
  for (const std::string& bytes : images) {
    BOOST_TEST(survives(bytes));
    for (size_t n = 0; n < bytes.size(); ++n) BOOST_TEST(!survives(bytes.substr(0, n)), n << " of " << bytes.size());
  }
}

BOOST_AUTO_TEST_CASE(damaged_images_are_survived) {
  std::mt19937 random(8);
  for (const char* name : {"colours.jpg", "progressive.jpg", "grey.jpg", "cmyk.jpg"}) {
    const std::string bytes = read_file(kImages + name);
    int errors = 0;
    for (int i = 0; i < 3000; ++i) {
      std::string changed = bytes;
      for (size_t k = 1 + random() % 4; k > 0; --k) changed[random() % changed.size()] = static_cast<char>(random());
      errors += survives(changed) ? 0 : 1;
    }
    BOOST_TEST(errors > 100, name);
  }
  // Of PNGs the checksums are made right again, so that what is behind them is reached.
  int errors = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string raw(3 * 13, '\0');
    for (char& c : raw) c = static_cast<char>(random() % 7);
    std::string head =
        big_endian(static_cast<uint32_t>(random() % 8)) + big_endian(static_cast<uint32_t>(random() % 5));
    for (const int n : {17, 8, 2, 2, 2}) head += static_cast<char>(random() % static_cast<unsigned>(n));
    std::string data = deflated(raw);
    if (i % 3 == 0) data[random() % data.size()] ^= static_cast<char>(1 << (random() % 8));
    std::string bytes = kSignature + chunk("IHDR", head);
    if (i % 2 == 0) bytes += chunk("PLTE", std::string(random() % 12, 'p'));
    if (i % 5 == 0) bytes += chunk("tRNS", std::string(random() % 8, 't'));
    errors += survives(bytes + chunk("IDAT", data) + chunk("IEND", "")) ? 0 : 1;
  }
  BOOST_TEST(errors > 3000);
  BOOST_TEST(errors < 6000);
}

// An image that is decoded anew for each of its scans, of which a few bytes make one.
BOOST_AUTO_TEST_CASE(endless_scans) {
  const std::string bytes = read_file(kImages + "progressive.jpg");
  const size_t scan = bytes.find(std::string("\xff\xda", 2)), next = bytes.find("\xff", scan + 14);
  std::string many = bytes.substr(0, next);
  for (int i = 0; i < 2000; ++i) many += bytes.substr(scan, next - scan);
  many += bytes.substr(next);
  expect_error_begins([&] { (void)decode_image(many); }, "DataLoss: jpeg: expected a whole image, got: ");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
