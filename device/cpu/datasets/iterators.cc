// Kernels of iterators, and of ops that iterate over a whole dataset in one call.
#include <algorithm>
#include <vector>

#include "panto/device/cpu/collections/declared.h"
#include "panto/device/cpu/datasets/arguments.h"
#include "panto/lib/core/collections/lookup_table.h"
#include "panto/lib/core/collections/optional_value.h"
#include "panto/lib/core/datasets/dataset_iterator.h"
#include "panto/lib/core/io/graph_files.h"
#include "panto/lib/core/io/record_file.h"

namespace panto {
namespace {

using namespace datasets;

void give(KernelContext& c, const ElementTensors& element) {
  expect_element(element, DatasetArguments(c).spec());
  for (size_t k = 0; k < element.size(); ++k) c.set_out(static_cast<int>(k), shared_tensor(element[k]));
}

// ---- Creating iterators --------------------------------------------------------------------------------------------

void run_declared(KernelContext& c) {
  const ElementSpec spec = DatasetArguments(c).spec();
  Tensor out = declared_resource(c, [&](const std::string& container, const std::string& name) {
    return std::make_shared<DatasetIterator>(container, name, spec);
  });
  expect_spec(spec, iterator_of(out)->spec());
  c.set_out(0, std::move(out));
}

void run_anonymous(KernelContext& c) {
  c.set_out(0, resource_tensor(std::make_shared<DatasetIterator>("", "", DatasetArguments(c).spec())));
}
void run_anonymous_with_deleter(KernelContext& c) {
  run_anonymous(c);
  c.set_out(1, deleter_tensor());
}

void run_one_shot(KernelContext& c) {
  run_declared(c);
  const std::shared_ptr<DatasetIterator> iterator = iterator_of(c.out(0));
  if (iterator->begun()) return;
  const StepScope scope(c.step());
  iterator->begin_first(DatasetFunction(c.function("dataset_factory"), {}, {}).giving({kVariant}).dataset({}));
}

void run_make(KernelContext& c) {
  const StepScope scope(c.step());
  iterator_of(c.in(1))->begin(dataset_of(c.in(0)));
}
void run_delete(KernelContext& c) { iterator_of(c.in(0))->end(); }

// ---- Elements ------------------------------------------------------------------------------------------------------

void run_next(KernelContext& c) {
  const StepScope scope(c.step());
  ElementTensors element;
  if (!iterator_of(c.in(0))->next(element)) fail(Code::kOutOfRange, "iterator: expected another element, got the end");
  give(c, element);
}

void run_next_as_optional(KernelContext& c) {
  const StepScope scope(c.step());
  ElementTensors element;
  if (!iterator_of(c.in(0))->next(element)) return c.set_out(0, optional_tensor(OptionalValue()));
  expect_element(element, DatasetArguments(c).spec());
  c.set_out(0, optional_tensor(OptionalValue(std::move(element))));
}

// ---- Names ---------------------------------------------------------------------------------------------------------

void run_to_text(KernelContext& c) { *c.out_data<std::string>(0) = iterator_of(c.in(0))->handle_text(); }

void run_from_text(KernelContext& c) {
  std::shared_ptr<DatasetIterator> iterator = DatasetIterator::of_text(*c.data<std::string>(0));
  const ElementSpec spec = DatasetArguments(c).spec();
  if (!spec.types.empty()) expect_spec(spec, iterator->spec());
  c.set_out(0, resource_tensor(std::move(iterator)));
}

void run_serialize(KernelContext& c) {
  Tensor state = allocate_tensor(cpu_device(), kVariant, Shape{1});
  mutable_data<Variant>(state)->value = std::make_shared<IteratorState>(iterator_of(c.in(0))->state());
  c.set_out(0, std::move(state));
}
void run_deserialize(KernelContext& c) {
  const StepScope scope(c.step());
  const Tensor& from = c.in(1);
  const auto* state =
      from.numel() == 1
          ? dynamic_cast<const IteratorState*>(static_cast<const Variant*>(from.impl()->data)->value.get())
          : nullptr;
  if (state == nullptr) {
    invalid("serialized: expected a variant of what SerializeIterator gives, got {}", from.shape().to_string());
  }
  iterator_of(c.in(0))->restore(*state);
}

void run_device(KernelContext& c) {
  iterator_of(c.in(0));
  *c.out_data<std::string>(0) = "/job:localhost/replica:0/task:0/device:CPU:0";  // in TensorFlow's spelling
}

// ---- Whole passes --------------------------------------------------------------------------------------------------

void run_cardinality(KernelContext& c) { *c.out_data<int64_t>(0) = dataset_of(c.in(0))->cardinality(); }

void run_single_element(KernelContext& c) {
  const StepScope scope(c.step());
  DatasetPass pass(dataset_of(c.in(0)));
  ElementTensors element, another;
  if (!pass.next(element)) fail(Code::kInvalidArgument, "dataset: expected one element, got none");
  if (pass.next(another)) fail(Code::kInvalidArgument, "dataset: expected one element, got more");
  give(c, element);
}

void run_reduce(KernelContext& c) {
  const StepScope scope(c.step());
  const DatasetArguments a(c);
  const DatasetHandle input = a.dataset();
  const auto states = c.types("Tstate");
  const DatasetFunction f = a.function("f", 2, joined_types({states.begin(), states.end()}, input->spec().types));
  give(c, reduce_dataset(input, f, a.tensors(1)));
}

void run_to_records(KernelContext& c) {
  const StepScope scope(c.step());
  const DatasetArguments a(c);
  const DatasetHandle input = a.dataset();
  const ElementSpec& spec = input->spec();
  if (spec.types.size() != 1 || spec.types[0] != kString) {
    invalid("input_dataset: expected elements of one string, got {}", whole(to_string(spec)));
  }
  expect_graph_files_allowed(a.text(1));
  RecordWriter writer(a.text(1), compression_named(a.text(2)));
  DatasetPass pass(input);
  for (ElementTensors element; pass.next(element);) {
    expect_element(element, {{kString}, {Shape{}}});
    writer.write(*static_cast<const std::string*>(element[0].impl()->data));
  }
  writer.close();
}

void run_initialize_table(KernelContext& c) {
  const StepScope scope(c.step());
  const std::shared_ptr<LookupTable> table = lookup_table_of(c.in(0));
  const LookupTable::Form& form = table->form();
  const ElementSpec expected{{form.key_dtype, form.value_dtype}, {Shape{}, form.value_shape}};
  const DatasetHandle input = dataset_of(c.in(1));
  expect_spec(expected, input->spec());
  DatasetPass pass(input);
  std::vector<Tensor> keys, values;
  for (ElementTensors element; pass.next(element);) {
    expect_element(element, expected);
    keys.push_back(element[0]);
    values.push_back(element[1]);
  }
  if (keys.empty()) {
    std::vector<int64_t> dims = {0};
    for (int i = 0; i < form.value_shape.rank(); ++i) dims.push_back(form.value_shape.dim(i));
    return table->set(allocate_tensor(cpu_device(), form.key_dtype, Shape{0}),
                      allocate_tensor(cpu_device(), form.value_dtype, Shape(dims)));
  }
  table->set(stacked_rows(keys, "keys"), stacked_rows(values, "values"));
}

void run_same_handle(KernelContext& c) {
  dataset_of(c.in(0));
  c.set_out(0, c.in(0));
}

const CpuKernel iterator_kernel("Iterator", run_declared);
const CpuKernel iterator_2_kernel("IteratorV2", run_declared);
const CpuKernel anonymous_kernel("AnonymousIterator", run_anonymous);
const CpuKernel anonymous_2_kernel("AnonymousIteratorV2", run_anonymous_with_deleter);
const CpuKernel anonymous_3_kernel("AnonymousIteratorV3", run_anonymous);
const CpuKernel one_shot_kernel("OneShotIterator", run_one_shot);
const CpuKernel make_iterator_kernel("MakeIterator", run_make);
const CpuKernel delete_kernel("DeleteIterator", run_delete);
const CpuKernel next_kernel("IteratorGetNext", run_next);
const CpuKernel next_sync_kernel("IteratorGetNextSync", run_next);
const CpuKernel next_as_optional_kernel("IteratorGetNextAsOptional", run_next_as_optional);
const CpuKernel to_text_kernel("IteratorToStringHandle", run_to_text);
const CpuKernel from_text_kernel("IteratorFromStringHandle", run_from_text);
const CpuKernel from_text_2_kernel("IteratorFromStringHandleV2", run_from_text);
const CpuKernel serialize_kernel("SerializeIterator", run_serialize);
const CpuKernel deserialize_kernel("DeserializeIterator", run_deserialize);
const CpuKernel device_kernel("IteratorGetDevice", run_device);
const CpuKernel cardinality_kernel("DatasetCardinality", run_cardinality);
const CpuKernel single_element_kernel("DatasetToSingleElement", run_single_element);
const CpuKernel reduce_kernel("ReduceDataset", run_reduce);
const CpuKernel to_records_kernel("DatasetToTFRecord", run_to_records);
const CpuKernel initialize_table_kernel("InitializeTableFromDataset", run_initialize_table);
const CpuKernel wrap_kernel("WrapDatasetVariant", run_same_handle);
const CpuKernel unwrap_kernel("UnwrapDatasetVariant", run_same_handle);

}  // namespace
}  // namespace panto
