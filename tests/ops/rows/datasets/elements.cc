// Datasets: the elements of each op's. Those that TensorFlow makes of the same are compared in
// tests/interop/files/test_datasets.py.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/core/datasets/simple_dataset.h"
#include "panto/lib/core/io/example.h"
#include "panto/lib/graph/files/io.h"
#include "panto/ops/sparse.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/rows/datasets/datasets.h"

namespace panto::test::elements_rows {
namespace {

using namespace dataset_rows;

struct Case {
  const char* op;
  Tensor (*make)();
  const char* elements;
  int64_t cardinality;
};
constexpr int64_t kUnknown = DatasetValue::kUnknown;

Tensor mapped(const char* op, const Tensors& more, FunctionRef f, const char* attr = "f") {
  Tensors inputs = {numbers(5)};
  inputs.insert(inputs.end(), more.begin(), more.end());
  return one_made(op, inputs, {function(attr, std::move(f))});
}
Tensor interleaved(const char* op, const Tensors& more) {
  Tensors inputs = {numbers(4), number(2), number(1)};
  inputs.insert(inputs.end(), more.begin(), more.end());
  return one_made(op, inputs, {function("f", as_many())});
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"RangeDataset", [] { return one_made("RangeDataset", {number(5), number(0), number(-2)}); }, "5 3 1", 3},
      {"RangeDataset",
       [] { return one_made("RangeDataset", {number(INT64_MIN), number(INT64_MAX), number(INT64_MAX)}); },
       "-9223372036854775808 -1 9223372036854775806", 3},
      {"TensorDataset",
       [] {
         return one_made("TensorDataset", {tensor(std::vector<int64_t>{1, 2}), number(3)}, {},
                         {PartialShape{2}, Shape{}});
       },
       "[1 2],3", 1},
      {"TensorSliceDataset",
       [] {
         return one_made(
             "TensorSliceDataset",
             {tensor({{int64_t{1}, int64_t{2}}, {int64_t{3}, int64_t{4}}}), tensor(std::vector<std::string>{"a", "b"})},
             {}, {PartialShape{2}, Shape{}});
       },
       "[1 2],a [3 4],b", 2},
      {"SparseTensorSliceDataset",
       [] {
         return one_made("SparseTensorSliceDataset",
                         {tensor({{int64_t{0}, int64_t{1}}, {int64_t{2}, int64_t{0}}}),
                          tensor(std::vector<int64_t>{7, 8}), tensor(std::vector<int64_t>{3, 2})});
       },
       "[1],[7],[2] [],[],[2] [0],[8],[2]", 3},
      {"RandomDataset",
       [] { return one_made("TakeDataset", {one_made("RandomDataset", {number(0), number(7)}), number(0)}); }, "", 0},
      {"RepeatDataset", [] { return counted("RepeatDataset", 2); }, "0 1 2 3 0 1 2 3", 8},
      {"RepeatDataset", [] { return one_made("RepeatDataset", {numbers(0), number(-1)}); }, "", 0},
      {"TakeDataset", [] { return counted("TakeDataset", 2); }, "0 1", 2},
      {"TakeDataset", [] { return counted("TakeDataset", -1); }, "0 1 2 3", 4},
      {"SkipDataset", [] { return counted("SkipDataset", 3); }, "3", 1},
      {"SkipDataset", [] { return counted("SkipDataset", -1); }, "", 0},
      {"ZipDataset", [] { return one_made("ZipDataset", {numbers(3), numbers(2)}, {}, {Shape{}, Shape{}}); }, "0,0 1,1",
       2},
      {"ConcatenateDataset", [] { return one_made("ConcatenateDataset", {numbers(2), numbers(3)}); }, "0 1 0 1 2", 5},
      {"ShardDataset", [] { return one_made("ShardDataset", {numbers(7), number(3), number(1)}); }, "1 4", 2},
      {"PrefetchDataset", [] { return unchanged("PrefetchDataset", {number(2)}); }, "0 1 2", 3},
      {"OptionsDataset", [] { return unchanged("OptionsDataset", {}, {{"serialized_options", AttrValue("x")}}); },
       "0 1 2", 3},
      {"ModelDataset", [] { return unchanged("ModelDataset"); }, "0 1 2", 3},
      {"OptimizeDataset", [] { return unchanged("OptimizeDataset", {empty_text()}); }, "0 1 2", 3},
      {"OptimizeDatasetV2", [] { return unchanged("OptimizeDatasetV2", {empty_text(), empty_text(), empty_text()}); },
       "0 1 2", 3},
      {"RewriteDataset", [] { return unchanged("RewriteDataset", {empty_text()}); }, "0 1 2", 3},
      {"FinalizeDataset", [] { return unchanged("FinalizeDataset"); }, "0 1 2", 3},
      {"MaxIntraOpParallelismDataset", [] { return unchanged("MaxIntraOpParallelismDataset", {number(1)}); }, "0 1 2",
       3},
      {"PrivateThreadPoolDataset", [] { return unchanged("PrivateThreadPoolDataset", {number(1)}); }, "0 1 2", 3},
      {"NonSerializableDataset", [] { return unchanged("NonSerializableDataset"); }, "0 1 2", 3},
      {"AssertNextDataset", [] { return unchanged("AssertNextDataset", {empty_text()}); }, "0 1 2", 3},
      {"AssertCardinalityDataset", [] { return unchanged("AssertCardinalityDataset", {number(3)}); }, "0 1 2", 3},
      {"IgnoreErrorsDataset", [] { return unchanged("IgnoreErrorsDataset"); }, "0 1 2", kUnknown},
      {"UniqueDataset", [] { return one_made("UniqueDataset", {counted("RepeatDataset", 2)}); }, "0 1 2 3", kUnknown},
      {"UnbatchDataset",
       [] { return one_made("UnbatchDataset", {one_made("BatchDataset", {numbers(5), number(3)}, {}, kVector)}); },
       "0 1 2 3 4", kUnknown},
      {"DirectedInterleaveDataset",
       [] {
         const Tensor choice =
             one_made("TensorSliceDataset", {tensor(std::vector<int64_t>{1, 0, 0, 0, 1})}, {}, kScalar);
         return one_made("DirectedInterleaveDataset", {choice, numbers(2), numbers(9)});
       },
       "0 0 1 1", kUnknown},
      {"CacheDataset", [] { return unchanged("CacheDataset", {empty_text()}); }, "0 1 2", 3},
      {"CacheDatasetV2",
       [] { return unchanged("CacheDatasetV2", {empty_text(), made("AnonymousMemoryCache", {})[0]}); }, "0 1 2", 3},
      {"CacheDatasetV2", [] { return unchanged("CacheDatasetV2", {empty_text(), made("DummyMemoryCache", {})[0]}); },
       "0 1 2", 3},
      {"WrapDatasetVariant", [] { return one_made("WrapDatasetVariant", {numbers(2)}); }, "0 1", 2},
      {"UnwrapDatasetVariant", [] { return one_made("UnwrapDatasetVariant", {numbers(2)}); }, "0 1", 2},
      {"BatchDataset", [] { return one_made("BatchDataset", {numbers(5), number(2)}, {}, kVector); }, "[0 1] [2 3] [4]",
       3},
      {"BatchDatasetV2", [] { return one_made("BatchDatasetV2", {numbers(5), number(2), tensor(true)}, {}, kVector); },
       "[0 1] [2 3]", 2},
      {"ParallelBatchDataset",
       [] { return one_made("ParallelBatchDataset", {numbers(5), number(2), number(2), tensor(false)}, {}, kVector); },
       "[0 1] [2 3] [4]", 3},
      {"PaddedBatchDataset",
       [] {
         return one_made("PaddedBatchDataset",
                         {ragged_numbers(), number(3), tensor(std::vector<int64_t>{-1}), number(-1)},
                         {{"N", AttrValue(int64_t{1})}}, {PartialShape{-1, -1}});
       },
       "[-1 -1 0 -1 0 1] [0 1 2]", kUnknown},
      {"PaddedBatchDatasetV2",
       [] {
         return one_made("PaddedBatchDatasetV2",
                         {ragged_numbers(), number(3), tensor(std::vector<int64_t>{3}), number(9), tensor(true)},
                         {{"N", AttrValue(int64_t{1})}}, {PartialShape{-1, 3}});
       },
       "[9 9 9 0 9 9 0 1 9]", kUnknown},
      {"WindowDataset",
       [] {
         const Tensor windows = one_made("WindowDataset", {numbers(5), number(2), number(3), number(2), tensor(false)},
                                         {}, kScalar, {kVariant});
         return one_made("FlatMapDataset", {windows},
                         {function("f", function_ref("window", {kSet},
                                                     [](std::span<const Tensor> in) {
                                                       return Tensors{batch_dataset(in[0], int64_t{9}, kOne, kVector)};
                                                     }))},
                         kVector);
       },
       "[0 2] [3]", kUnknown},
      {"SlidingWindowDataset",
       [] { return one_made("SlidingWindowDataset", {numbers(5), number(3), number(1), number(1)}, {}, kVector); },
       "[0 1 2] [1 2 3] [2 3 4]", 3},
      {"RebatchDatasetV2",
       [] {
         return one_made("RebatchDatasetV2",
                         {one_made("BatchDataset", {numbers(7), number(4)}, {}, kVector),
                          tensor(std::vector<int64_t>{1, 2}), tensor(false)},
                         {}, kVector);
       },
       "[0] [1 2] [3] [4 5] [6]", kUnknown},
      {"ShuffleDataset", [] { return one_made("ShuffleDataset", {numbers(5), number(1), number(1), number(2)}); },
       "0 1 2 3 4", 5},
      {"ShuffleAndRepeatDataset",
       [] { return one_made("ShuffleAndRepeatDataset", {numbers(2), number(1), number(1), number(2), number(2)}); },
       "0 1 0 1", 4},
      {"MapDataset", [] { return mapped("MapDataset", {}, twice()); }, "0 2 4 6 8", kUnknown},
      {"MapDataset", [] { return mapped("MapDataset", {number(10)}, plus()); }, "10 11 12 13 14", kUnknown},
      {"ParallelMapDataset", [] { return mapped("ParallelMapDataset", {tensor(2)}, twice()); }, "0 2 4 6 8", kUnknown},
      {"ParallelMapDatasetV2", [] { return mapped("ParallelMapDatasetV2", {number(2)}, twice()); }, "0 2 4 6 8",
       kUnknown},
      {"MapAndBatchDataset",
       [] {
         return one_made("MapAndBatchDataset", {numbers(5), number(2), number(1), tensor(false)},
                         {function("f", twice())}, kVector);
       },
       "[0 2] [4 6] [8]", kUnknown},
      {"FilterDataset", [] { return mapped("FilterDataset", {}, is_odd(), "predicate"); }, "1 3", kUnknown},
      {"ParallelFilterDataset", [] { return mapped("ParallelFilterDataset", {number(2)}, is_odd(), "predicate"); },
       "1 3", kUnknown},
      {"TakeWhileDataset", [] { return mapped("TakeWhileDataset", {}, below_three(), "predicate"); }, "0 1 2",
       kUnknown},
      {"FlatMapDataset", [] { return mapped("FlatMapDataset", {}, as_many()); }, "0 0 1 0 1 2 0 1 2 3", kUnknown},
      {"InterleaveDataset", [] { return interleaved("InterleaveDataset", {}); }, "0 0 1 0 1 2", kUnknown},
      {"ParallelInterleaveDataset",
       [] { return interleaved("ParallelInterleaveDataset", {tensor(false), number(1), number(1)}); }, "0 0 1 0 1 2",
       kUnknown},
      {"LegacyParallelInterleaveDatasetV2",
       [] { return interleaved("LegacyParallelInterleaveDatasetV2", {number(1), number(1)}); }, "0 0 1 0 1 2",
       kUnknown},
      {"ParallelInterleaveDatasetV2", [] { return interleaved("ParallelInterleaveDatasetV2", {number(1)}); },
       "0 0 1 0 1 2", kUnknown},
      {"ParallelInterleaveDatasetV3", [] { return interleaved("ParallelInterleaveDatasetV3", {number(1)}); },
       "0 0 1 0 1 2", kUnknown},
      {"ParallelInterleaveDatasetV4",
       [] { return interleaved("ParallelInterleaveDatasetV4", {number(1), number(1), number(1)}); }, "0 0 1 0 1 2",
       kUnknown},
      {"ScanDataset",
       [] {
         return one_made("ScanDataset", {numbers(4), number(10)},
                         {function("f", of_numbers("sums", 2,
                                                   [](std::span<const Tensor> in) {
                                                     const Tensor sum = in[0] + in[1];
                                                     return Tensors{sum, sum * 2};
                                                   })),
                          {"Tstate", AttrValue(kOne)}});
       },
       "20 22 26 32", kUnknown},
      {"GroupByWindowDataset",
       [] {
         const auto reduce = function_ref("group", {kNumber, kSet}, [](std::span<const Tensor> in) {
           return Tensors{batch_dataset(in[1], int64_t{9}, kOne, kVector)};
         });
         return one_made(
             "GroupByWindowDataset", {numbers(6)},
             {none("Tkey_func_other_arguments"), none("Treduce_func_other_arguments"),
              none("Twindow_size_func_other_arguments"), function("key_func", remainder()),
              function("reduce_func", reduce),
              function("window_size_func",
                       of_numbers("two", 1, [](std::span<const Tensor> in) { return Tensors{in[0] * 0 + 2}; }))},
             kVector);
       },
       "[0 2] [1 3] [4] [5]", kUnknown},
      {"GroupByReducerDataset",
       [] {
         return one_made("GroupByReducerDataset", {numbers(6)},
                         {none("Tkey_func_other_arguments"), none("Tinit_func_other_arguments"),
                          none("Treduce_func_other_arguments"), none("Tfinalize_func_other_arguments"),
                          function("key_func", remainder()), function("init_func", twice()),
                          function("reduce_func", plus()), function("finalize_func", twice())});
       },
       "12 22", kUnknown},
  };
  return all;
}

