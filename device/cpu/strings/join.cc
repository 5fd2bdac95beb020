// Kernels of ops that join strings.
#include <string>
#include <string_view>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/strings/strings.h"
#include "panto/device/shape/broadcast.h"
#include "panto/device/shape/indexing.h"
#include "panto/device/shape/strided_dims.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/array/values.h"

namespace panto {
namespace {

void run_string_join(KernelContext& c) {
  const std::string_view separator = c.text("separator");
  auto* out = c.out_data<std::string>(0);
  if (c.num_inputs() == 0) return out[0].clear();
  for (int i = 0; i < c.num_inputs(); ++i) {
    const auto* in = c.data<std::string>(i);
    BroadcastMap<1> map;
    const PartialShape* shape[] = {&c.in(i).partial_shape()};
    make_broadcast_map(c.out_shape(0), shape, map);
    strings::for_each_broadcast(map, c.out_numel(0), [&](int64_t k, const int64_t* from) {
      if (i == 0) {
        out[k] = in[from[0]];
      } else {
        out[k].append(separator).append(in[from[0]]);
      }
    });
  }
}

// Dimensions of the input and their strides.
using Walk = BroadcastMap<1>;
void add_dimension(Walk& walk, int64_t size, int64_t stride) {
  walk.size[walk.rank] = size;
  walk.stride[walk.rank++][0] = stride;
}

void run_reduce_join(KernelContext& c) {
  const std::string_view separator = c.text("separator");
  const auto* in = c.data<std::string>(0);
  auto* out = c.out_data<std::string>(0);
  const Shape& shape = c.shape(0);
  SmallVector<int64_t, 8> strides;
  row_major_strides(shape.dims(), strides);
  Walk kept, joined;
  kept.rank = joined.rank = 0;
  int64_t count = 1;  // number of strings that are joined into one
  AxisFlags reduced;
  const KnownIntegers axes(c.in(1));
  for (int64_t i = 0; i < axes.count(); ++i) {
    const auto axis = static_cast<size_t>(axes[i] < 0 ? axes[i] + shape.rank() : axes[i]);
    reduced[axis] = true;
    count *= shape.dim(static_cast<int>(axis));
    add_dimension(joined, shape.dim(static_cast<int>(axis)), strides[axis]);
  }
  for (int k = shape.rank(); k-- > 0;) {
    const auto axis = static_cast<size_t>(k);
    if (!reduced[axis]) add_dimension(kept, shape.dim(k), strides[axis]);
  }
  strings::for_each_broadcast(kept, c.out_numel(0), [&](int64_t k, const int64_t* first) {
    out[k].clear();
    strings::for_each_broadcast(joined, count, [&](int64_t i, const int64_t* from) {
      if (i > 0) out[k].append(separator);
      out[k].append(in[*first + *from]);
    });
  });
}

void run_segment_join(KernelContext& c) {
  const std::string_view separator = c.text("separator");
  const auto* in = c.data<std::string>(0);
  auto* out = c.out_data<std::string>(0);
  const int64_t segments = c.out_shape(0).dim(0), rows = c.numel(1);
  const int64_t width = segments > 0 ? c.out_numel(0) / segments : 0;
  for (int64_t i = 0; i < c.out_numel(0); ++i) out[i].clear();
  with_index_type(c.in(1).dtype(), [&]<class Index>() {
    const auto* ids = c.data<Index>(1);
    strings::for_each_in_order(rows, [&](int64_t i) {
      if (ids[i] < 0 || ids[i] >= segments) {
        invalid("segment_ids[{}]: expected one in [0, {}), got {}", i, segments, int64_t{ids[i]});
      }
      for (int64_t k = 0; k < width; ++k) {
        std::string& text = out[ids[i] * width + k];
        if (!text.empty()) text.append(separator);
        text.append(in[i * width + k]);
      }
    });
  });
}

const CpuKernel string_join_kernel("StringJoin", run_string_join);
const CpuKernel reduce_join_kernel("ReduceJoin", run_reduce_join);
const CpuKernel segment_join_kernel("UnsortedSegmentJoin", dtypes::kIndex, run_segment_join);

}  // namespace
}  // namespace panto
