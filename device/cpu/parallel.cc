#include "panto/device/cpu/parallel.h"

#include <omp.h>

#include <algorithm>
#include <exception>

#include "panto/lib/base/checked.h"
#include "panto/lib/core/threads.h"

namespace panto::cpu {

void run_ranges(int64_t n, int64_t multiple, RangeFn run, const void* body) {
  const int64_t blocks = ceil_div(n, multiple);
  // All threads or none: libgomp ends and starts threads when the count changes from region to region.
  const int threads = omp_in_parallel() != 0 ? 1 : num_threads();
  if (threads <= 1 || blocks < threads) {
    run(body, 0, n);
    return;
  }
  std::exception_ptr error;
#pragma omp parallel num_threads(threads)
  {
    // The runtime may give fewer threads than asked for.
    const int64_t count = omp_get_num_threads();
    const int64_t me = omp_get_thread_num();
    const int64_t begin = (blocks / count * me + std::min(me, blocks % count)) * multiple;
    const int64_t mine = blocks / count + (me < blocks % count ? 1 : 0);
    const int64_t end = std::min(n, begin + mine * multiple);
    if (begin < end) {
      try {
        run(body, begin, end);
      } catch (...) {
#pragma omp critical(panto_parallel_error)
        if (!error) error = std::current_exception();
      }
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace panto::cpu
