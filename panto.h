// All of Pantograph: tensors, ops, gradients, tracing, graphs, sessions, layers.
//
//   #include <panto/panto.h>
//
//   panto::Tensor x = panto::tensor({{1.f, 2.f}, {3.f, 4.f}});
//   std::cout << panto::matmul(x, x) + 1.0f << '\n';
#pragma once

#include "panto/autograd/gradcheck.h"
#include "panto/autograd/tape.h"
#include "panto/lib/base/error.h"
#include "panto/lib/core/arg.h"
#include "panto/lib/core/device.h"
#include "panto/lib/core/dtype.h"
#include "panto/lib/core/index.h"
#include "panto/lib/core/npy.h"
#include "panto/lib/core/op.h"
#include "panto/lib/core/scopes.h"
#include "panto/lib/core/shape.h"
#include "panto/lib/core/tensor.h"
#include "panto/lib/core/threads.h"
#include "panto/lib/core/variable.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/graph/io.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/random.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/convolution.h"
#include "panto/nn/data.h"
#include "panto/nn/embedding.h"
#include "panto/nn/initializers.h"
#include "panto/nn/layer.h"
#include "panto/nn/loss.h"
#include "panto/nn/normalization.h"
#include "panto/nn/optimizer.h"
#include "panto/nn/recurrent.h"
#include "panto/trace/function.h"
#include "panto/trace/graph_gradients.h"
#include "panto/trace/graph_scope.h"
