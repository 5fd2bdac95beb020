// All of Pantograph's public interface: tensors, ops, devices, errors.
//
//   #include <panto/panto.h>
//
//   panto::Tensor x = panto::tensor({{1.f, 2.f}, {3.f, 4.f}});
//   std::cout << panto::matmul(x, x) + 1.0f << '\n';
#pragma once

#include "panto/lib/base/error.h"
#include "panto/lib/core/arg.h"
#include "panto/lib/core/device.h"
#include "panto/lib/core/dispatch.h"
#include "panto/lib/core/dtype.h"
#include "panto/lib/core/op.h"
#include "panto/lib/core/recorder.h"
#include "panto/lib/core/shape.h"
#include "panto/lib/core/tensor.h"
#include "panto/lib/core/variable.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