// Twice, as passes do not touch the dataset.
void check_elements(const std::string& op) {
  for (const Case& c : cases()) {
    if (op != c.op) continue;
    const Tensor dataset = c.make();
    for (int i = 0; i < 2; ++i) BOOST_TEST(elements_of(dataset) == c.elements);
    BOOST_TEST(one_made("DatasetCardinality", {dataset}).item<int64_t>() == c.cardinality);
    BOOST_TEST(dataset_of(dataset)->to_string().find(" of (") != std::string::npos);
  }
}

// The same of graphs that were written and read.
void check_saved(const std::string& op) {
  for (const Case& c : cases()) {
    if (op != c.op) continue;
    const Function f = trace([&](const Tensor&) { return c.make(); }, {TensorSpec(kInt64, {}, "x")});
    const Function again = function_of(parse_graph(to_graph_def(f.frozen_graph())));
    BOOST_TEST(elements_of(again.call(Tensors{number(0)})[0]) == c.elements);
  }
}

// ---- Elements of variants ------------------------------------------------------------------------------------------

// "indices; values; shape" of sparse tensors that are component k.
std::string sparse_of(const Tensor& dataset, size_t k, DType dtype) {
  std::string text;
  DatasetPass pass(dataset_of(dataset));
  for (ElementTensors element; pass.next(element);) {
    const auto parts = deserialize_sparse(element.at(k), dtype);
    text += (text.empty() ? "" : " | ") + shown(parts.sparse_indices) + ";" + shown(parts.sparse_values) + ";" +
            shown(parts.sparse_shape);
  }
  return text;
}

