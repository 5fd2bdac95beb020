// Kernels of ops on strings.
#include <string>
#include <string_view>

#include "panto/device/cpu/kernel.h"
#include "panto/device/shape/broadcast.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/step/cancel.h"

namespace panto {
namespace {

void run_string_join(KernelContext& c) {
  const std::string_view separator = c.text("separator");
  auto* out = c.out_data<std::string>(0);
  const int64_t n = c.out_numel(0);
  for (int i = 0; i < c.num_inputs(); ++i) {
    const auto* in = c.data<std::string>(i);
    BroadcastMap<1> map;
    const PartialShape* shape[] = {&c.in(i).partial_shape()};
    make_broadcast_map(c.out_shape(0), shape, map);
    int64_t index[kMaxRank] = {};
    int64_t from = 0;
    for (int64_t k = 0; k < n; ++k) {
      if (i == 0) {
        out[k] = in[from];
      } else {
        out[k].append(separator).append(in[from]);
      }
      for (int d = 0; d < map.rank; ++d) {
        from += map.stride[d][0];
        if (++index[d] < map.size[d]) break;
        from -= map.stride[d][0] * map.size[d];
        index[d] = 0;
      }
      if (k % 4096 == 0) throw_if_cancelled();
    }
  }
}

const CpuKernel string_join_kernel("StringJoin", run_string_join);

}  // namespace
}  // namespace panto
