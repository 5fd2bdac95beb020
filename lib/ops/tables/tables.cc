// Lookup tables, such as vocabularies.

#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/collections/lookup_table.h"
#include "panto/lib/ops/batching.h"
#include "panto/ops/tables.h"

namespace panto {
namespace {

void table_shape(ShapeContext& c, bool of_tensors = false, const PartialShape& key = Shape{}) {
  shapes::scalar(c);
  const PartialShape value = of_tensors ? c.shape_attr("value_shape") : PartialShape(Shape{});
  if (!value.fully_known()) invalid("value_shape: expected every dimension, got {}", value.to_string());
  if (!c.symbolic() || !key.fully_known()) return;
  auto info = std::make_shared<HandleInfo>();
  info->components = {{c.type("key_dtype"), key}, {c.type("value_dtype"), value}};
  c.output_handle(0, std::move(info));
}
void table_of_tensors_shape(ShapeContext& c) { table_shape(c, true); }
void dense_table_shape(ShapeContext& c) { table_shape(c, true, c.shape(0)); }

// What is known of the table that input 0 refers to; key_dtype kInvalid if nothing. Eager calls leave these checks to
// the kernels.
LookupTable::Form form_of(const ShapeContext& c) {
  c.expect_scalar(0);
  const TensorImpl& handle = *c.in(0).impl();
  if (handle.meta == nullptr) return lookup_table_of(c.in(0))->form();
  if (handle.meta->handle == nullptr || handle.meta->handle->components.size() != 2) return {};
  const std::vector<HandleInfo>& parts = handle.meta->handle->components;
  LookupTable::Form form{parts[0].dtype, parts[1].dtype, Shape(parts[1].shape)};
  form.key_shape = Shape(parts[0].shape);
  return form;
}

PartialShape followed_by(const PartialShape& first, const Shape& rest) {
  if (!first.known_rank()) return {};
  std::vector<int64_t> dims(first.dims().begin(), first.dims().end());
  dims.insert(dims.end(), rest.dims().begin(), rest.dims().end());
  return PartialShape(dims);
}

// The shape of the values for keys of shape `keys`.
PartialShape shape_of_values(const PartialShape& keys, const LookupTable::Form& form) {
  if (!keys.known_rank()) return {};
  const auto of_key = static_cast<size_t>(form.key_shape.rank());
  const auto rank = static_cast<size_t>(keys.rank());
  if (rank < of_key || !PartialShape(keys.dims().last(of_key)).compatible_with(form.key_shape)) {
    invalid("keys: expected a shape that ends with {}, got {}", form.key_shape.to_string(), keys.to_string());
  }
  return followed_by(PartialShape(keys.dims().first(rank - of_key)), form.value_shape);
}

// Checks inputs 1 and 2: keys and their values.
void entries_shape(ShapeContext& c) {
  if (!c.symbolic()) return;
  const LookupTable::Form form = form_of(c);
  if (form.key_dtype == DType::kInvalid) return;
  expect_table_dtypes(form, c.in(1).dtype(), c.in(2).dtype());
  const PartialShape wanted = shape_of_values(c.shape(1), form);
  if (!wanted.compatible_with(c.shape(2))) {
    invalid("values: expected shape {}, got {}", wanted.to_string(), c.shape(2).to_string());
  }
}

// Keys may have any shape, so a batch is looked up at once.
void find_batch(BatchContext& c) {
  if (c.batched(0) || c.batched(2) || c.rank(2) != 0) return c.loop();  // there may be one default per key
  c.set_out(0, lookup_table_find(c.in(0), c.in(1), c.in(2)));
}

}  // namespace

const Op& kHashTableV2 = define_op(
    "HashTableV2(; container: string = \"\", shared_name: string = \"\", use_node_name_sharing: bool = false, "
    "key_dtype: type, value_dtype: type) -> (table_handle: resource)",
    {.doc =
         "A handle to the table `shared_name` (or, without one, of the node's name) in `container`, which is made if "
         "there is none. It is given its entries once, by InitializeTableV2, and has those from then on. Keys are "
         "int32, int64 or strings. An eager call without a name makes a new table.",
     .cpp = "hash_table",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = [](ShapeContext& c) { table_shape(c); },
     .no_gradient = "it has no inputs"});

const Op& kMutableHashTableV2 = define_op(
    "MutableHashTableV2(; container: string = \"\", shared_name: string = \"\", use_node_name_sharing: bool = false, "
    "key_dtype: type, value_dtype: type) -> (table_handle: resource)",
    {.doc = "HashTableV2, but entries may be put in, changed and taken out at any time.",
     .cpp = "mutable_hash_table",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = [](ShapeContext& c) { table_shape(c); },
     .no_gradient = "it has no inputs"});

const Op& kMutableHashTableOfTensorsV2 = define_op(
    "MutableHashTableOfTensorsV2(; container: string = \"\", shared_name: string = \"\", use_node_name_sharing: bool = "
    "false, key_dtype: type, value_dtype: type, value_shape: shape = []) -> (table_handle: resource)",
    {.doc = "MutableHashTableV2, but values are tensors of shape `value_shape`.",
     .cpp = "mutable_hash_table_of_tensors",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = table_of_tensors_shape,
     .no_gradient = "it has no inputs"});

const Op& kAnonymousHashTable =
    define_op("AnonymousHashTable(; key_dtype: type, value_dtype: type) -> (table_handle: resource)",
              {.doc = "HashTableV2, but a new table whenever it runs.",
               .traits = {Trait::kSelfAllocating},
               .effects = {effects::allocates(0)},
               .shape = [](ShapeContext& c) { table_shape(c); },
               .no_gradient = "it has no inputs"});

const Op& kAnonymousMutableHashTable =
    define_op("AnonymousMutableHashTable(; key_dtype: type, value_dtype: type) -> (table_handle: resource)",
              {.doc = "MutableHashTableV2, but a new table whenever it runs.",
               .traits = {Trait::kSelfAllocating},
               .effects = {effects::allocates(0)},
               .shape = [](ShapeContext& c) { table_shape(c); },
               .no_gradient = "it has no inputs"});

const Op& kAnonymousMutableHashTableOfTensors = define_op(
    "AnonymousMutableHashTableOfTensors(; key_dtype: type, value_dtype: type, value_shape: shape = []) -> "
    "(table_handle: resource)",
    {.doc = "MutableHashTableOfTensorsV2, but a new table whenever it runs.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = table_of_tensors_shape,
     .no_gradient = "it has no inputs"});

const Op& kMutableDenseHashTableV2 = define_op(
    "MutableDenseHashTableV2(empty_key: key_dtype, deleted_key: key_dtype; container: string = \"\", shared_name: "
    "string = \"\", use_node_name_sharing: bool = false, key_dtype: type, value_dtype: type, value_shape: shape = [], "
    "initial_num_buckets: int = 131072, max_load_factor: float = 0.8) -> (table_handle: resource)",
    {.doc =
         "MutableHashTableOfTensorsV2, but `empty_key` and `deleted_key` are no keys: who puts them in or looks them "
         "up is refused. Keys may be vectors, as those two are then. The attributes about buckets change nothing.",
     .cpp = "mutable_dense_hash_table",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = dense_table_shape,
     .no_gradient = "a table has none",
     .batch = batching::loop});

const Op& kAnonymousMutableDenseHashTable = define_op(
    "AnonymousMutableDenseHashTable(empty_key: key_dtype, deleted_key: key_dtype; key_dtype: type, value_dtype: type, "
    "value_shape: shape = [], initial_num_buckets: int = 131072, max_load_factor: float = 0.8) -> (table_handle: "
    "resource)",
    {.doc = "MutableDenseHashTableV2, but a new table whenever it runs.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = dense_table_shape,
     .no_gradient = "a table has none",
     .batch = batching::loop});

const Op& kLookupTableFindV2 = define_op(
    "LookupTableFindV2(table_handle: resource, keys: Tin, default_value: Tout; Tin: type, Tout: type) -> (values: "
    "Tout)",
    {.doc =
         "The values of `keys` in the table; of those that are not in it `default_value`, which is one value, or one "
         "for each key. FailedPrecondition for a HashTable that has not got its entries yet.",
     .cpp = "lookup_table_find",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::reads(0)},
     .shape =
         [](ShapeContext& c) {
           if (!c.symbolic()) return;
           const LookupTable::Form form = form_of(c);
           if (form.key_dtype == DType::kInvalid) return;
           expect_table_dtypes(form, c.in(1).dtype(), c.in(2).dtype());
           c.output(shape_of_values(c.shape(1), form));
         },
     .no_gradient = "the entries of tables have none",
     .batch = find_batch});

