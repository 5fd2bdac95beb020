// Example records (panto/lib/core/io/example.h) as features, which layers of feature columns take.
//
//   const ExampleSpec spec = make_parse_example_spec(columns);
//   Features features = parse_example(records, spec);               // records: string [batch]
//   Tensor x = DenseFeatures(columns)(features);
//
//   Features one = parse_example(make_example({{"age", tensor({31.f})}}), {{"age", FixedLenFeature{{1}, kFloat32}}});
//
// FixedLenFeature gives a tensor [batch, *shape], FixedLenSequenceFeature one [batch, longest, *shape], VarLenFeature a
// SparseTensor, as SparseFeature does, RaggedFeature a RaggedTensor (its values, of one record). They are ops: in
// graphs and traces too. Thread-safety: plain functions.
#pragma once

#include <map>
#include <source_location>
#include <string>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/nn/columns/feature_column.h"

namespace panto {

struct ParseExampleOptions {
  Tensor names = {};  // string [batch]: names of the records, for messages
};

// `serialized`: the bytes of Examples, string [batch]; or of one Example, a scalar, whose features have no batch
// dimension. Throws InvalidArgument for an invalid spec (a type other than float32, int64 and string; a default of
// another type or shape; a FixedLenSequenceFeature without allow_missing) and for a record that is no Example, lacks a
// feature without a default, or has a feature of another type or size.
PANTO_EXPORT Features parse_example(const Arg& serialized, const ExampleSpec& spec,
                                    const ParseExampleOptions& options = {},
                                    std::source_location where = std::source_location::current());
// Of one record, a scalar; also throws InvalidArgument for another rank.
PANTO_EXPORT Features parse_single_example(const Arg& serialized, const ExampleSpec& spec,
                                           std::source_location where = std::source_location::current());

struct SequenceFeaturesParsed {
  Features context;
  Features lists;                                      // [batch, steps, ...]
  std::map<std::string, Tensor, std::less<>> lengths;  // of dense lists: int64 [batch], the numbers of steps
};
// Of SequenceExamples. `lists` may have FixedLenSequenceFeature (optional if it says so), VarLenFeature and
// RaggedFeature; `context` takes what parse_example takes, except FixedLenSequenceFeature. Throws as parse_example.
PANTO_EXPORT SequenceFeaturesParsed parse_sequence_example(
    const Arg& serialized, const ExampleSpec& context, const ExampleSpec& lists,
    const ParseExampleOptions& options = {}, std::source_location where = std::source_location::current());
PANTO_EXPORT SequenceFeaturesParsed
parse_single_sequence_example(const Arg& serialized, const ExampleSpec& context, const ExampleSpec& lists,
                              std::source_location where = std::source_location::current());

}  // namespace panto
