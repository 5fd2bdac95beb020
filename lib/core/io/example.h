// Example and SequenceExample: records of named features, as stored in TFRecord files;
// panto/nn/columns/parse_examples.h parses them.
//
//   RecordWriter writer("train.tfrecord");
//   writer.write(make_example({{"age", tensor({31.f})}, {"words", tensor({"a", "b"})}, {"label", tensor(1)}}));
//   writer.close();
//
//   for (const auto& [name, values] : read_example(record)) std::cout << name << ": " << values << '\n';
//
// Features are lists of float32, int64 or string. Shapes are not kept: a tensor is written as the list of its elements.
// Thread-safety: plain functions.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/io/npy.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// The bytes of an Example, with features sorted by name. Other floating types become float32, integers and bools int64.
// Throws InvalidArgument for a name that is given twice, complex numbers and an integer beyond int64; Unimplemented for
// handles and variants; FailedPrecondition for a symbolic tensor.
PANTO_EXPORT std::string make_example(std::span<const NamedTensor> features);
PANTO_EXPORT std::string make_example(std::initializer_list<NamedTensor> features);

// One value for each step.
using NamedSteps = std::pair<std::string, std::vector<Tensor>>;
struct SequenceExample {
  std::vector<NamedTensor> context = {};
  std::vector<NamedSteps> lists = {};
};
// The bytes of a SequenceExample:
//   make_sequence_example({.context = {{"user", tensor(7)}},
//                          .lists = {{"words", {tensor({"a", "b"}), tensor({"c"})}}}})
// Throws as make_example.
PANTO_EXPORT std::string make_sequence_example(const SequenceExample& example);

// The features as vectors, sorted by name. A feature without a list of values is left out; in a step it is an empty
// float32 vector. Throws InvalidArgument for invalid bytes.
PANTO_EXPORT std::vector<NamedTensor> read_example(std::string_view bytes);
PANTO_EXPORT SequenceExample read_sequence_example(std::string_view bytes);

}  // namespace panto
