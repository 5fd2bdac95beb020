#include "panto/device/cpu/parallel.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <exception>

#include "panto/lib/base/checked.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/step/threads.h"

namespace panto::cpu {
namespace {

// Only one loop is shared at a time. User threads that compute concurrently already keep the processors busy; a team of
// threads for each of them would only take turns.
std::atomic<bool> sharing{false};

// A thread of the parent may hold the flag at fork; it does not exist in the child, so the flag is cleared there.
const bool forgets_in_children =
    pthread_atfork(nullptr, nullptr, [] { sharing.store(false, std::memory_order_relaxed); }) == 0;

// Work of about a millisecond of one thread. Much smaller pieces would cost noticeably, since each calls the body anew.
constexpr int64_t kPieceWork = int64_t{8} << 20;

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

// The number of blocks between two checks for cancellation.
int64_t blocks_of_piece(int64_t blocks, int64_t work) {
  if (work == 0) return blocks;
  return std::max<int64_t>(1, kPieceWork / std::max<int64_t>(1, work / std::max<int64_t>(1, blocks)));
}

}  // namespace

void run_ranges(int64_t n, int64_t multiple, int64_t work, RangeFn run, const void* body) {
  throw_if_cancelled();
  const int64_t blocks = ceil_div(n, multiple);
  const int64_t piece = blocks_of_piece(blocks, work);
  const auto run_blocks = [=](int64_t first, int64_t count) {
    in_pieces(count, piece, [&](int64_t begin, int64_t end) {
      run(body, (first + begin) * multiple, std::min(n, (first + end) * multiple));
    });
  };
  // Uses all threads or one: libgomp ends and starts threads if their number changes between regions.
  const int64_t threads = num_threads();
  if (threads <= 1 || blocks <= 1) return run_blocks(0, blocks);
  const Sharing turn;
  if (!turn.mine()) return run_blocks(0, blocks);
  note_team();
  std::exception_ptr error;
  const Step& step = current_step();
#pragma omp parallel for num_threads(static_cast<int>(threads)) schedule(static, 1)
  for (int64_t t = 0; t < threads; ++t) {
    const int64_t first = blocks / threads * t + std::min(t, blocks % threads);
    const int64_t mine = blocks / threads + (t < blocks % threads ? 1 : 0);
    const StepScope scope(step);  // so that cancellation reaches all threads of the team
    try {
      run_blocks(first, mine);
    } catch (...) {
#pragma omp critical(panto_parallel_error)
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

int64_t tiles_for_processors() {
  static const int64_t tiles = [] {
    const auto found = static_cast<uint64_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
    return static_cast<int64_t>(std::has_single_bit(found) ? found : 4 * std::bit_ceil(found));
  }();
  return tiles;
}

}  // namespace panto::cpu