const Op& kLookupTableInsertV2 = define_op(
    "LookupTableInsertV2(table_handle: resource, keys: Tin, values: Tout; Tin: type, Tout: type) -> ()",
    {.doc = "Gives `keys` these values in the table, which must be a mutable one. Of a key that occurs twice the last "
            "value counts.",
     .cpp = "lookup_table_insert",
     .effects = {effects::updates(0)},
     .shape = entries_shape,
     .no_gradient = "it has no outputs"});

const Op& kLookupTableRemoveV2 =
    define_op("LookupTableRemoveV2(table_handle: resource, keys: Tin; Tin: type) -> ()",
              {.doc = "Takes `keys`, as far as they are in the table, which must be a mutable one, out of it.",
               .cpp = "lookup_table_remove",
               .effects = {effects::updates(0)},
               .shape =
                   [](ShapeContext& c) {
                     if (!c.symbolic()) return;
                     const LookupTable::Form form = form_of(c);
                     if (form.key_dtype != DType::kInvalid)
                       expect_table_dtypes(form, c.in(1).dtype(), form.value_dtype);
                   },
               .no_gradient = "it has no outputs"});

const Op& kLookupTableImportV2 =
    define_op("LookupTableImportV2(table_handle: resource, keys: Tin, values: Tout; Tin: type, Tout: type) -> ()",
              {.doc = "Makes these the entries of the table, which has no others afterwards.",
               .cpp = "lookup_table_import",
               .effects = {effects::updates(0)},
               .shape = entries_shape,
               .no_gradient = "it has no outputs"});

