// Shape functions of dataset ops. Internal.
#pragma once

#include "panto/lib/core/call/call.h"

namespace panto::dataset_ops {

// Arguments that are single tensors must be scalars. One output, a scalar.
void dataset_shape(ShapeContext& c);
// The same, except that arguments of strings or integers may also be vectors.
void vectors_shape(ShapeContext& c);
// The same, with list arguments of any shapes.
void captures_shape(ShapeContext& c);
void padded_shape(ShapeContext& c);
void csv_shape(ShapeContext& c);
void sparse_slices_shape(ShapeContext& c);
// One output, a scalar. Inputs are not checked.
void any_shape(ShapeContext& c);
void one_variant(ShapeContext& c);
// Arguments that are single tensors, and all outputs, are scalars.
void one_scalar(ShapeContext& c);
void no_outputs(ShapeContext& c);
// Outputs have the shapes in attribute `output_shapes`.
void components_shape(ShapeContext& c);

}  // namespace panto::dataset_ops
