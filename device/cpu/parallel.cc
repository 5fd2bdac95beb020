#include "panto/device/cpu/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>

#include "panto/lib/base/checked.h"
#include "panto/lib/core/cancel.h"
#include "panto/lib/core/threads.h"

namespace panto::cpu {
namespace {

// One shared loop at a time: threads of the user's that compute at once keep the processors busy without sharing, and
// a team for each of them would only take turns.
std::atomic<bool> sharing{false};

class Sharing {
 public:
  Sharing() : mine_(!sharing.exchange(true, std::memory_order_acquire)) {}
  ~Sharing() {
    if (mine_) sharing.store(false, std::memory_order_release);
  }
  Sharing(const Sharing&) = delete;
  Sharing& operator=(const Sharing&) = delete;
  bool mine() const { return mine_; }

 private:
  bool mine_;
};

}  // namespace

void run_ranges(int64_t n, int64_t multiple, RangeFn run, const void* body) {
  throw_if_cancelled();
  const int64_t blocks = ceil_div(n, multiple);
  // All threads or none: libgomp ends and starts threads when the count changes from region to region.
  const int64_t threads = num_threads();
  if (threads <= 1 || blocks <= 1) {
    run(body, 0, n);
    return;
  }
  const Sharing turn;
  if (!turn.mine()) {
    run(body, 0, n);
    return;
  }
  std::exception_ptr error;
#pragma omp parallel for num_threads(static_cast<int>(threads)) schedule(static, 1)
  for (int64_t t = 0; t < threads; ++t) {
    const int64_t begin = (blocks / threads * t + std::min(t, blocks % threads)) * multiple;
    const int64_t mine = blocks / threads + (t < blocks % threads ? 1 : 0);
    try {
      run(body, begin, std::min(n, begin + mine * multiple));
    } catch (...) {
#pragma omp critical(panto_parallel_error)
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace panto::cpu
