// Iterators, which produce the elements of datasets, and ops that go over a whole dataset in one call.
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/datasets/dataset_shapes.h"
#include "panto/ops/datasets.h"

namespace panto {

using namespace dataset_ops;

const Op& kIterator = define_op(
    "Iterator(; shared_name: string, container: string, output_types: list(type) >= 1, output_shapes: "
    "list(shape) >= 1) -> (handle: resource)",
    {.doc = "A handle to the iterator `shared_name` (or, without one, of the node's name) in `container`, which is "
            "made if there is none.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = one_scalar,
     .no_gradient = "no gradient goes through an iterator"});

const Op& kIteratorV2 = define_op(
    "IteratorV2(; shared_name: string, container: string, output_types: list(type) >= 1, output_shapes: "
    "list(shape) >= 1) -> (handle: resource)",
    {.doc = "A handle to the iterator `shared_name` (or, without one, of the node's name) in `container`, which is "
            "made if there is none.",
     .cpp = "iterator_v2",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = one_scalar,
     .no_gradient = "no gradient goes through an iterator"});

const Op& kAnonymousIterator = define_op(
    "AnonymousIterator(; output_types: list(type) >= 1, output_shapes: list(shape) >= 1) -> (handle: "
    "resource)",
    {.doc = "A handle to a new iterator, which lives as long as its handles.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = one_scalar,
     .no_gradient = "no gradient goes through an iterator"});

const Op& kAnonymousIteratorV2 = define_op(
    "AnonymousIteratorV2(; output_types: list(type) >= 1, output_shapes: list(shape) >= 1) -> (handle: "
    "resource, deleter: variant)",
    {.doc = "A handle to a new iterator, which lives as long as its handles, and what DeleteIterator gets.",
     .cpp = "anonymous_iterator_v2",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = one_scalar,
     .no_gradient = "no gradient goes through an iterator"});

const Op& kAnonymousIteratorV3 = define_op(
    "AnonymousIteratorV3(; output_types: list(type) >= 1, output_shapes: list(shape) >= 1) -> (handle: "
    "resource)",
    {.doc = "A handle to a new iterator, which lives as long as its handles.",
     .cpp = "anonymous_iterator_v3",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = one_scalar,
     .no_gradient = "no gradient goes through an iterator"});

const Op& kOneShotIterator = define_op(
    "OneShotIterator(; dataset_factory: func, output_types: list(type) >= 1, output_shapes: list(shape) >= "
    "1, container: string = \"\", shared_name: string = \"\") -> (handle: resource)",
    {.doc = "A handle to the iterator `shared_name` (or, without one, of the node's name) in `container`. Where "
            "there is none, one is made, with a pass over the dataset that `dataset_factory` gives.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0), effects::random(), effects::external()},
     .shape = one_scalar,
     .no_gradient = "no gradient goes through an iterator"});

const Op& kMakeIterator =
    define_op("MakeIterator(dataset: variant, iterator: resource) -> ()",
              {.doc = "Begins a pass over the dataset, which the iterator's next elements are of.",
               .effects = {effects::updates(1)},
               .shape = no_outputs,
               .no_gradient = "it has no outputs"});

const Op& kDeleteIterator =
    define_op("DeleteIterator(handle: resource, deleter: variant) -> ()", {.doc = "Ends the iterator's pass.",
                                                                           .effects = {effects::updates(0)},
                                                                           .shape = no_outputs,
                                                                           .no_gradient = "it has no outputs"});

const Op& kIteratorGetNext = define_op(
    "IteratorGetNext(iterator: resource; output_types: list(type) >= 1, output_shapes: list(shape) >= 1) -> "
    "(components: output_types)",
    {.doc = "The next element of the iterator's pass. OutOfRange at its end, FailedPrecondition where none was begun.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(0), effects::random(), effects::external()},
     .shape = components_shape,
     .no_gradient = "no gradient goes through an iterator"});

const Op& kIteratorGetNextSync = define_op(
    "IteratorGetNextSync(iterator: resource; output_types: list(type) >= 1, output_shapes: list(shape) >= 1) "
    "-> (components: output_types)",
    {.doc = "As IteratorGetNext.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(0), effects::random(), effects::external()},
     .shape = components_shape,
     .no_gradient = "no gradient goes through an iterator"});

const Op& kIteratorGetNextAsOptional = define_op(
    "IteratorGetNextAsOptional(iterator: resource; output_types: list(type) >= 1, output_shapes: list(shape) "
    ">= 1) -> (optional: variant)",
    {.doc = "The next element as an optional (OptionalGetValue), which has no value at the end.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(0), effects::random(), effects::external()},
     .shape = one_scalar,
     .no_gradient = "no gradient goes through an iterator"});

const Op& kIteratorToStringHandle =
    define_op("IteratorToStringHandle(resource_handle: resource) -> (string_handle: string)",
              {.doc = "A text that names the iterator in this process.",
               .effects = {effects::reads(0)},
               .shape = one_scalar,
               .no_gradient = "no gradient goes through an iterator"});

const Op& kIteratorFromStringHandle = define_op(
    "IteratorFromStringHandle(string_handle: string; output_types: list(type) >= 0 = [], output_shapes: "
    "list(shape) >= 0 = []) -> (resource_handle: resource)",
    {.doc = "The iterator of a text that IteratorToStringHandle gave. NotFound where it is gone.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::external()},
     .shape = one_scalar,
     .no_gradient = "no gradient goes through an iterator"});

const Op& kIteratorFromStringHandleV2 = define_op(
    "IteratorFromStringHandleV2(string_handle: string; output_types: list(type) >= 0 = [], output_shapes: "
    "list(shape) >= 0 = []) -> (resource_handle: resource)",
    {.doc = "The iterator of a text that IteratorToStringHandle gave. NotFound where it is gone.",
     .cpp = "iterator_from_string_handle_v2",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::external()},
     .shape = one_scalar,
     .no_gradient = "no gradient goes through an iterator"});

