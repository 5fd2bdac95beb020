// Datasets of files: what they give, what they say of damage, and where they go on.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "panto/lib/base/file.h"
#include "panto/lib/core/io/npy.h"
#include "panto/lib/core/io/record_file.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/nn/data/dataset.h"
#include "panto/nn/data/image.h"
#include "panto/nn/data/image_folder.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"

namespace panto {
namespace {

using Texts = std::vector<std::string>;

// What tensors hold, those of an element with blanks between.
Texts all(const Dataset& dataset) {
  Texts texts;
  for (const Element& e : dataset) {
    std::string text;
    for (const Tensor& t : e) {
      text += (text.empty() ? "" : " ") + (t.dtype() == kString ? t.item<std::string>() : t.to_string());
    }
    texts.push_back(text);
  }
  return texts;
}

// A pass that is left at any element goes on in a dataset that is made anew.
void expect_positions(const std::function<Dataset()>& make) {
  const Texts whole = all(make());
  for (size_t left_at = 0; left_at < whole.size(); ++left_at) {
    const Dataset first = make(), second = make();
    auto at = first.begin();
    for (size_t i = 0; i < left_at; ++i) ++at;
    second.restore(at.state());
    BOOST_TEST(all(second) == Texts(whole.begin() + static_cast<std::ptrdiff_t>(left_at) + 1, whole.end()),
               boost::test_tools::per_element());
    BOOST_TEST((all(second) == whole));
  }
}

void write_records(const std::string& path, const Texts& records, Compression compression = Compression::kNone) {
  RecordWriter writer(path, compression);
  for (const std::string& r : records) writer.write(r);
  writer.close();
}

// What is left out is noted here.
struct Told {
  Texts errors;
  BadInput listener() {
    return [this](const Error& e) { errors.emplace_back(e.what()); };
  }
};

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(dataset_files)

BOOST_AUTO_TEST_CASE(lines) {
  const TestFolder folder;
  write_file(folder / "a", "head\none\r\n\nthree");
  write_file(folder / "b", "head\n");
  write_file(folder / "c", "head\nfour\n" + std::string(300000, 'x') + "\n");
  const Texts files = {folder / "a", folder / "b", folder / "c"};
  const auto make = [&] { return Dataset::from_lines(files, {.skip_lines = 1}); };
  BOOST_TEST((all(make()) == Texts{"one", "", "three", "four", std::string(300000, 'x')}));
  BOOST_TEST((all(Dataset::from_lines({files[1], files[1]})) == Texts{"head", "head"}));
  BOOST_TEST(all(Dataset::from_lines(files[1]).repeat(2)).size() == 2U);
  BOOST_TEST(Dataset::from_lines(Texts{}).size().value() == 0);
  expect_positions(make);
  expect_positions([&] { return make().shuffle(2, {.seed = 3, .reshuffle_each_pass = false}).prefetch(2); });
  expect_error_begins([&] { all(Dataset::from_lines(folder / "none")); }, "NotFound: cannot open file '");
  expect_error([&] { Dataset::from_lines(files, {.skip_lines = -1}); },
               "InvalidArgument: from_lines: expected a number of lines of at least 0, got -1");
  // A file that has less than when the state was saved.
  auto at = make().skip(3).begin();
  const std::string state = at.state();
  write_file(folder / "c", "head\n");
  const Dataset shorter = make().skip(3);
  expect_error_begins([&] { shorter.restore(state); }, "DataLoss: file '");
}

BOOST_AUTO_TEST_CASE(records) {
  const TestFolder folder;
  const Texts texts = {"first", "", std::string(100000, 'y'), "last"};
  for (const Compression c : {Compression::kNone, Compression::kGzip, Compression::kZlib}) {
    write_records(folder / "a", texts, c);
    write_records(folder / "b", {"more"}, c);
    const auto make = [&] { return Dataset::from_tfrecord({folder / "a", folder / "b"}, {.compression = c}); };
    Texts expected = texts;
    expected.emplace_back("more");
    BOOST_TEST((all(make()) == expected));
    expect_positions(make);
  }
}

BOOST_AUTO_TEST_CASE(damaged_records) {
  const TestFolder folder;
  write_records(folder / "a", {"one", "two", "three"});
  write_records(folder / "b", {"four"});
  const Texts files = {folder / "a", folder / "b"};
  const std::string whole = read_file(folder / "a");
  const auto damage = [&](size_t at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    write_file(folder / "a", bytes);
  };
  // A record of n bytes takes n + 16.
  damage(19 + 12);
  expect_error_begins([&] { all(Dataset::from_tfrecord(files)); },
                      "DataLoss: file '" + files[0] + "': expected the checksum ");
  Told told;
  const auto make = [&] { return Dataset::from_tfrecord(files, {.skip_bad = true, .on_bad = told.listener()}); };
  BOOST_TEST((all(make()) == Texts{"one", "three", "four"}));
  BOOST_TEST(told.errors.size() == 1U);
  BOOST_TEST(told.errors[0].find("of the data of the record at byte 19") != std::string::npos);
  expect_positions(make);
  // A length: nobody knows where the next record begins.
  damage(19);
  told.errors.clear();
  BOOST_TEST((all(make()) == Texts{"one", "four"}));
  BOOST_TEST(told.errors.size() == 1U);
  BOOST_TEST(told.errors[0].find("of the length of the record at byte 19") != std::string::npos);
  expect_positions(make);
  write_file(folder / "a", whole.substr(0, whole.size() - 3));
  BOOST_TEST((all(make()) == Texts{"one", "two", "four"}));
  // Every byte, also of what is compressed.
  for (const Compression c : {Compression::kNone, Compression::kGzip}) {
    write_records(folder / "a", {"one", "two", "three"}, c);
    const std::string bytes = read_file(folder / "a");
    for (size_t i = 0; i < bytes.size(); ++i) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
      write_file(folder / "a", damaged);
      const Texts left =
          all(Dataset::from_tfrecord(files, {.compression = c, .skip_bad = true, .on_bad = told.listener()}).take(9));
      const std::set<std::string> known = {"one", "two", "three", "four"};
      BOOST_TEST(std::ranges::all_of(left, [&](const std::string& r) { return known.contains(r); }));
    }
    write_records(folder / "b", {"four"}, Compression::kGzip);
  }
  // A file that is not there is no bad record.
  expect_error_begins([&] { all(Dataset::from_tfrecord(folder / "none", {.skip_bad = true})); }, "NotFound: ");
}

BOOST_AUTO_TEST_CASE(fixed_records) {
  const TestFolder folder;
  write_file(folder / "a", "HHaabbccF");
  const auto make = [&] {
    return Dataset::from_fixed_records({folder / "a", folder / "a"}, 2, {.header_bytes = 2, .footer_bytes = 1});
  };
  BOOST_TEST((all(make()) == Texts{"aa", "bb", "cc", "aa", "bb", "cc"}));
  expect_positions(make);
  BOOST_TEST((all(Dataset::from_fixed_records(folder / "a", 3)) == Texts{"HHa", "abb", "ccF"}));
  expect_error(
      [&] { all(Dataset::from_fixed_records(folder / "a", 2)); },
      "DataLoss: file '" + folder / "a" + "': expected 2 bytes of the record at byte 8 and a footer of 0, got 1");
  expect_error([&] { all(Dataset::from_fixed_records(folder / "a", 2, {.header_bytes = 10})); },
               "DataLoss: file '" + folder / "a" + "': expected a header of 10 bytes, got 9");
  expect_error([&] { Dataset::from_fixed_records(folder / "a", 0); },
               "InvalidArgument: from_fixed_records: expected a positive number of bytes, got 0");
}

BOOST_AUTO_TEST_CASE(csv_rows) {
  const TestFolder folder;
  write_file(folder / "a.csv", "\xef\xbb\xbfname,age,x\r\n\"Ann, \"\"A\"\"\",31,1.5\r\n\r\n\"two\r\nlines\",,2\n");
  write_file(folder / "b.csv", "x,name,age\n4,Cy,7");
  const Texts files = {folder / "a.csv", folder / "b.csv"};
  const std::vector<CsvColumn> columns = {{"age", kInt32, "-1"}, {"name", kString}, {"x"}};
  const auto make = [&] { return Dataset::from_csv_rows(files, columns); };
  BOOST_TEST((all(make()) == Texts{"31 Ann, \"A\" 1.5", "-1 two\r\nlines 2.0", "7 Cy 4.0"}));
  BOOST_TEST((*make().begin()).to_string() == "(int32[], string[], float32[])");
  expect_positions(make);
  write_file(folder / "c", "1;2\n3;4");
  const Dataset second = Dataset::from_csv_rows(folder / "c", {{"1", kInt64}}, {.header = false, .separator = ';'});
  BOOST_TEST((all(second) == Texts{"2", "4"}));
  expect_positions([&] { return second; });
  write_file(folder / "empty", "");
  BOOST_TEST(all(Dataset::from_csv_rows(folder / "empty", {{"0"}}, {.header = false})).empty());
  const std::string in_empty = " [in file '" + folder / "empty" + "']";
  expect_error([&] { all(Dataset::from_csv_rows(folder / "empty", {{"0"}})); },
               "InvalidArgument: csv: expected a line with the columns' names, got none" + in_empty);
  expect_error_begins([&] { all(Dataset::from_csv_rows(files, {{"size"}})); },
                      "InvalidArgument: csv: expected a column called 'size', got name, age, x [in file '");
  expect_error([&] { Dataset::from_csv_rows(files, {}); },
               "InvalidArgument: csv: expected at least one column, got none");
  expect_error([&] { Dataset::from_csv_rows(files, {{"x", kInt32, "1.5"}}); },
               "InvalidArgument: csv: expected a default of column 'x' that is int32, got '1.5'");
  expect_error([&] { Dataset::from_csv_rows(files, {{"x", kBool, "1"}}); },
               "InvalidArgument: csv: expected float32, float64, an integer type or string, got bool");
}

constexpr const char* kBadRows = "a,b\n1,2\n3\n4,five\n\"6,7\n8,9\n1\"0,11\n12,13\n\"14\nx\",15,16\n17,18\n";

BOOST_AUTO_TEST_CASE(bad_csv_rows) {
  const TestFolder folder;
  write_file(folder / "t.csv", kBadRows);
  const std::string in_file = " [in file '" + folder / "t.csv" + "']";
  Texts expected = {"csv: expected 2 fields, got 1 [line 3]", "csv: expected float32, got 'five' [line 4, column 'b']",
                    "csv: expected a separator or the line's end behind the closing quote, got '0' [line 7]",
                    "csv: expected quotes around the whole field, got one inside it [line 7]",
                    "csv: expected 2 fields, got 3 [line 9]"};
  for (std::string& e : expected) e = "InvalidArgument: " + e + in_file;
  Told rows, table;
  const auto make = [&] {
    return Dataset::from_csv_rows(folder / "t.csv", {{"a"}, {"b"}}, {.skip_bad = true, .on_bad = rows.listener()});
  };
  BOOST_TEST((all(make()) == Texts{"1.0 2.0", "8.0 9.0", "12.0 13.0", "17.0 18.0"}));
  BOOST_TEST(rows.errors == expected, boost::test_tools::per_element());
  expect_positions(make);
  const CsvTable t = read_csv(folder / "t.csv", {.skip_bad = true, .on_bad = table.listener()});
  expect_near(t.values, {4, 2}, {1, 2, 8, 9, 12, 13, 17, 18});
  BOOST_TEST(table.errors == expected, boost::test_tools::per_element());
  expect_error([&] { all(Dataset::from_csv_rows(folder / "t.csv", {{"a"}, {"b"}})); }, expected[0]);
  expect_error([&] { read_csv(folder / "t.csv"); }, expected[0]);
  // A quote that never closes: the rows behind it are not lost.
  write_file(folder / "t.csv", "a,b\n1,2\n\"3,4\n5,6\n");
  BOOST_TEST((all(make()) == Texts{"1.0 2.0", "5.0 6.0"}));
  expect_near(read_csv(folder / "t.csv", {.skip_bad = true, .on_bad = table.listener()}).values, {2, 2}, {1, 2, 5, 6});
}

BOOST_AUTO_TEST_CASE(csv_defaults_and_classes) {
  const std::string text = "age,city,kind\n1,,dog\n,Ulm,cat\n3,Bern,dog\n";
  const CsvTable t =
      parse_csv(text, {.columns = {"age"}, .label = "kind", .defaults = {{"age", "-1"}}, .classes = true});
  expect_near(t.values, {3, 1}, {1, -1, 3});
  BOOST_TEST((t.labels.to_vector<int32_t>() == std::vector<int32_t>{1, 0, 1}));
  BOOST_TEST((t.classes == Texts{"cat", "dog"}));
  BOOST_TEST((parse_csv(text, {.columns = {"city"}, .dtype = kString, .defaults = {{"city", "?"}}})
                  .values.to_vector<std::string>() == Texts{"?", "Ulm", "Bern"}));
  expect_error([&] { (void)parse_csv(text, {.classes = true}); },
               "InvalidArgument: csv: expected a label, whose classes are to be numbered, got none");
  expect_error([&] { (void)parse_csv(text, {.defaults = {{"age", "x"}}}); },
               "InvalidArgument: csv: expected a default of column 'age' that is float32, got 'x'");
  expect_error([&] { (void)parse_csv(text, {.defaults = {{"size", "1"}}}); },
               "InvalidArgument: csv: expected a column called 'size', got age, city, kind");
}

BOOST_AUTO_TEST_CASE(arrays) {
  const TestFolder folder;
  write_npz(folder / "a.npz", {{"x", reshape(arange(6), {3, 2})}, {"y", tensor({7, 8, 9})}, {"z", tensor({1})}});
  const auto make = [&] { return Dataset::from_npz(folder / "a.npz", {"y", "x"}); };
  BOOST_TEST(make().size().value() == 3);
  BOOST_TEST((*make().begin()).to_string() == "(int32[], int32[2])");
  expect_positions(make);
  expect_error([&] { Dataset::from_npz(folder / "a.npz", {"w"}); },
               "NotFound: file '" + folder / "a.npz" + "': expected an array 'w', got none");
  expect_error([&] { Dataset::from_npz(folder / "a.npz"); },
               "InvalidArgument: from_tensors: expected the same first dimension, got shapes [3,2] and [1] [in file '" +
                   folder / "a.npz" + "']");
}

BOOST_AUTO_TEST_CASE(images_in_folders) {
  const TestFolder folder;
  const auto put = [&](const std::string& name, int value, const Shape& shape) {
    std::filesystem::create_directories(std::filesystem::path(folder / name).parent_path());
    const Tensor image = cast(full(shape, value), kUint8);
    name.ends_with(".bmp") ? write_bmp(folder / name, image) : write_png(folder / name, image);
  };
  put("rose/b.bmp", 3, {2, 3, 3});
  put("rose/a.PNG", 2, {2, 3, 3});
  put("daisy/deep/x.png", 1, {4, 6, 3});
  put("rose/.hidden.png", 9, {1, 1, 3});
  write_file(folder / "rose/notes.txt", "no image");
  write_file(folder / "loose.png", "not in a folder of a class");
  const ImageFolder found = list_image_folder(folder.path());
  BOOST_TEST((found.classes == Texts{"daisy", "rose"}));
  BOOST_TEST((found.files == Texts{folder / "daisy/deep/x.png", folder / "rose/a.PNG", folder / "rose/b.bmp"}));
  BOOST_TEST((found.labels == std::vector<int32_t>{0, 1, 1}));

  const Dataset plain = Dataset::from_image_folder(folder.path());
  BOOST_TEST(plain.size().value() == 3);
  int i = 0;
  for (const auto& [image, label] : plain) {
    BOOST_TEST(image.shape().to_string() == (i == 0 ? "[4,6,3]" : "[2,3,3]"));
    BOOST_TEST((cast(image, kInt32).to_vector<int32_t>().back() == i + 1 && label.item<int32_t>() == (i > 0)));
    ++i;
  }
  const auto make = [&] {
    return Dataset::from_image_folder(folder.path(), {.channels = 1, .height = 2, .width = 2, .threads = 2});
  };
  for (const auto& [images, labels] : make().batch(3)) {
    expect_near(images, {3, 2, 2, 1}, {1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3});
    BOOST_TEST((labels.to_vector<int32_t>() == std::vector<int32_t>{0, 1, 1}));
  }
  expect_positions(make);

  const std::string bytes = read_file(folder / "rose/a.PNG");
  write_file(folder / "rose/a.PNG", bytes.substr(0, bytes.size() / 2));
  expect_error_begins([&] { all(make()); }, "DataLoss: png: ");
  Told told;
  BOOST_TEST(all(Dataset::from_image_folder(folder.path(), {.skip_bad = true, .on_bad = told.listener()})).size() ==
             2U);
  BOOST_TEST(told.errors.size() == 1U);
  BOOST_TEST(told.errors[0].find("[in file '" + folder / "rose/a.PNG" + "']") != std::string::npos);

  expect_error_begins([&] { Dataset::from_image_folder(folder / "none"); }, "NotFound: cannot read file '");
  expect_error_begins([&] { Dataset::from_image_folder(folder / "daisy/deep"); }, "InvalidArgument: folder '");
  expect_error([&] { Dataset::from_image_folder(folder.path(), {.height = 3}); },
               "InvalidArgument: from_image_folder: expected a height and a width from 1 to 32768, got 3 and 0");
  std::filesystem::create_directory_symlink(folder.path(), folder / "rose/round");
  expect_error_begins([&] { list_image_folder(folder.path()); }, "InvalidArgument: folder '");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
