// Shape functions of the ops that make and read datasets. Internal.
#pragma once

#include "panto/lib/core/call/call.h"

namespace panto::dataset_ops {

// What the signature's arguments of one tensor are: scalars. One output, a scalar.
void dataset_shape(ShapeContext& c);
// The same but for vectors of strings or integers, which may be scalars.
void vectors_shape(ShapeContext& c);
// The same, behind lists of any shapes.
void captures_shape(ShapeContext& c);
void padded_shape(ShapeContext& c);
void csv_shape(ShapeContext& c);
void sparse_slices_shape(ShapeContext& c);
// A scalar of anything.
void any_shape(ShapeContext& c);
void one_variant(ShapeContext& c);
// Arguments of one tensor are scalars, and so are all outputs.
void one_scalar(ShapeContext& c);
void no_outputs(ShapeContext& c);
// Outputs as `output_shapes` says.
void components_shape(ShapeContext& c);

}  // namespace panto::dataset_ops