const Op& kSerializeIterator = define_op(
    "SerializeIterator(resource_handle: resource; external_state_policy: int = 0) -> (serialized: variant)",
    {.doc =
         "Where the iterator's pass is, as a variant [1] of this process: how many elements it has given, and where "
         "its "
         "random orders began. FailedPrecondition where none was begun, and where an input's order is that of threads.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::reads(0)},
     .shape = [](ShapeContext& c) { c.output({1}); },
     .no_gradient = "no gradient goes through an iterator"});

const Op& kDeserializeIterator = define_op(
    "DeserializeIterator(resource_handle: resource, serialized: variant) -> ()",
    {.doc = "Makes the iterator, of which a pass over the same dataset was begun, go on where SerializeIterator was "
            "called. "
            "The elements before are made once more, and dropped: so are the elements that follow the same, where "
            "the dataset's functions give the same for the same.",
     .effects = {effects::updates(0), effects::random(), effects::external()},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(0);
           c.expect_rank(1, 1);
         },
     .no_gradient = "it has no outputs"});

const Op& kIteratorGetDevice = define_op("IteratorGetDevice(resource: resource) -> (device: string)",
                                         {.doc = "Where the iterator is, as TensorFlow spells it: the first CPU.",
                                          .aliases = {"ExperimentalIteratorGetDevice"},
                                          .effects = {effects::reads(0)},
                                          .shape = one_scalar,
                                          .no_gradient = "no gradient goes through an iterator"});

const Op& kDatasetCardinality =
    define_op("DatasetCardinality(input_dataset: variant; cardinality_options: string = \"\") -> (cardinality: int64)",
              {.doc = "The number of elements of a pass: -1 for infinitely many, -2 where that is not known.",
               .aliases = {"ExperimentalDatasetCardinality"},
               .shape = one_scalar,
               .no_gradient = "no gradient goes through an iterator"});

const Op& kDatasetToSingleElement = define_op(
    "DatasetToSingleElement(dataset: variant; output_types: list(type) >= 1, output_shapes: list(shape) >= "
    "1, metadata: string = \"\") -> (components: output_types)",
    {.doc = "The dataset's one element. InvalidArgument for any other number of them.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::random(), effects::external()},
     .shape = components_shape,
     .no_gradient = "no gradient goes through an iterator"});

