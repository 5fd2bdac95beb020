// Tables of values by keys.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "panto/lib/base/file.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"

namespace panto::test::tables_rows {
namespace {

Tensor words() { return tensor({"a", "b", "c"}); }

// Whatever is looked up in the table, by words: what is not there is -1.
std::string found(const Tensor& table, const Tensor& keys) { return lookup_table_find(table, keys, -1).to_string(); }

void given_entries_once() {
  const Tensor table = hash_table(kString, kInt32);
  expect_error_begins([&] { found(table, words()); },
                      "FailedPrecondition: table: expected an initialized one, got none initialized yet [in Lookup");
  BOOST_TEST(lookup_table_size(table).item<int64_t>() == 0);
  initialize_table(table, words(), tensor({1, 2, 3}));
  BOOST_TEST(found(table, tensor({"c", "x", "a"})) == "[ 3 -1  1]");
  BOOST_TEST(found(table, tensor("b")) == "2");
  BOOST_TEST(lookup_table_find(table, tensor({"x", "b", "y"}), tensor({7, 8, 9})).to_string() == "[7 2 9]");
  initialize_table(table, tensor({"c", "b", "a"}), tensor({3, 2, 1}));  // the same
  BOOST_TEST(lookup_table_size(table).item<int64_t>() == 3);
  expect_error_begins([&] { initialize_table(table, words(), tensor({1, 2, 4})); },
                      "FailedPrecondition: table: expected one without entries, or with the same ones, got one with ");
  expect_error_begins([&] { lookup_table_insert(table, words(), tensor({1, 2, 4})); },
                      "Unimplemented: table: expected a mutable one, got a HashTable");
  expect_error_begins([&] { lookup_table_remove(table, words()); }, "Unimplemented: table: expected a mutable one");
  const Tensor other = hash_table(kString, kInt32);
  expect_error_begins([&] { initialize_table(other, tensor({"a", "a"}), tensor({1, 2})); },
                      "InvalidArgument: keys: expected one value for each, got two for \"a\"");
  expect_error_begins([&] { found(other, words()); }, "FailedPrecondition: ");  // nothing was put in
  initialize_table(other, tensor({"a", "a"}), tensor({1, 1}));
  BOOST_TEST(lookup_table_size(other).item<int64_t>() == 1);
}

void changed_at_any_time() {
  const Tensor table = mutable_hash_table(kInt64, kFloat32);
  const auto of = [&](std::vector<int64_t> keys) { return lookup_table_find(table, tensor(keys), -1.f).to_string(); };
  BOOST_TEST(of({1}) == "[-1.]");
  lookup_table_insert(table, tensor(std::vector<int64_t>{{1, 2, 3, 2}}), tensor({1.f, 2.f, 3.f, 20.f}));
  BOOST_TEST(of({1, 2, 3, 4}) == "[ 1. 20.  3. -1.]");
  lookup_table_remove(table, tensor(std::vector<int64_t>{1, 7}));
  BOOST_TEST(of({1, 2, 3, 4}) == "[-1. 20.  3. -1.]");
  lookup_table_insert(table, tensor(int64_t{4}), tensor(4.f));
  BOOST_TEST(lookup_table_size(table).item<int64_t>() == 3);
  const auto [keys, values] = lookup_table_export(table, kInt64, kFloat32);
  std::vector<std::pair<int64_t, float>> entries;
  for (size_t i = 0; i < 3; ++i) entries.emplace_back(keys.data<int64_t>()[i], values.data<float>()[i]);
  std::ranges::sort(entries);
  BOOST_TEST((entries == std::vector<std::pair<int64_t, float>>{{2, 20.f}, {3, 3.f}, {4, 4.f}}));
  lookup_table_import(table, tensor(std::vector<int64_t>{9}), tensor({9.f}));
  BOOST_TEST(of({2, 9}) == "[-1.  9.]");
  BOOST_TEST(lookup_table_size(table).item<int64_t>() == 1);
}

void values_that_are_tensors() {
  const Tensor table = mutable_hash_table_of_tensors(kString, kFloat64, {.value_shape = PartialShape{2}});
  lookup_table_insert(table, tensor({"a", "b"}), tensor({{1., 2.}, {3., 4.}}));
  lookup_table_insert(table, tensor("c"), tensor({5., 6.}));
  BOOST_TEST(lookup_table_find(table, tensor_from_strings({2, 1}, {"c", "x"}), tensor({-1., -2.})).to_string() ==
             "[[[ 5.  6.]]\n\n [[-1. -2.]]]");
  lookup_table_remove(table, tensor({"a"}));
  BOOST_TEST(lookup_table_find(table, tensor({"a", "b", "c"}), tensor({0., 0.})).to_string() ==
             "[[0. 0.]\n [3. 4.]\n [5. 6.]]");
  expect_error_begins([&] { lookup_table_insert(table, tensor({"a"}), tensor({1., 2.})); },
                      "InvalidArgument: values: expected shape [1,2], got [2]");
  expect_error_begins([&] { lookup_table_find(table, tensor({"a"}), tensor(1.)); },
                      "InvalidArgument: default_value: expected shape [2] or [1,2], got []");
}

// Every type that keys and values may have.
void of_every_type() {
  for (const DType key : {kInt32, kInt64, kString}) {
    for (int t = 0; t < kDTypeSlots; ++t) {
      const auto value = static_cast<DType>(t);
      if (!(dtypes::kPlain | DTypeSet{kString}).contains(value)) continue;
      const Tensor keys = to_tensor(iota({3}), key), values = to_tensor(zeros_and_ones({3}, t), value);
      const Tensor table = mutable_hash_table(key, value);
      lookup_table_insert(table, keys, values);
      const Tensor back = lookup_table_find(table, keys, to_tensor(scalar(1), value));
      BOOST_TEST(difference(values, back) == "", dtype_name(key) << " " << dtype_name(value));
    }
  }
  expect_error_begins([] { hash_table(kFloat32, kInt32); },
                      "Unimplemented: key_dtype: expected int32, int64 or string, got float32");
}

void what_does_not_fit() {
  const Tensor table = mutable_hash_table(kString, kInt32);
  expect_error_begins([&] { found(table, tensor({1, 2})); },
                      "InvalidArgument: keys: expected the table's string, got int32");
  expect_error_begins([&] { lookup_table_insert(table, words(), tensor({1.f, 2.f, 3.f})); },
                      "InvalidArgument: values: expected the table's int32, got float32");
  expect_error_begins([&] { lookup_table_insert(table, words(), tensor({1, 2})); },
                      "InvalidArgument: values: expected shape [3], got [2]");
  expect_error_begins([&] { lookup_table_export(table, kString, kInt64); },
                      "InvalidArgument: values: expected the table's int32, got int64");
  expect_error_begins([&] { lookup_table_size(fifo_queue({kFloat32})); },
                      "InvalidArgument: table: expected a handle of a table, got a FIFOQueue named \"\"");
  expect_error_begins([&] { initialize_table(table, words(), tensor({1, 2, 3})); },
                      "InvalidArgument: table: expected a HashTable, got a MutableHashTable");
  const auto shared = [](DType value) { return hash_table(kString, value, {.shared_name = "tables_shared"}); };
  initialize_table(shared(kInt32), words(), tensor({1, 2, 3}));
  BOOST_TEST(found(shared(kInt32), tensor("b")) == "2");
  expect_error_begins([&] { shared(kInt64); },
                      "InvalidArgument: table \"tables_shared\": expected it as it was declared before, a HashTable of "
                      "int32 by string, got another");
}

void without_names() {
  const Tensor a = anonymous_hash_table(kString, kInt32), b = anonymous_hash_table(kString, kInt32);
  initialize_table(a, words(), tensor({1, 2, 3}));
  expect_error_begins([&] { found(b, words()); }, "FailedPrecondition: ");
  const Tensor c = anonymous_mutable_hash_table(kString, kInt32);
  lookup_table_insert(c, words(), tensor({1, 2, 3}));
  BOOST_TEST(found(c, tensor("c")) == "3");
  const Tensor d = anonymous_mutable_hash_table_of_tensors(kString, kInt32, {.value_shape = PartialShape{1}});
  lookup_table_insert(d, tensor("a"), tensor({1}));
  BOOST_TEST(lookup_table_find(d, tensor("a"), tensor({0})).to_string() == "[1]");
}

// Two keys are none, and keys may be vectors.
void dense_ones() {
  const auto number = [](int64_t value) { return tensor(value); };
  const Tensor table = mutable_dense_hash_table(number(0), number(-1), kFloat32, {.value_shape = PartialShape{2}});
  lookup_table_insert(table, tensor(std::vector<int64_t>{5, 7}), tensor({{1.f, 2.f}, {3.f, 4.f}}));
  const auto of = [&](std::vector<int64_t> keys) {
    return lookup_table_find(table, tensor(keys), tensor({9.f, 9.f})).to_string();
  };
  BOOST_TEST(of({7, 6}) == "[[3. 4.]\n [9. 9.]]");
  lookup_table_remove(table, tensor(std::vector<int64_t>{7}));
  BOOST_TEST(of({7, 5}) == "[[9. 9.]\n [1. 2.]]");
  for (const int64_t none : {0, -1}) {
    const std::string text =
        "InvalidArgument: keys: expected neither the empty_key nor the deleted_key, got " + std::to_string(none);
    expect_error_begins([&] { of({5, none}); }, text);
    expect_error_begins([&] { lookup_table_insert(table, number(none), tensor({1.f, 2.f})); }, text);
    expect_error_begins([&] { lookup_table_remove(table, number(none)); }, text);
  }
  expect_error_begins([&] { mutable_dense_hash_table(number(1), number(1), kFloat32); },
                      "InvalidArgument: deleted_key: expected another one than the empty_key, got 1");
  expect_error_begins([&] { mutable_dense_hash_table(number(1), number(2), kFloat32, {.initial_num_buckets = 12}); },
                      "InvalidArgument: initial_num_buckets: expected a power of 2, got 12");
  expect_error_begins([&] { mutable_dense_hash_table(number(1), number(2), kFloat32, {.max_load_factor = 1}); },
                      "InvalidArgument: max_load_factor: expected one between 0 and 1, got 1");
  expect_error_begins([&] { mutable_dense_hash_table(number(1), tensor({1, 2}), kFloat32); }, "InvalidArgument: ");
}

void keys_that_are_vectors() {
  const auto key = [](int64_t a, int64_t b) { return tensor(std::vector<int64_t>{a, b}); };
  const Tensor table = anonymous_mutable_dense_hash_table(key(0, 0), key(0, 1), kString);
  const Tensor keys = reshape(tensor(std::vector<int64_t>{1, 2, 3, 4}), {2, 2});
  lookup_table_insert(table, keys, tensor({"a", "b"}));
  lookup_table_insert(table, key(3, 4), tensor("c"));
  BOOST_TEST(lookup_table_find(table, keys, tensor("none")).to_string() == "[b'a' b'c']");
  BOOST_TEST(lookup_table_find(table, key(2, 1), tensor("none")).to_string() == "b'none'");
  const auto [all_keys, values] = lookup_table_export(table, kInt64, kString);
  BOOST_TEST(all_keys.shape().to_string() == "[2,2]");
  BOOST_TEST(lookup_table_find(table, all_keys, tensor("none")).to_string() == values.to_string());
  expect_error_begins([&] { lookup_table_insert(table, key(0, 1), tensor("c")); },
                      "InvalidArgument: keys: expected neither the empty_key nor the deleted_key, got [0, 1]");
  expect_error_begins([&] { lookup_table_find(table, tensor(int64_t{1}), tensor("none")); },
                      "InvalidArgument: keys: expected a shape that ends with [2], got []");
  expect_error_begins([] { anonymous_mutable_dense_hash_table(zeros({1, 1}, kInt64), ones({1, 1}, kInt64), kString); },
                      "InvalidArgument: empty_key: expected a scalar or a vector, got shape [1,1]");
}

void dense_in_saved_graphs() {
  const auto build = [] {
    const Tensor empty = tensor({"", ""}), deleted = tensor({"-", "-"});
    const Tensor table = named("table", mutable_dense_hash_table(empty, deleted, kInt64));
    const Tensor keys = tensor_from_strings({2, 2}, {"a", "b", "c", "d"});
    const CollectEffects effects;
    lookup_table_insert(table, keys, tensor(std::vector<int64_t>{1, 2}));
    group(effects.operations(), "insert");
    const Tensor found = named("found", lookup_table_find(table, keys, tensor(int64_t{-1})));
    BOOST_TEST(found.partial_shape().to_string() == "[2]");
    BOOST_TEST(lookup_table_export(table, kString, kInt64).keys.partial_shape().to_string() == "[?,2]");
    named("anonymous", lookup_table_size(anonymous_mutable_dense_hash_table(empty, deleted, kInt64)));
    expect_error_begins([&] { lookup_table_find(table, tensor("a"), tensor(int64_t{-1})); },
                        "InvalidArgument: keys: expected a shape that ends with [2], got []");
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    session.run("insert");
    BOOST_TEST(session.run("found").to_string() == "[1 2]");
    BOOST_TEST(session.run("anonymous").item<int64_t>() == 0);
  }
}

void from_files() {
  const TestFolder folder;
  const std::string path = folder / "words.txt";
  write_file(path, "the\t7\t0.5\r\nof\t-3\t2\nand\t11\t1e3");
  const auto table = [&](DType key, DType value, int64_t key_index, int64_t value_index,
                         const InitializeTableFromTextFileAttrs& attrs = {}) {
    const Tensor t = hash_table(key, value);
    initialize_table_from_text_file(t, path, key_index, value_index, attrs);
    return t;
  };
  const Tensor numbers = tensor(std::vector<int64_t>{0, 1, 2, 3});
  BOOST_TEST(
      lookup_table_find(table(kString, kInt64, 0, -1), tensor({"and", "the", "x"}), tensor(int64_t{-1})).to_string() ==
      "[ 2  0 -1]");
  BOOST_TEST(lookup_table_find(table(kInt64, kString, -1, 0), numbers, "none").to_string() ==
             "[b'the' b'of' b'and' b'none']");
  BOOST_TEST(lookup_table_find(table(kString, kInt32, 0, 1), tensor({"the", "of", "and"}), 0).to_string() ==
             "[ 7 -3 11]");
  BOOST_TEST(lookup_table_find(table(kString, kFloat32, 0, 2), tensor({"the", "of", "and"}), 0.f).to_string() ==
             "[5.e-01 2.e+00 1.e+03]");
  BOOST_TEST(
      lookup_table_find(table(kString, kInt64, -2, -1, {.offset = 10}), tensor({"of\t-3\t2"}), tensor(int64_t{0}))
          .to_string() == "[11]");
  BOOST_TEST(lookup_table_size(table(kString, kInt64, 0, -1, {.vocab_size = 2})).item<int64_t>() == 2);
  expect_error_begins([&] { table(kString, kInt64, 0, -1, {.vocab_size = 4}); }, "InvalidArgument: file '");
  expect_error_begins([&] { table(kString, kInt32, 0, -1); },
                      "InvalidArgument: value: expected int64 for the number of a line, got int32");
  expect_error_begins([&] { table(kInt64, kInt64, -2, -1); },
                      "InvalidArgument: key: expected string for a whole line, got int64");
  expect_error_begins([&] { table(kString, kInt32, 0, 3); },
                      "InvalidArgument: line 0: expected more than 3 columns, got 3");
  expect_error_begins([&] { table(kString, kInt32, 1, 0); },
                      "InvalidArgument: value in line 0: expected a number that is int32, got \"the\"");
  expect_error_begins([&] { table(kString, kInt32, 0, 1, {.delimiter = "::"}); },
                      "InvalidArgument: delimiter: expected one character, got 2");
  expect_error_begins([&] { initialize_table_from_text_file(hash_table(kString, kInt64), folder / "none", 0, -1); },
                      "NotFound: ");
}

// Graphs know the types and shapes of what tables hold.
void in_saved_graphs() {
  const TestFolder folder;
  const std::string path = folder / "words.txt";
  write_file(path, "x\ny\n");
  const auto build = [&] {
    const auto operation = [](const char* name, const auto& add) {
      const CollectEffects effects;
      add();
      group(effects.operations(), name);
    };
    const Tensor fixed = named("fixed", hash_table(kString, kInt64));
    const Tensor read = named("read", hash_table(kString, kInt64));
    const Tensor changing = named("changing", mutable_hash_table(kString, kInt64));
    const Tensor rows =
        named("rows", mutable_hash_table_of_tensors(kString, kFloat32, {.value_shape = PartialShape{2}}));
    const Tensor numbers = tensor(std::vector<int64_t>{1, 2, 3});
    operation("initialize", [&] { initialize_table(fixed, words(), numbers); });
    operation("from_file", [&] { initialize_table_from_text_file(read, path, -2, -1); });
    operation("insert", [&] { lookup_table_insert(changing, words(), numbers); });
    operation("remove", [&] { lookup_table_remove(changing, tensor({"a"})); });
    operation("import", [&] { lookup_table_import(rows, tensor({"a"}), tensor({{1.f, 2.f}})); });
    const Tensor keys = tensor({"c", "y", "a"});
    named("of_fixed", lookup_table_find(fixed, keys, tensor(int64_t{-1})));
    named("of_read", lookup_table_find(read, keys, tensor(int64_t{-1})));
    named("of_changing", lookup_table_find(changing, keys, tensor(int64_t{-1})));
    const Tensor of_rows = named("of_rows", lookup_table_find(rows, keys, tensor({0.f, 0.f})));
    BOOST_TEST(of_rows.partial_shape().to_string() == "[3,2]");
    const auto [all_keys, all_values] = lookup_table_export(rows, kString, kFloat32);
    BOOST_TEST(all_values.partial_shape().to_string() == "[?,2]");
    named("all", all_keys);
    named("size", lookup_table_size(changing));
    for (const Tensor& t : {anonymous_hash_table(kString, kInt64), anonymous_mutable_hash_table(kString, kInt64)}) {
      lookup_table_size(t);
    }
    named("anonymous", lookup_table_size(anonymous_mutable_hash_table_of_tensors(kString, kInt64)));
    expect_error_begins([&] { lookup_table_find(fixed, tensor({1}), tensor(int64_t{1})); },
                        "InvalidArgument: keys: expected the table's string, got int32");
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    expect_error_begins([&] { session.run({"of_fixed"}); }, "FailedPrecondition: table: ");
    for (const char* name : {"initialize", "from_file", "insert", "remove", "import"}) session.run(name);
    BOOST_TEST(session.run("of_fixed").to_string() == "[ 3 -1  1]");
    BOOST_TEST(session.run("of_read").to_string() == "[-1  1 -1]");
    BOOST_TEST(session.run("of_changing").to_string() == "[ 3 -1 -1]");
    BOOST_TEST(session.run("of_rows").to_string() == "[[0. 0.]\n [0. 0.]\n [1. 2.]]");
    BOOST_TEST(session.run("all").to_string() == "[b'a']");
    BOOST_TEST(session.run("size").item<int64_t>() == 2);
    BOOST_TEST(session.run("anonymous").item<int64_t>() == 0);
  }
}

const OwnTest kSaved{"saved", in_saved_graphs};

const Family tables("tables",
                    {
                        {"HashTableV2", {.own = {{"once", given_entries_once}, kSaved}}},
                        {"MutableHashTableV2", {.own = {{"changed", changed_at_any_time}, kSaved}}},
                        {"MutableHashTableOfTensorsV2", {.own = {{"rows", values_that_are_tensors}, kSaved}}},
                        {"AnonymousHashTable", {.own = {{"names", without_names}, kSaved}}},
                        {"AnonymousMutableHashTable", {.own = {{"names", without_names}, kSaved}}},
                        {"AnonymousMutableHashTableOfTensors", {.own = {{"names", without_names}, kSaved}}},
                        {"MutableDenseHashTableV2", {.own = {{"dense", dense_ones}, {"saved", dense_in_saved_graphs}}}},
                        {"AnonymousMutableDenseHashTable",
                         {.own = {{"vectors", keys_that_are_vectors}, {"saved", dense_in_saved_graphs}}}},
                        {"LookupTableFindV2", {.own = {{"refused", what_does_not_fit}, kSaved}}},
                        {"LookupTableInsertV2", {.own = {{"every_type", of_every_type}, kSaved}}},
                        {"LookupTableRemoveV2", {.own = {{"changed", changed_at_any_time}, kSaved}}},
                        {"LookupTableImportV2", {.own = {{"changed", changed_at_any_time}, kSaved}}},
                        {"LookupTableExportV2", {.own = {{"changed", changed_at_any_time}, kSaved}}},
                        {"LookupTableSizeV2", {.own = {{"once", given_entries_once}, kSaved}}},
                        {"InitializeTableV2", {.own = {{"once", given_entries_once}, kSaved}}},
                        {"InitializeTableFromTextFileV2", {.own = {{"files", from_files}, kSaved}}},
                    });

}  // namespace
}  // namespace panto::test::tables_rows
