// Iterators, random order, caches and files of datasets; what is refused, and what stops.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "panto/lib/core/collections/optional_value.h"
#include "panto/lib/core/datasets/dataset_iterator.h"
#include "panto/lib/core/io/graph_files.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/graph/files/io.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/ops/rows/datasets/datasets.h"

namespace panto::test::iterators_rows {
namespace {

using namespace dataset_rows;

// ---- Random order --------------------------------------------------------------------------------------------------

// The order itself is compared with TensorFlow's; here, which passes have the same one.
void check_orders() {
  const auto seeds = [](bool reshuffle) {
    return made("AnonymousSeedGenerator", {number(3), number(4), tensor(reshuffle)}).at(0);
  };
  const auto shuffled = [](const Tensor& generator) {
    return one_made("ShuffleDatasetV3", {numbers(30), number(9), number(1), number(2), generator});
  };
  const Tensor same = shuffled(seeds(false)), other = shuffled(seeds(true));
  BOOST_TEST(elements_of(same) == elements_of(same));
  BOOST_TEST(elements_of(other) != elements_of(other));
  BOOST_TEST(elements_of(shuffled(seeds(true))) == elements_of(shuffled(seeds(true))));
  const Tensor none = one_made("DummySeedGenerator", {});
  BOOST_TEST(elements_of(shuffled(none)) ==
             elements_of(one_made("ShuffleDataset", {numbers(30), number(9), number(1), number(2)})));
  // Two datasets that share a generator go on with its seeds.
  const Tensor generator = made("AnonymousRandomSeedGenerator", {number(3), number(4)}).at(0);
  const Tensor first = one_made("ShuffleDatasetV2", {numbers(30), number(9), generator});
  const Tensor second = one_made("ShuffleDatasetV2", {numbers(30), number(9), generator});
  BOOST_TEST(elements_of(first) != elements_of(second));
  const Tensor repeated =
      one_made("ShuffleAndRepeatDatasetV2", {numbers(4), number(-2), number(1), number(2), number(2), seeds(true)});
  std::string sorted = elements_of(repeated);
  std::ranges::sort(sorted);
  BOOST_TEST(sorted == "       00112233");
  BOOST_TEST(elements_of(one_made("ShuffleDataset", {numbers(0), number(3), number(1), number(2)})) == "");
  const Tensor endless = one_made("ShuffleAndRepeatDataset", {numbers(0), number(3), number(1), number(2), number(-1)});
  BOOST_TEST(elements_of(endless) == "");
  const Tensor random = one_made("RandomDatasetV2", {number(5), number(6), none});
  BOOST_TEST(elements_of(random, 3) == elements_of(one_made("RandomDataset", {number(5), number(6)}), 3));
  const Tensor differs =
      one_made("RandomDatasetV2", {number(5), number(6), none}, {{"rerandomize_each_iteration", AttrValue(true)}});
  BOOST_TEST(elements_of(differs, 3) != elements_of(differs, 3));
  for (const char* op : {"DeleteSeedGenerator", "DeleteRandomSeedGenerator"})
    made(op, made("AnonymousRandomSeedGenerator", {number(1), number(1)}));
  made("DeleteMemoryCache", made("AnonymousMemoryCache", {}));
}

// What a cache keeps, other datasets of it give.
void check_caches() {
  const Tensor cache = made("AnonymousMemoryCache", {})[0];
  const Tensor first = one_made("CacheDatasetV2", {numbers(3), empty_text(), cache});
  const Tensor second = one_made("CacheDatasetV2", {numbers(9), empty_text(), cache});
  BOOST_TEST(elements_of(first, 2) == "0 1");  // not to its end
  BOOST_TEST(elements_of(second) == "0 1 2 3 4 5 6 7 8");
  BOOST_TEST(elements_of(first) == "0 1 2 3 4 5 6 7 8");
  // In a file: a pass that comes to its end writes it, later ones read it, whatever their input is.
  const TestFolder folder;
  const auto kept = [&](const Tensor& input) { return one_made("CacheDataset", {input, tensor(folder / "kept")}); };
  BOOST_TEST(elements_of(kept(numbers(3)), 2) == "0 1");
  BOOST_TEST(elements_of(kept(numbers(4))) == "0 1 2 3");
  BOOST_TEST(elements_of(kept(numbers(9))) == "0 1 2 3");
  const Tensor windows =
      one_made("WindowDataset", {numbers(3), number(2), number(2), number(1), tensor(false)}, {}, kScalar, {kVariant});
  expect_error_begins([&] { kept(windows); }, "InvalidArgument: filename: expected elements that have values");
  allow_graph_files(false);
  expect_error_begins([&] { kept(numbers(3)); }, "PermissionDenied: ");
  allow_graph_files(true);
}

// ---- Iterators -----------------------------------------------------------------------------------------------------

Tensor next_of(const Tensor& iterator, const char* op = "IteratorGetNext") { return one_made(op, {iterator}); }

void check_iterators() {
  const Tensor dataset = numbers(2);
  for (const char* op : {"AnonymousIterator", "AnonymousIteratorV2", "AnonymousIteratorV3", "Iterator", "IteratorV2"}) {
    AttrPairs names;
    if (!std::string_view(op).starts_with("A")) names = {{"shared_name", AttrValue(op)}, {"container", AttrValue("")}};
    const Tensor iterator = one_made(op, {}, names);
    expect_error_begins([&] { next_of(iterator); },
                        "FailedPrecondition: iterator: expected one that a MakeIterator has begun");
    made("MakeIterator", {dataset, iterator});
    BOOST_TEST(shown(next_of(iterator)) == "0");
    BOOST_TEST(shown(next_of(iterator, "IteratorGetNextSync")) == "1");
    for (int i = 0; i < 2; ++i) {
      expect_error_begins([&] { next_of(iterator); }, "OutOfRange: iterator: expected another element, got the end");
    }
    BOOST_TEST(!optional_of(one_made("IteratorGetNextAsOptional", {iterator})).has_value());
    made("MakeIterator", {dataset, iterator});
    BOOST_TEST(shown(optional_of(one_made("IteratorGetNextAsOptional", {iterator})).components()) == "0");
    const Tensor text = one_made("IteratorToStringHandle", {iterator});
    for (const char* from : {"IteratorFromStringHandle", "IteratorFromStringHandleV2"}) {
      BOOST_TEST(iterator_of(one_made(from, {text})) == iterator_of(iterator));
    }
    BOOST_TEST(shown(one_made("IteratorGetDevice", {iterator})).ends_with("CPU:0"));
    made("DeleteIterator", {iterator, made("AnonymousIteratorV2", {})[1]});
    expect_error_begins([&] { next_of(iterator); }, "FailedPrecondition: ");
  }
  // Of a name there is one.
  const AttrPairs name = {{"shared_name", AttrValue("numbers")}, {"container", AttrValue("")}};
  BOOST_TEST(iterator_of(one_made("IteratorV2", {}, name)) == iterator_of(one_made("IteratorV2", {}, name)));
  expect_error_begins([&] { one_made("IteratorV2", {}, name, kVector, {kFloat32}); },
                      "InvalidArgument: dataset: expected elements of (float32[?]), got (int64[])");
  std::string gone = shown(one_made("IteratorToStringHandle", {one_made("AnonymousIteratorV3", {})}));
  expect_error_begins([&] { one_made("IteratorFromStringHandle", {tensor(gone)}); },
                      "NotFound: string_handle: expected that");
  for (const char* bad : {"", "panto-iterator-", "panto-iterator-1x", "panto-iterator-99999999999999999999999"}) {
    expect_error_begins([&] { one_made("IteratorFromStringHandle", {tensor(std::string(bad))}); },
                        "InvalidArgument: string_handle: expected what IteratorToStringHandle gives");
  }
}

// What follows a state is what followed where it was taken, by the same and by another iterator.
void check_states() {
  const auto iterator_over = [](const Tensor& dataset) {
    const Tensor iterator = one_made("AnonymousIteratorV3", {});
    made("MakeIterator", {dataset, iterator});
    return iterator;
  };
  const auto rest_of = [](const Tensor& iterator) {
    std::string all;
    for (;;) {
      const auto element = optional_of(one_made("IteratorGetNextAsOptional", {iterator}));
      if (!element.has_value()) return all;
      all += shown(element.components()) + " ";
    }
  };
  const Tensor shuffled = one_made("ShuffleDataset", {numbers(20), number(5), number(1), number(2)});
  const Tensor dataset = one_made("PrefetchDataset", {one_made("RepeatDataset", {shuffled, number(2)}), number(3)});
  const Tensor first = iterator_over(dataset);
  for (int i = 0; i < 7; ++i) next_of(first);
  const Tensor state = one_made("SerializeIterator", {first});
  BOOST_TEST(state.shape() == Shape{1});
  const std::string rest = rest_of(first);
  BOOST_TEST(std::ranges::count(rest, ' ') == 33);
  made("DeserializeIterator", {first, state});
  BOOST_TEST(rest_of(first) == rest);
  const Tensor second = iterator_over(dataset);
  next_of(second);
  made("DeserializeIterator", {second, state});
  BOOST_TEST(rest_of(second) == rest);
  expect_error_begins([&] { made("DeserializeIterator", {iterator_over(numbers(3)), state}); },
                      "InvalidArgument: serialized: expected that of a pass over RangeDataset, got one of ");
  expect_error_begins([&] { made("DeserializeIterator", {first, dataset}); },
                      "InvalidArgument: serialized: expected a vector, got shape []");
  const Tensor none = one_made("AnonymousIteratorV3", {});
  expect_error_begins([&] { made("SerializeIterator", {none}); }, "FailedPrecondition: iterator: expected one that");
  expect_error_begins([&] { made("DeserializeIterator", {none, state}); }, "FailedPrecondition: ");
  // Whose order is that of threads.
  const Tensor any = one_made("ParallelMapDatasetV2", {numbers(3), number(2)},
                              {function("f", identity_of()), {"deterministic", AttrValue("false")}});
  expect_error_begins([&] { made("SerializeIterator", {iterator_over(any)}); },
                      "FailedPrecondition: iterator: expected stages whose order is the same each time, got "
                      "ParallelMapDatasetV2 with elements as they get ready");
}

void check_one_shots() {
  const auto factory = function_ref("factory", {}, [](std::span<const Tensor>) {
    return Tensors{range_dataset(int64_t{0}, int64_t{2}, int64_t{1}, kOne, kScalar)};
  });
  const AttrPairs attrs = {function("dataset_factory", factory), {"shared_name", AttrValue("one_shot")}};
  BOOST_TEST(shown(next_of(one_made("OneShotIterator", {}, attrs))) == "0");
  BOOST_TEST(shown(next_of(one_made("OneShotIterator", {}, attrs))) == "1");
  expect_error_begins([&] { next_of(one_made("OneShotIterator", {}, attrs)); }, "OutOfRange: ");
}

// A graph with functions of elements, through a file.
void check_saved() {
  const auto f = trace(
      [](const Tensor& x) {
        const Tensor rows = tensor_slice_dataset({x, x * 10}, {Shape{}, Shape{}});
        const Tensor sums = map_dataset(rows, {}, plus(), kOne, kScalar);
        return reduce_dataset(sums, {number(1)}, {}, plus(), kOne, kScalar)[0];
      },
      {TensorSpec(kInt64, {-1}, "x")});
  const Function again = function_of(parse_graph(to_graph_def(f.frozen_graph())));
  for (const Function& g : {Function(f), again}) {
    BOOST_TEST(shown(g.call(Tensors{tensor(std::vector<int64_t>{1, 2, 3})})[0]) == "67");
    BOOST_TEST(shown(g.call(Tensors{tensor(std::vector<int64_t>{})})[0]) == "1");
  }
}

void check_whole_passes() {
  BOOST_TEST(shown(one_made("DatasetToSingleElement", {numbers(1)})) == "0");
  for (const int64_t count : {0, 2}) {
    expect_error_begins([&] { one_made("DatasetToSingleElement", {numbers(count)}); },
                        "InvalidArgument: dataset: expected one element, got ");
  }
  BOOST_TEST(shown(one_made("ReduceDataset", {numbers(5), number(100)},
                            {function("f", plus()), {"Tstate", AttrValue(kOne)}})) == "110");
  const Tensor table = hash_table(kInt64, kInt64);
  made("InitializeTableFromDataset",
       {table, one_made("ZipDataset", {numbers(3), one_made("SkipDataset", {numbers(9), number(5)})}, {},
                        {Shape{}, Shape{}})});
  BOOST_TEST(shown(one_made("LookupTableFindV2", {table, tensor(std::vector<int64_t>{2, 0, 7}), number(-1)})) ==
             "[7 5 -1]");
}

// Its state counts up to three, in a resource that the functions share with the test.
void check_generators() {
  const Variable count(number(0));
  const OutputInfo handle{kResource, Shape{}};
  const auto next = function_ref("next", {kNumber, handle}, [](std::span<const Tensor> in) {
    assign_add_variable_op(in[1], int64_t{1});
    const Tensor now = read_variable_op(in[1], kInt64);
    return Tensors{
        one_made("DatasetToSingleElement",
                 {one_made("TakeDataset", {one_made("RangeDataset", {now, now + 1, number(1)}), number(1)})})};
  });
  const auto end = function_ref("end", {kNumber, handle}, [](std::span<const Tensor> in) {
    assign_variable_op(in[1], int64_t{-100});
    return Tensors{in[0] + 0};
  });
  const Tensor dataset = one_made("GeneratorDataset", {number(5), count.handle(), count.handle()},
                                  {{"Tinit_func_args", AttrValue(kOne)},
                                   {"Tnext_func_args", AttrValue(std::vector<DType>{kResource})},
                                   {"Tfinalize_func_args", AttrValue(std::vector<DType>{kResource})},
                                   function("init_func", identity_of()),
                                   function("next_func", next),
                                   function("finalize_func", end)});
  BOOST_TEST(elements_of(dataset, 3) == "1 2 3");
  BOOST_TEST(shown(count.value()) == "-100");  // the pass ended with its last handle
}

// ---- Files ---------------------------------------------------------------------------------------------------------

Tensor files_of(const char* op, const std::vector<std::string>& files, Tensors more = {}) {
  Tensors inputs = {tensor(files)};
  inputs.insert(inputs.end(), more.begin(), more.end());
  return one_made(op, inputs);
}

void check_files() {
  const TestFolder folder;
  const auto file = [&](const char* name, std::string_view content) {
    const std::string path = folder / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  };
  const Tensor plain = empty_text(), buffer = number(0);
  const std::string lines = file("lines", "a\r\nb\n"), more = file("more", "c");
  BOOST_TEST(elements_of(files_of("TextLineDataset", {lines, more}, {plain, buffer})) == "a b c");
  const std::string records = folder / "records";
  const Tensor texts = one_made("TensorSliceDataset", {tensor(std::vector<std::string>{"x", "yy", "z"})}, {}, kScalar);
  made("DatasetToTFRecord", {texts, tensor(records), plain});
  BOOST_TEST(elements_of(files_of("TFRecordDataset", {records, records}, {plain, buffer})) == "x yy z x yy z");
  const auto from = [&](int64_t offset) {
    return files_of("TFRecordDatasetV2", {records}, {plain, buffer, tensor(std::vector<int64_t>{offset})});
  };
  BOOST_TEST(elements_of(from(17)) == "yy z");
  BOOST_TEST(elements_of(from(0)) == "x yy z");
  expect_error_begins([&] { elements_of(from(18)); }, "InvalidArgument: file '");
  expect_error_begins([&] { elements_of(from(1000)); }, "InvalidArgument: file '");
  const std::string fixed = file("fixed", "HaabbF");
  const Tensors form = {number(1), number(2), number(1), buffer};
  BOOST_TEST(elements_of(files_of("FixedLengthRecordDataset", {fixed}, form)) == "aa bb");
  BOOST_TEST(elements_of(files_of("FixedLengthRecordDatasetV2", {fixed},
                                  {number(1), number(2), number(1), buffer, plain})) == "aa bb");
  expect_error_begins(
      [&] { elements_of(files_of("FixedLengthRecordDataset", {lines}, {number(1), number(3), number(0), buffer})); },
      "InvalidArgument: file '");
  expect_error_begins([&] { files_of("FixedLengthRecordDataset", {lines}, {number(0), number(0), number(0), buffer}); },
                      "InvalidArgument: record_bytes: expected 1 to 2147483648, got 0");
  BOOST_TEST(elements_of(files_of("MatchingFilesDataset", {folder / "m*", folder / "[l]*"})) == lines + " " + more);
  expect_error_begins([&] { elements_of(files_of("TextLineDataset", {folder / "none"}, {plain, buffer})); },
                      "NotFound: ");
  expect_error_begins([&] { files_of("TextLineDataset", {lines}, {tensor(std::string("LZ")), buffer}); },
                      "InvalidArgument: compression: ");
  const std::string table = file("table", "h,i\n1,\"a\"\"b\nc\"\r\n,d\n3,e,f\nx,g\n4,\n");
  const auto csv = [&](const Tensors& more) {
    Tensors inputs = {tensor(table), plain, buffer, tensor(true), tensor(std::string(",")), tensor(true), plain};
    inputs.insert(inputs.end(), more.begin(), more.end());
    return inputs;
  };
  const Tensor all_columns = tensor(std::vector<int64_t>{}), seven = tensor(std::vector<int64_t>{7});
  const Tensor needed = tensor(std::vector<std::string>{}), needed_number = zeros({0}, kInt64);
  const std::vector<PartialShape> two = {Shape{}, Shape{}};
  const auto good = [&](const char* op, const Tensors& inputs, const std::vector<PartialShape>& shapes,
                        const std::vector<DType>& types) {
    return elements_of(one_made("IgnoreErrorsDataset", {one_made(op, inputs, {}, shapes, types)}, {}, shapes, types));
  };
  BOOST_TEST(good("CSVDataset", csv({all_columns, seven, needed}), two, {kInt64, kString}) == "1,a\"b\nc 7,d");
  BOOST_TEST(good("CSVDataset", csv({tensor(std::vector<int64_t>{0}), needed_number}), kScalar, kOne) == "1 3 4");
  BOOST_TEST(good("CSVDatasetV2", csv({all_columns, seven, tensor(std::vector<int64_t>{1})}), kScalar, kOne) ==
             "1 7 4");
  expect_error_begins(
      [&] {
        one_made("CSVDataset", csv({tensor(std::vector<int64_t>{1, 1}), seven, needed}), {}, two, {kInt64, kString});
      },
      "InvalidArgument: select_cols: expected numbers of at least 0 in ascending order, got 1");
  expect_error_begins([&] { one_made("CSVDataset", csv({all_columns, tensor(true)}), {}, kScalar, {kBool}); },
                      "InvalidArgument: record_defaults: expected float32, float64, int32, string, int64, got bool");
  // Where graphs may open no files, they name none either.
  const struct Forbidden {
    Forbidden() { allow_graph_files(false); }
    ~Forbidden() { allow_graph_files(true); }
  } forbidden;
  for (const char* op : {"TextLineDataset", "TFRecordDataset"}) {
    expect_error_begins([&] { elements_of(files_of(op, {lines}, {plain, buffer})); }, "PermissionDenied: file '");
  }
  expect_error_begins([&] { elements_of(files_of("MatchingFilesDataset", {"/*"})); }, "PermissionDenied: file '");
  expect_error_begins([&] { made("DatasetToTFRecord", {texts, tensor(records), plain}); }, "PermissionDenied: file '");
}

// ---- What is refused, and what stops -------------------------------------------------------------------------------

void check_faults() {
  const auto begins = [](const Tensors& inputs, const char* op, const char* text, const AttrPairs& attrs = {}) {
    expect_error_begins([&] { one_made(op, inputs, attrs); }, std::string("InvalidArgument: ") + text);
  };
  begins({number(0), number(3), number(0)}, "RangeDataset", "step: expected another number than 0");
  begins({numbers(3), number(0)}, "BatchDataset", "batch_size: expected at least 1, got 0");
  begins({numbers(3), number(0), number(1), number(1)}, "ShuffleDataset", "buffer_size: expected at least 1");
  begins({numbers(3), number(0), number(0)}, "ShardDataset", "num_shards: expected at least 1, got 0");
  begins({numbers(3), number(2), number(2)}, "ShardDataset", "index: expected one in [0, 2), got 2");
  begins({numbers(3), number(INT64_MAX), number(1), number(2), tensor(false)}, "WindowDataset", "size: expected fewer");
  begins({tensor(std::vector<int64_t>{1, 2}), number(3)}, "TensorSliceDataset",
         "component 1: expected at least one dimension",
         {{"output_shapes", AttrValue(std::vector<PartialShape>{Shape{}, Shape{}})}});
  begins({optional_none(), number(1)}, "TakeDataset", "dataset: expected a variant that holds a Dataset, got Optional");
  begins({optional_none()}, "DatasetCardinality", "dataset: expected a variant that holds a Dataset, got Optional");
  begins({made("AnonymousIteratorV2", {})[1], number(1)}, "TakeDataset",
         "dataset: expected a variant that holds a Dataset, got nothing");
  begins({numbers(3)}, "MapDataset", "function 'plus': expected one of (int64), got one of (int64, int64)",
         {function("f", plus())});
  begins({numbers(3)}, "MapDataset", "function 'twice': expected one that gives (float32), got one that gives (int64)",
         {function("f", twice()), {"output_types", AttrValue(std::vector<DType>{kFloat32})}});
  begins({numbers(3)}, "FilterDataset", "function 'twice': expected one that gives (bool), got",
         {function("predicate", twice())});
  begins({numbers(3)}, "FlatMapDataset", "function 'twice': expected one that gives (variant), got",
         {function("f", twice())});
  begins({numbers(3), number(0), number(1)}, "InterleaveDataset", "cycle_length: expected at least 1",
         {function("f", as_many())});
  // What a file says of elements that they are not.
  const Tensor lies =
      one_made("TakeDataset", {numbers(3), number(3)}, {}, {Shape{}, PartialShape{2}}, {kFloat32, kString});
  expect_error_begins(
      [&] { made("DatasetToSingleElement", {lies}, {}, {Shape{}, PartialShape{2}}, {kFloat32, kString}); },
      "InvalidArgument: dataset: expected one element, got more");
  const Tensor iterator = one_made("AnonymousIteratorV3", {}, {}, {Shape{}, PartialShape{2}}, {kFloat32, kString});
  made("MakeIterator", {lies, iterator});
  expect_error_begins([&] { made("IteratorGetNext", {iterator}, {}, {Shape{}, PartialShape{2}}, {kFloat32, kString}); },
                      "InvalidArgument: element: expected 2 components, got 1");
  expect_error_begins([&] { elements_of(one_made("UniqueDataset", {lies})); },
                      "InvalidArgument: input_dataset: expected elements of one");
  expect_error_begins(
      [&] { elements_of(one_made("BatchDataset", {ragged_numbers(), number(2)}, {}, {PartialShape{-1, -1}})); },
      "InvalidArgument: batch, component 0: expected elements of one shape, int64[0] as the first one, got int64[1]");
  expect_error_begins([&] { elements_of(counted("AssertCardinalityDataset", 5)); },
                      "FailedPrecondition: dataset: expected 5 elements, got 4");
  const Tensor windows = one_made("WindowDataset", {lies, number(2), number(1), number(1), tensor(false)}, {},
                                  {Shape{}, Shape{}}, {kVariant, kVariant});
  expect_error_begins([&] { elements_of(windows); }, "InvalidArgument: element: expected at least 2 components, got 1");
  const Tensor shard =
      one_made("ShardDataset", {numbers(2), number(3), number(0)}, {{"require_non_empty", AttrValue(true)}});
  expect_error_begins([&] { elements_of(shard); },
                      "InvalidArgument: dataset: expected at least 3 elements, one for each shard, got 2");
  BOOST_TEST(elements_of(one_made("IgnoreErrorsDataset", {shard})) == "0");
  // Datasets upon datasets without end would end the stack.
  expect_error_begins(
      [] {
        Tensor deep = numbers(1);
        for (int i = 0; i < 2000; ++i) deep = one_made("SkipDataset", {deep, number(0)});
      },
      "InvalidArgument: datasets: expected at most 1000 one upon the other");
}

// A fault is one element's.
void check_faulty_elements() {
  const auto checked = of_numbers("checked", 1, [](std::span<const Tensor> in) {
    const Tensor first =
        one_made("TakeDataset", {one_made("RangeDataset", {number(0), in[0] % 2, number(1)}), number(1)});
    return Tensors{one_made("DatasetToSingleElement", {first}) + in[0]};
  });
  const Tensor some = one_made("MapDataset", {numbers(4)}, {function("f", checked)});
  DatasetPass pass(dataset_of(some));
  std::string text;
  for (bool more = true; more;) {
    ElementTensors element;
    try {
      more = pass.next(element);
      text += more ? shown(element) : ".";
    } catch (const Error& error) {
      text += error.code() == Code::kInvalidArgument ? "!" : error.what();
    }
  }
  BOOST_TEST(text == "!1!3.");
  BOOST_TEST(elements_of(one_made("IgnoreErrorsDataset", {some})) == "1 3");
}

// A pass that finds no element, and a call that waits for its turn, end with their steps.
void check_stopping() {
  const Tensor never = one_made(
      "FilterDataset", {one_made("RepeatDataset", {numbers(2), number(-1)})},
      {function("predicate", of_numbers("never", 1, [](std::span<const Tensor> in) { return Tensors{in[0] > 9}; }))});
  const Tensor iterator = one_made("AnonymousIteratorV3", {});
  made("MakeIterator", {never, iterator});
  Step steps[2];
  std::string texts[2];
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    steps[i].cancellation = std::make_shared<Cancellation>();
    threads.emplace_back([&, i] {
      const StepScope scope(steps[i]);
      texts[i] = error_text([&] { next_of(iterator); });
    });
  }
  for (int i = 0; i < 2; ++i) {
    steps[i].cancellation->request();
    threads[static_cast<size_t>(i)].join();
    BOOST_TEST(texts[i].starts_with("Cancelled: "), texts[i]);
  }
}

Details asked(const char* name, void (*run)()) { return {.own = {{name, run}}}; }

std::vector<Row> rows() {
  std::vector<Row> all;
  for (const char* op : {"RandomDatasetV2", "ShuffleDatasetV2", "ShuffleDatasetV3", "ShuffleAndRepeatDatasetV2",
                         "AnonymousSeedGenerator", "AnonymousRandomSeedGenerator", "DummySeedGenerator",
                         "DeleteSeedGenerator", "DeleteRandomSeedGenerator", "DeleteMemoryCache"}) {
    all.push_back({op, asked("orders", check_orders)});
  }
  for (const char* op : {"AnonymousMemoryCache", "DummyMemoryCache"})
    all.push_back({op, asked("caches", check_caches)});
  for (const char* op : {"Iterator", "IteratorV2", "AnonymousIterator", "AnonymousIteratorV2", "AnonymousIteratorV3",
                         "DeleteIterator", "IteratorGetNextSync", "IteratorGetNextAsOptional", "IteratorToStringHandle",
                         "IteratorFromStringHandle", "IteratorFromStringHandleV2", "IteratorGetDevice"}) {
    all.push_back({op, asked("iterators", check_iterators)});
  }
  for (const char* op :
       {"TFRecordDataset", "TFRecordDatasetV2", "TextLineDataset", "FixedLengthRecordDataset",
        "FixedLengthRecordDatasetV2", "MatchingFilesDataset", "CSVDataset", "CSVDatasetV2", "DatasetToTFRecord"}) {
    all.push_back({op, asked("files", check_files)});
  }
  for (const char* op : {"DatasetToSingleElement", "InitializeTableFromDataset"}) {
    all.push_back({op, asked("whole_passes", check_whole_passes)});
  }
  all.push_back({"OneShotIterator", asked("one_shots", check_one_shots)});
  for (const char* op : {"SerializeIterator", "DeserializeIterator"})
    all.push_back({op, asked("states", check_states)});
  all.push_back({"MakeIterator", asked("faults", check_faults)});
  all.push_back(
      {"IteratorGetNext", {.own = {{"stopping", check_stopping}, {"faulty_elements", check_faulty_elements}}}});
  all.push_back({"DatasetCardinality", asked("faults", check_faults)});
  all.push_back({"ReduceDataset", asked("saved", check_saved)});
  all.push_back({"GeneratorDataset", asked("generators", check_generators)});
  return all;
}

const Family iterators("iterators", rows());

}  // namespace
}  // namespace panto::test::iterators_rows