const Op& kLookupTableExportV2 = define_op(
    "LookupTableExportV2(table_handle: resource; Tkeys: type, Tvalues: type) -> (keys: Tkeys, values: Tvalues)",
    {.doc = "All keys of the table, along a first dimension, and their values, in no particular order.",
     .cpp = "lookup_table_export",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::reads(0)},
     .shape =
         [](ShapeContext& c) {
           if (!c.symbolic()) return;
           const LookupTable::Form form = form_of(c);
           if (form.key_dtype == DType::kInvalid) return;
           c.output(0, followed_by(PartialShape{-1}, form.key_shape));
           expect_table_dtypes(form, c.type("Tkeys"), c.type("Tvalues"));
           c.output(1, followed_by(PartialShape{-1}, form.value_shape));
         },
     .no_gradient = "the entries of tables have none"});

const Op& kLookupTableSizeV2 = define_op(  //
    "LookupTableSizeV2(table_handle: resource) -> (size: int64)", {.doc = "The number of entries of the table.",
                                                                   .cpp = "lookup_table_size",
                                                                   .effects = {effects::reads(0)},
                                                                   .shape =
                                                                       [](ShapeContext& c) {
                                                                         c.expect_scalar(0);
                                                                         shapes::scalar(c);
                                                                       },
                                                                   .no_gradient = "integers have none"});

const Op& kInitializeTableV2 = define_op(
    "InitializeTableV2(table_handle: resource, keys: Tkey, values: Tval; Tkey: type, Tval: type) -> ()",
    {.doc = "Gives a HashTable its entries. FailedPrecondition if it has others, InvalidArgument for two values of a "
            "key.",
     .cpp = "initialize_table",
     .effects = {effects::updates(0)},
     .shape = entries_shape,
     .no_gradient = "it has no outputs"});

const Op& kInitializeTableFromTextFileV2 = define_op(
    "InitializeTableFromTextFileV2(table_handle: resource, filename: string; key_index: int >= -2, value_index: int >= "
    "-2, vocab_size: int >= -1 = -1, delimiter: string = \"\\t\", offset: int = 0) -> ()",
    {.doc = "Gives a HashTable an entry for each line of a file. `key_index` and `value_index`: which part of the line "
            "is the key, and the value, where `delimiter` parts it; -2 is the whole line, a string, and -1 the number "
            "of the line, from `offset` on, an int64. With `vocab_size` only so many lines count, and there must be as "
            "many.",
     .cpp = "initialize_table_from_text_file",
     .effects = {effects::updates(0), effects::external()},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(0);
           c.expect_scalar(1);
           if (c.text("delimiter").size() != 1) {
             invalid("delimiter: expected one character, got {}", c.text("delimiter").size());
           }
         },
     .no_gradient = "it has no outputs"});

}  // namespace panto