void check_sparse_batches() {
  const auto batches = [](int64_t row) {
    const Tensor rows = one_made("BatchDataset", {numbers(3), number(2)}, {}, kVector);
    return one_made("DenseToSparseBatchDataset", {rows, number(2), tensor(std::vector<int64_t>{row})}, {},
                    {PartialShape{3}}, {kVariant});
  };
  for (const int64_t row : {-1, 2}) {
    BOOST_TEST(sparse_of(batches(row), 0, kInt64) == "[0 0 0 1 1 0];[0 1 2];[2 2]");
  }
  BOOST_TEST(sparse_of(batches(3), 0, kInt64) == "[0 0 0 1 1 0];[0 1 2];[2 3]");
  expect_error_begins([&] { elements_of(batches(1)); }, "DataLoss: element: expected at most 1 in dimension 0, got 2");
  expect_error_begins(
      [] {
        one_made("DenseToSparseBatchDataset", {numbers(3), number(2), tensor(std::vector<int64_t>{4})}, {},
                 {PartialShape{3}}, {kVariant});
      },
      "InvalidArgument: row_shape: expected 0 dimensions, as the elements have, got [4]");
}

void check_parsed() {
  const Tensor records = one_made(
      "TensorSliceDataset",
      {tensor(std::vector<std::string>{make_example({{"b", tensor(std::vector<int64_t>{4, 5})}, {"a", tensor(1.5f)}}),
                                       make_example({{"a", tensor(2.5f)}})})},
      {}, kScalar, {kString});
  const Tensor batches = one_made("BatchDataset", {records, number(2)}, {}, {PartialShape{-1}}, {kString});
  for (const char* op : {"ParseExampleDataset", "ParseExampleDatasetV2"}) {
    for (const int64_t calls : {1, 3, -1}) {
      const Tensor parsed = one_made(op, {batches, number(calls), tensor(std::vector<float>{})},
                                     {{"sparse_keys", AttrValue(std::vector<std::string>{"b"})},
                                      {"dense_keys", AttrValue(std::vector<std::string>{"a"})},
                                      {"sparse_types", AttrValue(kOne)},
                                      {"Tdense", AttrValue(std::vector<DType>{kFloat32})},
                                      {"dense_shapes", AttrValue(std::vector<PartialShape>{Shape{}})}},
                                     {PartialShape{-1}, PartialShape{3}}, {kFloat32, kVariant});
      BOOST_TEST(sparse_of(parsed, 1, kInt64) == "[0 0 0 1];[4 5];[2 2]");
      DatasetPass pass(dataset_of(parsed));
      ElementTensors element;
      BOOST_TEST(pass.next(element));
      BOOST_TEST(shown(element[0]) == "[1.5 2.5]");
      BOOST_TEST(dataset_of(parsed)->batch_size() == 2);
    }
  }
}

