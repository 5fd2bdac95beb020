// Curves as text, as SVG and as PNG.
#include "panto/nn/training/plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "panto/lib/base/file.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/ops.h"
#include "panto/nn/data/image.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"

namespace panto {
namespace {

using Values = std::vector<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();

std::string text(const Values& values, const PlotOptions& options) { return plot_text({values}, options); }

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(plotting)

// A diagonal over 4 x 8 dots, two characters of U+285C by hand.
BOOST_AUTO_TEST_CASE(dots) {
  BOOST_TEST(text({0, 1}, {.width = 2, .height = 2}) ==
             "1 ┤ ⡜\n"
             "0 ┤⡜\n"
             "  └──\n"
             "   0 1\n");
  BOOST_TEST(text({1, 2, 4}, {.title = "loss", .width = 10, .height = 3, .ascii = true}) ==
             "loss\n"
             "  4 +       ***\n"
             "2.5 +   ****\n"
             "  1 +***\n"
             "    +----------\n"
             "     0        2\n");
}

BOOST_AUTO_TEST_CASE(several_curves) {
  BOOST_TEST(plot_text({{"up", Values{0, 1}}, {"down", std::vector<float>{1, 0}}}, {.width = 3, .height = 3}) ==
             "  1 ┤+ *\n"
             "0.5 ┤ +\n"
             "  0 ┤* +\n"
             "    └───\n"
             "     0 1\n"
             "     * up   + down\n");
  const std::string shorter =
      plot_text({Values{0, 0, 0, 0, 0}, Values{1, 1}}, {.width = 5, .height = 2, .ascii = true});
  BOOST_TEST(shorter ==
             "1 +++\n"
             "0 +*****\n"
             "  +-----\n"
             "   0   4\n"
             "   * 0   + 1\n");
}

BOOST_AUTO_TEST_CASE(gaps) {
  BOOST_TEST(text({0, 0, NAN, 0, kInf, -kInf, 0}, {.width = 7, .height = 3, .ascii = true}) ==
             " 1 +\n"
             " 0 +** *  *\n"
             "-1 +\n"
             "   +-------\n"
             "    0     6\n"
             "(3 values are not finite)\n");
  BOOST_TEST(text({0, 1, 100}, {.log_y = true, .width = 3, .height = 3, .ascii = true}) ==
             "100 +  *\n"
             " 10 +  *\n"
             "  1 + *\n"
             "    +---\n"
             "     0 2\n"
             "(1 value is not positive and finite)\n");
}

BOOST_AUTO_TEST_CASE(few_values) {
  BOOST_TEST(text({}, {}) == "(no values)\n");
  BOOST_TEST(text({NAN, kInf}, {.title = "t"}) == "t\n(nothing to draw: 2 values are not finite)\n");
  BOOST_TEST(text({-1}, {.log_y = true}) == "(nothing to draw: 1 value is not positive and finite)\n");
  BOOST_TEST(text({4}, {.width = 5, .height = 3, .ascii = true}) ==
             "6 +\n"
             "4 +  *\n"
             "2 +\n"
             "  +-----\n"
             "     0\n");
}

BOOST_AUTO_TEST_CASE(values_of_every_size) {
  // The difference of these two is no double.
  const double most = std::numeric_limits<double>::max();
  BOOST_TEST(text({-most, most}, {.width = 3, .height = 3, .ascii = true}) ==
             " 1.798e+308 +  *\n"
             "          0 + *\n"
             "-1.798e+308 +*\n"
             "            +---\n"
             "             0 1\n");
  // And of these, nothing can be halved.
  const double least = std::numeric_limits<double>::denorm_min();
  const std::string diagonal =
      "4.941e-324 +  *\n"
      "         0 + *\n"
      "         0 +*\n"
      "           +---\n"
      "            0 1\n";
  BOOST_TEST(text({0, least}, {.width = 3, .height = 3, .ascii = true}) == diagonal);
  for (const double value : {0., least, 1e-310, 1., 1e300, most, -least, -1., -most}) {
    for (const bool log_y : {false, true}) {
      const std::string one = text({value, value}, {.log_y = log_y, .width = 64, .ascii = true});
      BOOST_TEST(count(one, "*") == (log_y && !(value > 0) ? 0U : 64U), value);
      BOOST_TEST(count(one, "nan") == 0U, value);
      BOOST_TEST(count(one, "inf)") + count(one, "finite)") == (log_y && !(value > 0) ? 1U : 0U), value);
    }
  }
  // Many values, of which each column shows all that are in it.
  Values many;
  for (int i = 0; i < 100000; ++i) many.push_back(i % 2);
  BOOST_TEST(count(text(many, {.ascii = true}), "*") == 64U * 11U);
}

BOOST_AUTO_TEST_CASE(tensors) {
  const PlotOptions options{.width = 2, .height = 2};
  const std::string expected = text({0, 1}, options);
  BOOST_TEST(plot_text({tensor({0.F, 1.F})}, options) == expected);
  BOOST_TEST(plot_text({tensor({0, 1})}, options) == expected);
  BOOST_TEST(plot_text({tensor({false, true})}, options) == expected);
  BOOST_TEST(plot_text({tensor(std::vector<Half>{Half(0.F), Half(1.F)})}, options) == expected);
  expect_error([] { Curve(tensor({{1.F}})); },
               "InvalidArgument: plot: expected real numbers of rank 1, got float32[1,1]");
  expect_error([] { Curve(tensor(std::vector<std::string>{"a"})); },
               "InvalidArgument: plot: expected real numbers of rank 1, got string[1]");
}

BOOST_AUTO_TEST_CASE(svg) {
  const std::string svg = plot_svg({{"a<b", Values{0, 1, NAN, 0.5}}, {"c", Values{1, 0}}}, {.title = "t & u\n"});
  BOOST_TEST(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  BOOST_TEST(svg.ends_with("</svg>\n"));
  // Over 560 x 320 units from (70, 30) on.
  BOOST_TEST(count(svg, "<path d=\"M70.0 350.0h0 L256.7 30.0 M630.0 190.0h0\" fill=\"none\" stroke=\"#1f77b4\"") == 1U);
  BOOST_TEST(count(svg, "<path d=\"M70.0 30.0h0 L256.7 350.0\"") == 1U);
  BOOST_TEST(count(svg, ">t &amp; u\\n</text>") == 1U);
  BOOST_TEST(count(svg, ">a&lt;b</text>") == 1U);
  BOOST_TEST(count(svg, ">1 value is not finite</text>") == 1U);
  for (const char* label : {">0</text>", ">0.25</text>", ">0.5</text>", ">0.75</text>", ">1</text>", ">3</text>"}) {
    BOOST_TEST(count(svg, label) >= 1U, label);
  }
  BOOST_TEST(count(plot_svg({Values{}}, {}), "no values") == 1U);
  BOOST_TEST(count(plot_svg({Values{NAN}}, {}), "1 value is not finite") == 1U);
  // Many values: the extremes stay.
  Values many(1000000, 0.5);
  many[123456] = 7;
  many[654321] = -7;
  const std::string large = plot_svg({many}, {});
  BOOST_TEST(large.size() < 100000U);
  const std::string curve = large.substr(0, large.find(" fill=\"none\" stroke=\"#1f77b4\""));
  const std::string path = curve.substr(curve.rfind("<path"));
  BOOST_TEST(count(path, " 30.0") == 1U);
  BOOST_TEST(count(path, " 350.0") == 1U);
}

// The same picture in pixels: what lies where the SVG has it.
BOOST_AUTO_TEST_CASE(png) {
  const auto pixels = [](const std::vector<Curve>& curves, const PlotOptions& options) {
    const TestFolder folder;
    write_file(folder / "p.png", plot_png(curves, options));
    return read_image(folder / "p.png");
  };
  using Colour = std::vector<double>;
  const auto at = [](const Tensor& x, int64_t row, int64_t column) { return values_of(x(row, column)); };
  const Tensor x = pixels({{"a", Values{0, 1, NAN, 0.5}}, {"b", Values{1, 0}}}, {.title = "t"});
  BOOST_TEST(x.shape() == (Shape{800, 1300, 3}));
  const Colour blue = {0x1f, 0x77, 0xb4}, red = {0xd6, 0x27, 0x28}, white = {255, 255, 255}, black = {0, 0, 0};
  BOOST_TEST(at(x, 0, 0) == white);
  // The first curve goes from (70, 350) to (256.7, 30), and has a point at (630, 190); twice as many pixels.
  BOOST_TEST(at(x, 380, 1260) == blue);
  BOOST_TEST(at(x, 390, 1260) == white);
  BOOST_TEST(at(x, 540, 233) == blue);
  // The second one lies above it where they meet.
  BOOST_TEST(at(x, 380, 326) == red);
  // Axes: the left one's middle, and the lower one's.
  BOOST_TEST(at(x, 420, 140)[0] < 200);
  BOOST_TEST(at(x, 700, 900)[0] < 200);
  // Letters: a "0" of five by seven dots, of two pixels each, at the axis's end, and the title's.
  BOOST_TEST(at(x, 725, 141) == black);
  BOOST_TEST(at(x, 722, 140) == white);
  const Tensor title = x(Slice(20, 36), Slice(690, 710), 0);
  BOOST_TEST(std::ranges::min(values_of(title)) == 0);
  // A letter that the font has not is one box, whatever its bytes.
  BOOST_TEST(plot_png({Values{1}}, {.title = "\u00e9"}) == plot_png({Values{1}}, {.title = "\u20ac"}));
  BOOST_TEST(plot_png({Values{1}}, {.title = "\u00e9"}) != plot_png({Values{1}}, {.title = "e"}));
}

BOOST_AUTO_TEST_CASE(files) {
  const TestFolder folder;
  plot({1, 2, 3}, {.path = folder / "l.svg"});
  BOOST_TEST(read_file(folder / "l.svg") == plot_svg({Values{1, 2, 3}}, {}));
  plot(tensor({1.F, 2.F, 3.F}), {.path = folder / "l.svg"});
  plot({{"a", Values{1}}, {"b", tensor({1.F})}}, {.path = folder / "l.svg"});
  BOOST_TEST(folder.files() == 1U);
  plot({1, 2, 3}, {.path = folder / "l.png"});
  BOOST_TEST(read_file(folder / "l.png") == plot_png({Values{1, 2, 3}}, {}));
  expect_error([&] { plot({1}, {.path = "l.gif"}); },
               "InvalidArgument: plot: expected a path *.svg or *.png, got 'l.gif'");
  expect_error([&] { plot({1}, {.path = folder / "no/l.svg"}); },
               "NotFound: cannot write file '" + (folder / "no/l.svg") + "': No such file or directory");
}

BOOST_AUTO_TEST_CASE(misuse) {
  expect_error([] { (void)plot_text({}, {}); }, "InvalidArgument: plot: expected 1 to 8 curves, got 0");
  expect_error([] { (void)plot_svg(std::vector<Curve>(9, Values{1}), {}); },
               "InvalidArgument: plot: expected 1 to 8 curves, got 9");
  for (const int64_t size : {-1, 1, 1001}) {
    const std::string message =
        "InvalidArgument: plot: expected a width and height of 2 to 1000, got " + std::to_string(size);
    expect_error([&] { (void)text({1}, {.width = size}); }, message);
    expect_error([&] { (void)text({1}, {.height = size}); }, message);
  }
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
