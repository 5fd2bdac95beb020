// Images as text and as PNG.
#include "panto/nn/summaries/picture.h"

#include "panto/lib/base/file.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/ops.h"
#include "panto/nn/data/image.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(pictures)

BOOST_AUTO_TEST_CASE(text_of_images) {
  const Tensor x = tensor({{0.f, 1.f}, {0.f, 1.f}, {0.5f, 0.5f}, {0.5f, 2.f}});
  BOOST_TEST(image_text(x, {.ascii = true}) == " @\n=#\n");
  const Tensor red = tensor<uint8_t>({{{255, 0, 0}}, {{0, 0, 255}}});
  BOOST_TEST(image_text(red, {}) == "\x1b[38;2;255;0;0m\x1b[48;2;0;0;255m\u2580\x1b[0m\n");
  // Alpha lies on black; what is wide is made smaller, by means.
  BOOST_TEST(image_text(tensor<uint8_t>({{{200, 0}, {200, 255}}}), {}) ==
             "\x1b[38;2;0;0;0m\x1b[48;2;0;0;0m\u2580\x1b[38;2;200;200;200m\x1b[48;2;0;0;0m\u2580\x1b[0m\n");
  const Tensor wide = concat({ones({1, 50}), zeros({1, 50})}, 1);
  BOOST_TEST(image_text(wide, {.width = 4, .ascii = true}) == "@@  \n");
  BOOST_TEST(image_text(tensor({{true, false}}), {.ascii = true}) == "@ \n");
}

BOOST_AUTO_TEST_CASE(files_of_images_and_what_is_none) {
  const TestFolder folder;
  image(tensor({{0.f, 1.f}}), {.path = folder / "x.png"});
  BOOST_TEST(values_of(read_image(folder / "x.png")) == (std::vector<double>{0, 255}),
             boost::test_tools::per_element());
  image(tensor({{0.f, 1.f}}), {.path = folder / "x.svg"});
  BOOST_TEST(read_file(folder / "x.svg") == image_svg(tensor({{0.f, 1.f}})));
  expect_error([&] { image(ones({2, 2}), {.path = "x.gif"}); },
               "InvalidArgument: image: expected a path *.png or *.svg, got 'x.gif'");
  expect_error_begins([] { image(ones({2, 2, 5})); }, "InvalidArgument: image: expected [height, width], or ");
  expect_error_begins([] { image(ones({0, 2})); }, "InvalidArgument: image: expected [height, width], or ");
  expect_error([] { image(tensor({{1, 2}})); },
               "InvalidArgument: image: expected uint8, bool or a floating-point dtype, got int32");
  expect_error([] { image_text(ones({2, 2}), {.width = 0}); },
               "InvalidArgument: image: expected a width of 1 to 1000, got 0");
}

// The PNG of the same pixels, in base 64, each a square of 128 units.
BOOST_AUTO_TEST_CASE(svg_of_images) {
  const std::string svg = image_svg(tensor({{0.f, 1.f}}));
  BOOST_TEST(
      svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 2 1\" width=\"256\" height=\"128\">\n"
                      "<image href=\"data:image/png;base64,iVBORw0KGgo"));
  BOOST_TEST(svg.ends_with("\" width=\"2\" height=\"1\" style=\"image-rendering:pixelated\"/>\n</svg>\n"));
  BOOST_TEST(image_svg(ones({300, 2})).find("width=\"2\" height=\"300\">") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