const Op& kReduceDataset = define_op(
    "ReduceDataset(input_dataset: variant, initial_state: Tstate, other_arguments: Targuments; f: func, "
    "Tstate: list(type) >= 1, Targuments: list(type) >= 0, output_types: list(type) >= 1, output_shapes: "
    "list(shape) >= 1, use_inter_op_parallelism: bool = true, metadata: string = \"\") -> (components: "
    "output_types)",
    {.doc = "What `f` makes of a state, which begins with `initial_state`, and each element: the last state.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::random(), effects::external()},
     .shape = components_shape,
     .no_gradient = "no gradient goes through an iterator"});

const Op& kDatasetToTFRecord = define_op(
    "DatasetToTFRecord(input_dataset: variant, filename: string, compression_type: string) -> ()",
    {.doc = "Writes the elements, string scalars, as records into a file, compressed as `compression_type` says "
            "(\"\", \"ZLIB\" or \"GZIP\").",
     .aliases = {"ExperimentalDatasetToTFRecord"},
     .effects = {effects::random(), effects::external()},
     .shape = no_outputs,
     .no_gradient = "it has no outputs"});

const Op& kInitializeTableFromDataset =
    define_op("InitializeTableFromDataset(table_handle: resource, dataset: variant) -> ()",
              {.doc = "Gives a table its entries: the elements are a key and a value each.",
               .effects = {effects::updates(0), effects::random(), effects::external()},
               .shape = no_outputs,
               .no_gradient = "it has no outputs"});

const Op& kAnonymousSeedGenerator = define_op(
    "AnonymousSeedGenerator(seed: int64, seed2: int64, reshuffle: bool) -> (handle: resource, deleter: "
    "variant)",
    {.doc = "A handle to the seeds of passes: two words each from the Philox stream of the seeds; the same each time "
            "unless `reshuffle`. And what DeleteSeedGenerator gets.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = one_scalar,
     .no_gradient = "no gradient goes through an iterator"});

const Op& kAnonymousRandomSeedGenerator =
    define_op("AnonymousRandomSeedGenerator(seed: int64, seed2: int64) -> (handle: resource, deleter: variant)",
              {.doc = "As AnonymousSeedGenerator, where passes differ.",
               .traits = {Trait::kSelfAllocating},
               .effects = {effects::allocates(0)},
               .shape = one_scalar,
               .no_gradient = "no gradient goes through an iterator"});

const Op& kDummySeedGenerator =
    define_op("DummySeedGenerator() -> (handle: resource)", {.doc = "A handle to no generator.",
                                                             .traits = {Trait::kSelfAllocating},
                                                             .effects = {effects::allocates(0)},
                                                             .shape = one_scalar,
                                                             .no_gradient = "no gradient goes through an iterator"});

const Op& kDeleteSeedGenerator = define_op("DeleteSeedGenerator(handle: resource, deleter: variant) -> ()",
                                           {.doc = "Nothing: a generator lives as long as its handles.",
                                            .effects = {effects::updates(0)},
                                            .shape = no_outputs,
                                            .no_gradient = "it has no outputs"});

const Op& kDeleteRandomSeedGenerator = define_op("DeleteRandomSeedGenerator(handle: resource, deleter: variant) -> ()",
                                                 {.doc = "Nothing: a generator lives as long as its handles.",
                                                  .effects = {effects::updates(0)},
                                                  .shape = no_outputs,
                                                  .no_gradient = "it has no outputs"});

const Op& kAnonymousMemoryCache =
    define_op("AnonymousMemoryCache() -> (handle: resource, deleter: variant)",
              {.doc = "A handle to what CacheDatasetV2 keeps, and what DeleteMemoryCache gets.",
               .traits = {Trait::kSelfAllocating},
               .effects = {effects::allocates(0)},
               .shape = one_scalar,
               .no_gradient = "no gradient goes through an iterator"});

const Op& kDummyMemoryCache =
    define_op("DummyMemoryCache() -> (handle: resource)", {.doc = "A handle to no cache.",
                                                           .traits = {Trait::kSelfAllocating},
                                                           .effects = {effects::allocates(0)},
                                                           .shape = one_scalar,
                                                           .no_gradient = "no gradient goes through an iterator"});

const Op& kDeleteMemoryCache = define_op("DeleteMemoryCache(handle: resource, deleter: variant) -> ()",
                                         {.doc = "Nothing: a cache lives as long as its handles.",
                                          .effects = {effects::updates(0)},
                                          .shape = no_outputs,
                                          .no_gradient = "it has no outputs"});

}  // namespace panto
