// Tables as text.
#include "panto/nn/data/csv.h"

#include <cmath>
#include <random>

#include "panto/lib/base/file.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"

namespace panto {
namespace {

std::vector<std::string> texts(std::string_view text, char separator = ',') {
  return parse_csv(text, {.header = false, .separator = separator, .dtype = kString}).values.to_vector<std::string>();
}

void expect_fault(std::string_view text, std::string_view message, const CsvOptions& options = {}) {
  expect_error([&] { (void)parse_csv(text, options); }, message);
}

using Texts = std::vector<std::string>;

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(csv)

BOOST_AUTO_TEST_CASE(a_table) {
  const CsvTable t = parse_csv("a,b,c\n1,2,3\n4.5,-5e1,+6\n");
  BOOST_TEST((t.columns == Texts{"a", "b", "c"}));
  expect_near(t.values, {2, 3}, {1, 2, 3, 4.5, -50, 6});
  BOOST_TEST(dtype_name(t.values.dtype()) == "float32");
  BOOST_TEST(!t.labels.defined());
}

BOOST_AUTO_TEST_CASE(columns_and_labels) {
  const std::string text = "id,x,kind,y\n7,1,cat,2\n8,3,\"big dog\",4\n";
  const CsvTable t = parse_csv(text, {.columns = {"y", "x"}, .label = "kind", .label_dtype = kString});
  expect_near(t.values, {2, 2}, {2, 1, 4, 3});
  BOOST_TEST((t.labels.to_vector<std::string>() == Texts{"cat", "big dog"}));
  BOOST_TEST((t.columns == Texts{"y", "x"}));
  const CsvTable other = parse_csv("x,y,n\n1,2,3\n", {.label = "x", .dtype = kFloat64, .label_dtype = kInt32});
  BOOST_TEST((other.columns == Texts{"y", "n"}));
  expect_near(other.values, {1, 2}, {2, 3});
  BOOST_TEST((other.labels.to_vector<int32_t>() == std::vector<int32_t>{1}));
  const CsvTable numbered = parse_csv("1,2,3\n4,5,6", {.header = false, .columns = {"2", "0"}});
  expect_near(numbered.values, {2, 2}, {3, 1, 6, 4});
}

BOOST_AUTO_TEST_CASE(quotes_and_line_ends) {
  BOOST_TEST((texts("a,b\r\nc,d\r\n") == Texts{"a", "b", "c", "d"}));
  BOOST_TEST((texts("a,b") == Texts{"a", "b"}));
  BOOST_TEST(
      (texts("\"a,b\",\"say \"\"hi\"\"\"\n\"two\nlines\",\"\"\n") == Texts{"a,b", "say \"hi\"", "two\nlines", ""}));
  BOOST_TEST((texts("\"\"\"\",\"\r\n\"") == Texts{"\"", "\r\n"}));
  BOOST_TEST((texts(",\n,") == Texts{"", "", "", ""}));
  BOOST_TEST((texts("\n\na\r\n\r\nb\n\n") == Texts{"a", "b"}));
  BOOST_TEST((texts("\xef\xbb\xbf"
                    "a;b",
                    ';') == Texts{"a", "b"}));
  BOOST_TEST((texts("a\tb,c\n", '\t') == Texts{"a", "b,c"}));
  BOOST_TEST((texts(" a , b\n") == Texts{" a ", " b"}));
  expect_near(parse_csv("\"x\"\n\" 1 \"\n\t2\n").values, {2, 1}, {1, 2});
}

BOOST_AUTO_TEST_CASE(empty_tables) {
  BOOST_TEST(parse_csv("a,b").values.shape().to_string() == "[0,2]");
  BOOST_TEST(parse_csv("", {.header = false}).values.shape().to_string() == "[0,0]");
  expect_fault("", "InvalidArgument: csv: expected a line with the columns' names, got none");
  expect_fault("\n\r\n", "InvalidArgument: csv: expected a line with the columns' names, got none");
}

BOOST_AUTO_TEST_CASE(numbers) {
  const auto one = [](std::string_view text, DType dtype) {
    return values_of(parse_csv(text, {.header = false, .dtype = dtype}).values)[0];
  };
  BOOST_TEST(one("0.1", kFloat64) == 0.1);
  BOOST_TEST(one("0.1", kFloat32) == double{0.1F});
  BOOST_TEST(std::isnan(one("nan", kFloat32)));
  BOOST_TEST(one("-inf", kFloat32) == -INFINITY);
  BOOST_TEST(one("1e-60", kFloat32) == 0);
  BOOST_TEST(one("1e-40", kFloat32) == double{1e-40F});
  BOOST_TEST(one("3.4028234e38", kFloat32) == double{3.4028234e38F});
  BOOST_TEST(one("-128", kInt8) == -128);
  BOOST_TEST(one("255", kUint8) == 255);
  const auto fault = [](std::string_view text, DType dtype) {
    expect_fault(text,
                 "InvalidArgument: csv: expected " + std::string(dtype_name(dtype)) + ", got '" + std::string(text) +
                     "' [line 1, column '0']",
                 {.header = false, .dtype = dtype});
  };
  for (const char* text : {"abc", "1x", "1 2", "--1", "+-1", "0x10", "1e39", "-"}) fault(text, kFloat32);
  fault("1e999", kFloat64);
  fault("1.0", kInt32);
  fault("128", kInt8);
  fault("-1", kUint64);
  fault("99999999999999999999", kInt64);
}

BOOST_AUTO_TEST_CASE(missing_fields) {
  expect_fault("a,b\n1,\n", "InvalidArgument: csv: expected float32, got an empty field [line 2, column 'b']");
  expect_fault("a,b\n1,2\n\" \",3\n",
               "InvalidArgument: csv: expected float32, got an empty field [line 3, column 'a']");
  expect_near(parse_csv("a,b\n1,\n,2\n", {.missing = -1}).values, {2, 2}, {1, -1, -1, 2});
  BOOST_TEST(std::isnan(values_of(parse_csv("a,b\n1,\n", {.missing = NAN}).values)[1]));
  expect_near(parse_csv("a,b\n1,\n", {.dtype = kInt8, .missing = 127}).values, {1, 2}, {1, 127});
  for (const double value : {0.5, 128.0, -129.0, 1e300, static_cast<double>(NAN)}) {
    BOOST_TEST(error_text([&] {
                 (void)parse_csv("a\n1\n", {.dtype = kInt8, .missing = value});
               }).starts_with("InvalidArgument: csv: expected a number for missing fields that fits int8, got "));
  }
}

BOOST_AUTO_TEST_CASE(faults_name_line_and_column) {
  expect_fault("a,b\n1,2\n\n3,x\n", "InvalidArgument: csv: expected float32, got 'x' [line 4, column 'b']");
  // The lines of the text are counted, those inside quotes too.
  expect_fault("a,b\n\"1\n\",2\n", "InvalidArgument: csv: expected float32, got '1\\n' [line 2, column 'a']");
  expect_fault("\"a\n\n\",b\n1,z\n", "InvalidArgument: csv: expected float32, got 'z' [line 4, column 'b']");
  expect_fault("a,b\n1,2\n3\n", "InvalidArgument: csv: expected 2 fields, got 1 [line 3]");
  expect_fault("a,b\n1,2,3\n", "InvalidArgument: csv: expected 2 fields, got 3 [line 2]");
  expect_fault("a\n\"1\n", "InvalidArgument: csv: expected a closing quote, got the end of the text [line 2]");
  expect_fault(
      "a\n\"1\"2\n",
      "InvalidArgument: csv: expected a separator or the line's end behind the closing quote, got '2' [line 2]");
  expect_fault("a\n1\"2\"\n",
               "InvalidArgument: csv: expected quotes around the whole field, got one inside it [line 2]");
  expect_fault("a\r1\r",
               "InvalidArgument: csv: expected a line feed after a carriage return, got something else [line 1]");
  expect_fault(std::string("a\n1\0\n", 5), "InvalidArgument: csv: expected float32, got '1\\x00' [line 2, column 'a']");
}

BOOST_AUTO_TEST_CASE(options_that_cannot_be) {
  expect_fault("a,b\n", "InvalidArgument: csv: expected a column called 'c', got a, b", {.columns = {"c"}});
  expect_fault("a,a\n", "InvalidArgument: csv: expected one column called 'a', got several", {.label = "a"});
  expect_fault("a\n", "InvalidArgument: csv: expected float32, float64, an integer type or string, got bool",
               {.dtype = kBool});
  for (const char c : {'"', '\n', '\r'}) {
    BOOST_TEST(error_text([&] {
                 (void)parse_csv("a\n", {.separator = c});
               }).starts_with("InvalidArgument: csv: expected a separator that is neither a quote nor a line's end"));
  }
}

BOOST_AUTO_TEST_CASE(files) {
  const TestFolder folder;
  write_file(folder / "t.csv", "a\n1\n");
  expect_near(read_csv(folder / "t.csv").values, {1, 1}, {1});
  write_file(folder / "t.csv", "a\nx\n");
  expect_error(
      [&] { (void)read_csv(folder / "t.csv"); },
      "InvalidArgument: csv: expected float32, got 'x' [line 2, column 'a'] [in file '" + (folder / "t.csv") + "']");
  expect_error([&] { (void)read_csv(folder / "no.csv"); },
               "NotFound: cannot open file '" + (folder / "no.csv") + "': No such file or directory");
}

BOOST_AUTO_TEST_CASE(hostile_text) {
  expect_fault(std::string(3000000, ','), "InvalidArgument: csv: expected at most 1048576 columns, got more [line 1]");
  const std::string text = error_text([] { (void)parse_csv("a\n" + std::string(1000000, 'x') + "\n"); });
  BOOST_TEST(text.size() < 500U);
  BOOST_TEST(text.ends_with("[line 2, column 'a']"));
  BOOST_TEST(error_text([] {
               (void)parse_csv(std::string(1000000, 'n') + "\n1\n", {.columns = {std::string(1000000, 'm')}});
             }).size() < 1000U);
  // Any bytes: a table or an Error.
  std::mt19937 random(3);
  int errors = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes;
    for (size_t k = random() % 40; k > 0; --k) bytes += "\"\",,\n\r\t 01.-e\xffx;"[random() % 16];
    try {
      (void)parse_csv(bytes, {.header = i % 2 == 0, .dtype = i % 3 == 0 ? kString : kFloat32, .missing = 0});
    } catch (const Error& error) {
      ++errors;
      BOOST_REQUIRE(error.code() == Code::kInvalidArgument);
    }
  }
  BOOST_TEST(errors > 5000);
  BOOST_TEST(errors < 20000);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