void check_ragged() {
  const Tensor records = one_made(
      "TensorSliceDataset",
      {tensor(std::vector<std::string>{make_example({{"r", tensor(std::vector<int64_t>{4, 5})}}), make_example({}),
                                       make_example({{"r", tensor(int64_t{7})}, {"q", tensor(1.5f)}})})},
      {}, kScalar, {kString});
  const Tensor batches = one_made("BatchDataset", {records, number(2)}, {}, {PartialShape{-1}}, {kString});
  const auto parsed = [&](const char* op, const std::vector<DType>& types, const std::vector<DType>& splits) {
    return one_made(op, {batches, number(1)},
                    {{"sparse_keys", AttrValue(std::vector<std::string>{})},
                     {"dense_keys", AttrValue(std::vector<std::string>{})},
                     {"sparse_types", AttrValue(std::vector<DType>{})},
                     {"Tdense", AttrValue(std::vector<DType>{})},
                     {"dense_shapes", AttrValue(std::vector<PartialShape>{})},
                     {"ragged_keys", AttrValue(std::vector<std::string>{"r", "q"})},
                     {"ragged_value_types", AttrValue(types)},
                     {"ragged_split_types", AttrValue(splits)}},
                    {Shape{}, Shape{}}, {kVariant, kVariant});
  };
  const auto ragged_of_batch = [](const ElementTensors& element, size_t k, DType type, DType splits) {
    const auto ragged = ragged_tensor_from_variant(element.at(k), 1, 1, type, {.Tsplits = splits});
    return shown(ragged.output_nested_splits.at(0)) + shown(ragged.output_dense_values);
  };
  for (const char* op : {"ParseExampleDataset", "ParseExampleDatasetV2"}) {
    DatasetPass pass(dataset_of(parsed(op, {kInt64, kFloat32}, {kInt32, kInt64})));
    ElementTensors element;
    BOOST_TEST(pass.next(element));  // "q" is before "r"
    BOOST_TEST(ragged_of_batch(element, 1, kInt64, kInt32) == "[0 2 2][4 5]");
    BOOST_TEST(ragged_of_batch(element, 0, kFloat32, kInt64) == "[0 0 0][]");
    BOOST_TEST(pass.next(element));
    BOOST_TEST(ragged_of_batch(element, 1, kInt64, kInt32) == "[0 1][7]");
    BOOST_TEST(ragged_of_batch(element, 0, kFloat32, kInt64) == "[0 1][1.5]");
    expect_error_begins([&] { parsed(op, {kInt64}, {kInt32}); },
                        "InvalidArgument: ragged_keys: expected one for each type of values and of splits, got 2, 1");
    expect_error_begins([&] { parsed(op, {kInt64, kInt32}, {kInt32, kInt64}); },
                        "InvalidArgument: ragged_value_types[1]: expected float32, int64 or string, got int32");
    expect_error_begins([&] { parsed(op, {kInt64, kFloat32}, {kInt32, kFloat32}); },
                        "InvalidArgument: ragged_split_types[1]: expected int32 or int64, got float32");
  }
}

