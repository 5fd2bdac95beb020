// What stages and sources of a Dataset give: as tf.data where it has the same, tests/reference/training/data_cases.py.
#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "panto/lib/base/file.h"
#include "panto/lib/core/io/npy.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/nn/data/dataset.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"

namespace panto {
namespace {

using Numbers = std::vector<int64_t>;

Dataset numbers(int64_t n) { return Dataset::range(n); }

Numbers all(const Dataset& dataset) {
  Numbers result;
  for (const Element& e : dataset) {
    for (const Tensor& t : e) {
      for (const int64_t v : cast(t, kInt64).to_vector<int64_t>()) result.push_back(v);
    }
  }
  return result;
}
Numbers shapes(const Dataset& dataset) {
  Numbers result;
  for (const Tensor t : dataset) {
    result.push_back(t.rank());
    for (const int64_t d : t.shape().dims()) result.push_back(d);
  }
  return result;
}

const std::vector<int64_t> kLengths = {3, 5, 1, 7, 2, 2, 9, 4, 4, 6, 1, 8, 3, 12, 5};
Dataset many(const Tensor& x) { return Dataset::from_tensors({reshape(x, {1})}).repeat(x.item<int64_t>() % 4 + 2); }
Dataset pieces() {
  return Dataset::from_range(kLengths).map(
      [](const Tensor& n) { return std::vector<int64_t>(static_cast<size_t>(n.item<int64_t>()), n.item<int64_t>()); });
}
Tensor both(const Tensor& a, const Tensor& b) { return stack({a, b}); }

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(dataset_stages)

BOOST_AUTO_TEST_CASE(elements_of_tensorflow) {
  std::map<std::string, Numbers> reference;
  for (const auto& [name, value] : read_npz(PANTO_TEST_SOURCE "/tests/reference/values/datasets.npz")) {
    reference[name] = value.to_vector<int64_t>();
  }
  const TestFolder folder;
  write_file(folder / "t.csv", "a,b,c\n1,,3\n\"4\",5,6\n7,8,\n");
  std::map<std::string, Dataset> made = {
      {"flat_map", numbers(6).skip(1).flat_map(many)},
      {"window", numbers(7).window(3)},
      {"window_drop", numbers(7).window(3, {.drop_remainder = true})},
      {"window_shift", numbers(9).window(3, {.shift = 1})},
      {"window_shift_drop", numbers(9).window(3, {.shift = 2, .drop_remainder = true})},
      {"window_stride", numbers(11).window(3, {.shift = 1, .stride = 2})},
      {"window_stride_drop", numbers(11).window(3, {.shift = 2, .stride = 3, .drop_remainder = true})},
      {"window_apart", numbers(11).window(2, {.shift = 4})},
      {"padded_batch", pieces().padded_batch(4)},
      {"padded_batch_value", pieces().padded_batch(4, {.values = {-1}, .drop_remainder = true})},
      {"padded_batch_shape", pieces().padded_batch(5, {.shapes = {{13}}})},
      {"bucket", pieces().bucket_by_length({3, 6}, {3, 2, 4})},
      {"bucket_drop", pieces().bucket_by_length({4, 8}, {2}, {.drop_remainder = true})},
      {"bucket_bound", pieces().bucket_by_length({4, 8, 14}, {3, 3, 3, 1}, {.pad_to_bound = true, .values = {-7}})},
      {"shard", numbers(11).shard(4, 2)},
      {"enumerate", Dataset::range(5, 8).enumerate(10).map(both)},
      {"zip", Dataset::zip({numbers(4), Dataset::range(10, 13)}).map(both)},
      {"concatenate", numbers(3).concatenate(Dataset::range(7, 9))},
      {"unbatch", numbers(7).batch(3).unbatch()},
      {"filter", numbers(20).filter([](const Tensor& x) { return x % tensor(int64_t{7}) < tensor(int64_t{2}); })},
      {"range", Dataset::range(10, -5, -4)},
      {"csv", Dataset::from_csv_rows(folder / "t.csv", {{"a", kInt64}, {"b", kInt64, "-2"}, {"c", kInt64, "-3"}})
                  .map([](const Tensor& a, const Tensor& b, const Tensor& c) { return stack({a, b, c}); })},
  };
  for (const int64_t cycle : {1, 2, 3, 5, 20}) {
    for (const int64_t block : {1, 2, 4}) {
      made.emplace("interleave_" + std::to_string(cycle) + "_" + std::to_string(block),
                   numbers(9).skip(1).interleave(many, {.cycle = cycle, .block = block}));
    }
  }
  BOOST_TEST(reference.size() == 2 * made.size());
  for (const auto& [name, dataset] : made) {
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(all(dataset) == reference.at(name + "/values"), boost::test_tools::per_element());
      BOOST_TEST(shapes(dataset) == reference.at(name + "/shapes"), boost::test_tools::per_element());
      if (const auto size = dataset.size()) {
        int64_t count = 0;
        for ([[maybe_unused]] const Element& e : dataset) ++count;
        BOOST_TEST(*size == count);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(ranges_and_generators) {
  BOOST_TEST((all(Dataset::from_range(std::vector<int>{3, 1, 2}).repeat(2)) == Numbers{3, 1, 2, 3, 1, 2}));
  const Element real =
      *Dataset::from_range(std::vector<std::pair<std::vector<float>, std::string>>{{{1, 2}, "a"}}).begin();
  BOOST_TEST(real.to_string() == "(float32[2], string[])");
  BOOST_TEST((*Dataset::from_range(std::vector<bool>{true}).begin()).to_string() == "(bool[])");
  BOOST_TEST((*Dataset::from_range(std::set<std::string>{"x"}).begin())[0].item<std::string>() == "x");
  const Dataset squares =
      Dataset::from_generator([] { return [i = 0]() mutable { return i < 4 ? std::optional(++i) : std::nullopt; }; });
  BOOST_TEST((all(squares.map([](const Tensor& x) { return x * x; })) == Numbers{1, 4, 9, 16}));
  BOOST_TEST((all(Dataset::from_generator([] { return std::vector<int64_t>{5, 6}; })) == Numbers{5, 6}));
  BOOST_TEST(!squares.size().has_value());
  BOOST_TEST(Dataset::from_range(std::vector<int>{3, 1}).batch(2).size().value() == 1);
  BOOST_TEST(!squares.endless());
  BOOST_TEST(squares.to_string() == "Dataset of elements");
  expect_error([] { all(Dataset::from_range(std::vector<Tensor>{Tensor()})); },
               "InvalidArgument: from_generator: expected tensors with values, got one without");
  expect_error([] { all(Dataset::from_range(std::vector<std::vector<Tensor>>(1))); },
               "InvalidArgument: from_generator: expected elements of tensors, got one of none");
  expect_error([] { Dataset::from_streams(nullptr); },
               "InvalidArgument: from_streams: expected a function, got an empty one");
  BOOST_TEST(numbers(INT64_MAX).size().value() == INT64_MAX);
  BOOST_TEST(Dataset::range(INT64_MIN, INT64_MAX, INT64_MAX).size().value() == 3);
  BOOST_TEST((all(Dataset::range(INT64_MAX - 1, INT64_MAX, INT64_MAX)) == Numbers{INT64_MAX - 1}));
  expect_error([] { Dataset::range(0, 1, 0); }, "InvalidArgument: range: expected a step other than 0, got 0");
  expect_error_begins([] { Dataset::range(INT64_MIN, INT64_MAX); }, "InvalidArgument: range: expected at most ");
}

BOOST_AUTO_TEST_CASE(orders_of_a_shuffle) {
  const Dataset same = numbers(30).shuffle(30, {.seed = 4, .reshuffle_each_pass = false});
  BOOST_TEST((all(same) == all(same)));
  BOOST_TEST((all(same) == all(numbers(30).shuffle(30, 4))));
  BOOST_TEST((all(same.repeat(2)).size() == 60U));
}

BOOST_AUTO_TEST_CASE(threads_without_an_order) {
  // The first is not done before the loop has another one.
  std::atomic<bool> has_one{false};
  const Dataset any = numbers(8).map(
      [&](const Tensor& x) {
        for (int i = 0; x.item<int64_t>() == 0 && i < 5000 && !has_one; ++i) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return x;
      },
      {.threads = 2, .ordered = false});
  Numbers got;
  for (const Tensor x : any) {
    got.push_back(x.item<int64_t>());
    has_one = true;
  }
  BOOST_TEST(got.front() != 0);
  BOOST_TEST(std::set<int64_t>(got.begin(), got.end()).size() == 8U);
}

BOOST_AUTO_TEST_CASE(bad_elements) {
  for (const int threads : {1, 3}) {
    std::vector<std::string> told;
    const Dataset good = numbers(10).map(
        [](const Tensor& x) {
          if (x.item<int64_t>() % 4 == 1) fail(Code::kDataLoss, "bad");
          return x;
        },
        {.threads = threads, .skip_bad = true, .on_bad = [&](const Error& e) { told.emplace_back(e.what()); }});
    BOOST_TEST((all(good) == Numbers{0, 2, 3, 4, 6, 7, 8}));
    BOOST_TEST(
        (told == std::vector<std::string>{"DataLoss: bad [in map, element 1]", "DataLoss: bad [in map, element 5]",
                                          "DataLoss: bad [in map, element 9]"}));
    BOOST_TEST(!good.size().has_value());
    expect_error(
        [&] {
          all(numbers(3).map([](const Tensor&) -> Tensor { fail(Code::kInternal, "ours"); },
                             {.threads = threads, .skip_bad = true}));
        },
        "Internal: ours [in map, element 0]");
  }
}

BOOST_AUTO_TEST_CASE(padding) {
  const auto pad = [](const std::vector<Tensor>& tensors, const PaddedBatchOptions& options = {}) {
    return (*Dataset::from_range(tensors).padded_batch(9, options).begin())[0];
  };
  expect_near(pad({ones({1, 2}), full({2, 1}, 3.f)}, {.values = {0.5}}), {2, 2, 2}, {1, 1, .5, .5, 3, .5, 3, .5});
  expect_near(pad({ones({2, 0}), ones({1, 1})}), {2, 2, 1}, {0, 0, 1, 0});
  expect_near(pad({tensor(1.f), tensor(2.f)}), {2}, {1, 2});
  BOOST_TEST((pad({tensor({"a"}), tensor({"b", "c"})}).to_vector<std::string>() ==
              std::vector<std::string>{"a", "", "b", "c"}));
  BOOST_TEST((pad({tensor({true}), tensor({false, false})}, {.values = {1}}).to_vector<bool>() ==
              std::vector<bool>{true, true, false, false}));
  // Each tensor of an element by itself.
  const Element two =
      *Dataset::from_range(std::vector<std::pair<Tensor, Tensor>>{{ones({1}), ones({3})}, {ones({2}), ones({1})}})
           .padded_batch(2, {.shapes = {{3}}, .values = {7, 8}})
           .begin();
  expect_near(two[0], {2, 3}, {1, 7, 7, 1, 1, 7});
  expect_near(two[1], {2, 3}, {1, 1, 1, 1, 8, 8});
  expect_error(
      [&] { pad({ones({3})}, {.shapes = {{2}}}); },
      "InvalidArgument: padded_batch: expected a size of at most 2 in dimension 0, got float32[3] [in tensor 0]");
  expect_error(
      [&] { pad({ones({3})}, {.shapes = {{2, 2}}}); },
      "InvalidArgument: padded_batch: expected elements of rank 2 as the shape that was asked for, got float32[3] "
      "[in tensor 0]");
  expect_error(
      [&] { pad({ones({3}), ones({3, 1})}); },
      "InvalidArgument: padded_batch: expected float32[3] as of the first element, got float32[3,1] [in tensor 0]");
  expect_error([&] { pad({tensor({1})}, {.values = {0.5}}); },
               "InvalidArgument: padded_batch: expected a padding value that fits int32, got 0.5");
  expect_error([&] { pad({cast(tensor({1}), kUint8)}, {.values = {-1}}); },
               "InvalidArgument: padded_batch: expected a padding value that fits uint8, got -1");
}

BOOST_AUTO_TEST_CASE(buckets) {
  const Dataset pairs = Dataset::zip({numbers(6), pieces()});
  int seen = 0;
  for (const auto& [number, piece] :
       pairs.bucket_by_length([](const Tensor&, const Tensor& p) { return p.dim(0); }, {4}, {2, 3})) {
    BOOST_TEST((number.dim(0) == piece.dim(0)));
    ++seen;
  }
  BOOST_TEST(seen == 3);
  expect_error([&] { all(pairs.bucket_by_length({4}, {2})); },
               "InvalidArgument: bucket_by_length: expected elements of a first dimension, got (int64[], int64[3]) [in "
               "bucket_by_length, element 0]");
  expect_error([&] { all(pieces().bucket_by_length({4}, {2}, {.pad_to_bound = true})); },
               "InvalidArgument: bucket_by_length: expected lengths below the last bound, 4, got 5 [in "
               "bucket_by_length, element 1]");
}

BOOST_AUTO_TEST_CASE(caches) {
  const TestFolder folder;
  for (const std::string& file : {std::string(), folder / "kept"}) {
    std::atomic<int> made{0};
    const auto make = [&] {
      const Dataset each = numbers(6).map([&](const Tensor& x) { return ++made, x; });
      return file.empty() ? each.cache() : each.cache(file);
    };
    const Dataset cached = make();
    for ([[maybe_unused]] const Tensor x : cached) break;  // a part is none
    BOOST_TEST((made == 1 && folder.files() == 0U));
    BOOST_TEST((all(cached) == all(numbers(6))));
    BOOST_TEST(made == 7);
    BOOST_TEST((all(cached.shuffle(6, 1).repeat(2)).size() == 12U));
    BOOST_TEST(made == 7);
    // Another dataset, as in another run.
    BOOST_TEST((all(make()) == all(numbers(6))));
    BOOST_TEST(made == (file.empty() ? 13 : 7));
    // Two passes at once: one of them keeps what it has.
    const Dataset other = make();
    for ([[maybe_unused]] const Tensor x : other) BOOST_TEST((all(other) == all(numbers(6))));
  }
  BOOST_TEST(folder.files() == 1U);
  const std::string whole = read_file(folder / "kept");
  const Dataset cached = numbers(6).cache(folder / "kept");
  for (size_t i = 0; i < whole.size(); i += 3) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    write_file(folder / "kept", damaged);
    expect_error_begins([&] { all(cached); }, "DataLoss: file '");
    write_file(folder / "kept", whole.substr(0, i));
    expect_error_begins([&] { all(cached); }, "DataLoss: file '");
  }
  expect_error_begins([&] { all(numbers(1).cache(folder / "no/where")); }, "NotFound: ");
  expect_error([&] { all(numbers(1).map([](const Tensor&) { return resource_tensor(nullptr); }).cache(folder / "r")); },
               "Unimplemented: state: expected elements of numbers, bools or strings ahead of the loop, got resource");
  BOOST_TEST(folder.files() == 1U);
}

BOOST_AUTO_TEST_CASE(sizes) {
  BOOST_TEST(numbers(10).shard(3, 0).size().value() == 4);
  BOOST_TEST(numbers(10).concatenate(numbers(5)).size().value() == 15);
  BOOST_TEST(Dataset::zip({numbers(10).repeat(), numbers(5)}).size().value() == 5);
  BOOST_TEST(numbers(3).repeat().endless());
  BOOST_TEST(numbers(3).concatenate(numbers(2).repeat()).batch(2).endless());
  const Dataset some = numbers(10).filter([](const Tensor&) { return true; });
  BOOST_TEST((!some.size().has_value() && !some.endless()));
  BOOST_TEST((!some.repeat().endless()));  // perhaps there is none
  BOOST_TEST(numbers(0).filter([](const Tensor&) { return true; }).size().value() == 0);
  BOOST_TEST((all(some.batch(4)) == all(numbers(10))));
}

BOOST_AUTO_TEST_CASE(what_stages_refuse) {
  const Dataset d = numbers(4);
  const auto whole = [](const Element&) { return numbers(1); };
  expect_error([&] { d.shard(2, 2); }, "InvalidArgument: shard: expected one in [0, 2), got 2");
  expect_error([&] { d.shard(0, 0); }, "InvalidArgument: shard: expected a positive number of shards, got 0");
  expect_error([&] { d.window(0); }, "InvalidArgument: window: expected a positive size, got 0");
  expect_error([&] { d.window(2, {.shift = -1}); }, "InvalidArgument: window: expected a shift of at least 0, got -1");
  expect_error([&] { d.window(2, {.stride = 0}); }, "InvalidArgument: window: expected a positive stride, got 0");
  expect_error_begins([&] { d.window(INT64_MAX, {.stride = 2}); },
                      "InvalidArgument: window: expected a product below 2^63");
  expect_error([&] { d.interleave(whole, {.cycle = 0}); },
               "InvalidArgument: interleave: expected a positive cycle, got 0");
  expect_error([&] { d.interleave(whole, {.block = 0}); },
               "InvalidArgument: interleave: expected a positive block, got 0");
  expect_error([&] { d.padded_batch(0); }, "InvalidArgument: padded_batch: expected a positive size, got 0");
  expect_error([&] { d.padded_batch(1, {.shapes = {{-2}}}); },
               "InvalidArgument: padded_batch: expected sizes of at least 0, or -1 for the largest, got -2");
  expect_error([&] { d.bucket_by_length({}, {1}); },
               "InvalidArgument: bucket_by_length: expected at least one bound, got none");
  expect_error([&] { d.bucket_by_length({3, 3}, {1}); },
               "InvalidArgument: bucket_by_length: expected a bound of at least 4, got 3");
  expect_error([&] { d.bucket_by_length({3, 5}, {1, 2}); },
               "InvalidArgument: bucket_by_length: expected 1 or 3 sizes, got 2");
  expect_error([&] { d.bucket_by_length({3}, {0}); },
               "InvalidArgument: bucket_by_length: expected positive sizes, got 0");
  expect_error([] { Dataset::zip({}); }, "InvalidArgument: zip: expected at least one dataset, got none");
  expect_error([&] { all(d.unbatch()); },
               "InvalidArgument: unbatch: expected tensors of the same first dimension, got (int64[])");
  expect_error(
      [&] {
        all(d.flat_map([](const Tensor& x) -> Dataset {
          if (x.item<int64_t>() == 2) fail(Code::kNotFound, "none");
          return numbers(1);
        }));
      },
      "NotFound: none [in flat_map, element 2]");
  expect_error([&] { all(d.filter([](const Tensor&) -> bool { fail(Code::kAborted, "no"); })); },
               "Aborted: no [in filter, element 0]");
  // A function's own exceptions arrive as they are.
  BOOST_CHECK_THROW(all(d.filter([](const Tensor&) -> bool { throw 3; })), int);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