// A number, once as many passes as are awaited have come to it.
class Meeting {
 public:
  explicit Meeting(int awaited) : awaited_(awaited) {}
  DatasetHandle dataset(int64_t k) {
    return simple_dataset("Meeting", {kOne, kScalar}, {}, {.begin = [this, k](const DatasetValue&) {
                            return [this, k, begun = false](ElementTensors& element) mutable {
                              if (std::exchange(begun, true)) return false;
                              std::unique_lock lock(mutex_);
                              --awaited_;
                              all_there_.notify_all();
                              using namespace std::chrono_literals;
                              if (!all_there_.wait_for(lock, 30s, [this] { return awaited_ <= 0; })) {
                                fail(Code::kDeadlineExceeded, "meeting: expected others, got none");
                              }
                              element = {number(k)};
                              return true;
                            };
                          }});
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_there_;
  int awaited_;
};

// The datasets of a cycle are read at the same time: each waits for the others.
void check_interleaved_in_threads() {
  const std::pair<const char*, Tensors> ops[] = {{"ParallelInterleaveDataset", {tensor(false), number(1), number(1)}},
                                                 {"LegacyParallelInterleaveDatasetV2", {number(-1), number(1)}},
                                                 {"ParallelInterleaveDatasetV2", {number(3)}},
                                                 {"ParallelInterleaveDatasetV3", {number(3)}},
                                                 {"ParallelInterleaveDatasetV4", {number(-1), number(1), number(3)}}};
  for (const auto& [op, more] : ops) {
    BOOST_TEST_CONTEXT(op) {
      Meeting meeting(3);
      const DatasetHandle handles =
          simple_dataset("Handles", {{kVariant}, kScalar}, {}, {.begin = [&meeting](const DatasetValue&) {
                           return [&meeting, k = int64_t{0}](ElementTensors& element) mutable {
                             if (k == 3) return false;
                             element = {dataset_tensor(meeting.dataset(k++))};
                             return true;
                           };
                         }});
      Tensors inputs = {dataset_tensor(handles), number(3), number(1)};
      inputs.insert(inputs.end(), more.begin(), more.end());
      const FunctionRef same =
          function_ref("same", {kSet}, [](std::span<const Tensor> in) { return Tensors{identity(in[0])}; });
      BOOST_TEST(elements_of(one_made(op, inputs, {function("f", same)})) == "0 1 2");
    }
  }
  expect_error_begins([] { interleaved("ParallelInterleaveDatasetV2", {number(0)}); },
                      "InvalidArgument: num_parallel_calls: expected at least 1, or -1, got 0");
  expect_error_begins([] { interleaved("ParallelInterleaveDatasetV4", {number(0), number(1), number(1)}); },
                      "InvalidArgument: buffer_output_elements: expected at least 1, got 0");
}

void check_batch_sizes() {
  const auto size = [](const Tensor& dataset) { return one_made("ComputeBatchSize", {dataset}).item<int64_t>(); };
  const Tensor batches = one_made("BatchDataset", {numbers(9), number(4)}, {}, kVector);
  BOOST_TEST(size(numbers(3)) == -1);
  BOOST_TEST(size(batches) == 4);
  BOOST_TEST(size(one_made("PrefetchDataset", {batches, number(2)}, {}, kVector)) == 4);
  BOOST_TEST(size(one_made("ZipDataset", {batches, numbers(3)}, {}, {PartialShape{-1}, Shape{}}, {kInt64, kInt64})) ==
             -1);
}

std::vector<Row> rows() {
  std::vector<Row> all;
  const auto has = [&](const char* op) {
    return std::ranges::any_of(all, [&](const Row& row) { return std::string_view(row.op_name) == op; });
  };
  for (const Case& c : cases()) {
    if (has(c.op)) continue;
    Details details{.own = {{"elements", [op = std::string(c.op)] { check_elements(op); }},
                            {"saved", [op = std::string(c.op)] { check_saved(op); }}}};
    if (std::string_view(c.op) == "ParallelInterleaveDatasetV4") {
      details.own.push_back({"in_threads", check_interleaved_in_threads});
    }
    all.emplace_back(c.op, std::move(details));
  }
  all.push_back({"DenseToSparseBatchDataset", {.own = {{"elements", check_sparse_batches}}}});
  for (const char* op : {"ParseExampleDataset", "ParseExampleDatasetV2"}) {
    all.push_back({op, {.own = {{"elements", check_parsed}, {"ragged", check_ragged}}}});
  }
  all.push_back({"ComputeBatchSize", {.own = {{"sizes", check_batch_sizes}}}});
  return all;
}

const Family datasets("datasets", rows());

}  // namespace
}  // namespace panto::test::elements_rows
