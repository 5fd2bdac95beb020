#include "panto/tests/device/cuda/emulation/grid.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

namespace panto::emulation {
namespace {

constexpr size_t kStackBytes = size_t{256} << 10;
constexpr unsigned kWarp = 32;

enum class State : uint8_t { kUnstarted, kRuns, kWaitsForBlock, kWaitsForWarp, kEnded };

// A stack on which threads run: a thread that waits keeps it, one that ends leaves it to the next.
struct Fiber {
  Fiber() {
    stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) std::abort();
  }
  ~Fiber() { munmap(stack, kStackBytes); }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void* stack;
  bool started = false;
  jmp_buf here;  // where it waits
};

// The block that runs.
class Block {
 public:
  void run(const std::function<void()>& thread, dim3 size) {
    thread_ = &thread;
    size_ = size;
    const unsigned count = size.x * size.y * size.z;
    states_.assign(count, State::kUnstarted);
    fibers_of_.assign(count, nullptr);
    words_[0].resize(count);
    words_[1].resize(count);
    turns_.assign(count, 0);
    next_ = 0;
    ended_ = 0;
    while (ended_ < count) {
      while (next_ < count) start_more();
      bool moved = false;
      for (unsigned t = 0; t < count; ++t) {
        if (states_[t] != State::kRuns) continue;
        moved = true;
        resume(t);
      }
      moved = release() || moved;
      if (!moved && ended_ < count) {
        std::fputs("emulated GPU: threads of a block wait for others that never come\n", stderr);
        std::abort();
      }
    }
  }

  void wait(State state) {
    const unsigned t = current_;
    states_[t] = state;
    leave(*fibers_of_[t]);
  }
  unsigned current() const { return current_; }

  uint32_t exchange(uint32_t word, int from) {
    const unsigned t = current_;
    std::vector<uint32_t>& words = words_[turns_[t]++ % 2];
    words[t] = word;
    wait(State::kWaitsForWarp);
    const unsigned other = t / kWarp * kWarp + static_cast<unsigned>(from);
    return from < 0 || from >= static_cast<int>(kWarp) || other >= words.size() ? word : words[other];
  }

 private:
  // Starts threads on a stack, one after the other, until one waits.
  void start_more() {
    Fiber* fiber = nullptr;
    if (free_.empty()) {
      fiber = all_.emplace_back(std::make_unique<Fiber>()).get();
    } else {
      fiber = free_.back();
      free_.pop_back();
    }
    starting_ = fiber;
    if (fiber->started) return enter(*fiber);
    fiber->started = true;
    // Only a first start needs a context, whose switch asks the kernel for the signals; jumps between stacks do not.
    ucontext_t fresh;
    getcontext(&fresh);
    fresh.uc_stack.ss_sp = fiber->stack;
    fresh.uc_stack.ss_size = kStackBytes;
    fresh.uc_link = nullptr;
    makecontext(&fresh, &Block::run_threads, 0);
    if (_setjmp(scheduler_) == 0) setcontext(&fresh);
  }

  // From the scheduler to a stack, and back.
  void enter(Fiber& fiber) {
    if (_setjmp(scheduler_) == 0) _longjmp(fiber.here, 1);
  }
  void leave(Fiber& fiber) {
    if (_setjmp(fiber.here) == 0) _longjmp(scheduler_, 1);
  }

  static void run_threads();

  void place(unsigned t) {
    current_ = t;
    position.thread = {t % size_.x, t / size_.x % size_.y, t / size_.x / size_.y};
  }

  void resume(unsigned t) {
    place(t);
    enter(*fibers_of_[t]);
  }

  // Lets threads go on for which all others have come. Returns false if there are none.
  bool release() {
    const auto count = static_cast<unsigned>(states_.size());
    bool any = false;
    bool all_wait = true;
    for (unsigned first = 0; first < count; first += kWarp) {
      const unsigned end = std::min(count, first + kWarp);
      bool whole = true;
      for (unsigned t = first; t < end; ++t) {
        whole = whole && (states_[t] == State::kWaitsForWarp || states_[t] == State::kEnded);
        all_wait = all_wait && (states_[t] == State::kWaitsForBlock || states_[t] == State::kEnded);
      }
      for (unsigned t = first; whole && t < end; ++t) {
        if (states_[t] != State::kWaitsForWarp) continue;
        states_[t] = State::kRuns;
        any = true;
      }
    }
    if (!all_wait) return any;
    for (State& state : states_) {
      if (state != State::kWaitsForBlock) continue;
      state = State::kRuns;
      any = true;
    }
    return any;
  }

  const std::function<void()>* thread_ = nullptr;
  dim3 size_;
  std::vector<State> states_;
  std::vector<Fiber*> fibers_of_;
  std::vector<uint32_t> words_[2];  // what threads give each other in turns, so that none is written before it is read
  std::vector<unsigned> turns_;
  unsigned next_ = 0, ended_ = 0, current_ = 0;
  Fiber* starting_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> all_;
  std::vector<Fiber*> free_;
  jmp_buf scheduler_;
};

Block& block() {
  thread_local Block running;
  return running;
}

void Block::run_threads() {
  Block& b = block();
  Fiber* const fiber = b.starting_;
  while (true) {
    while (b.next_ < b.states_.size()) {
      const unsigned t = b.next_++;
      b.place(t);
      b.fibers_of_[t] = fiber;
      b.states_[t] = State::kRuns;
      (*b.thread_)();
      b.states_[t] = State::kEnded;
      ++b.ended_;
    }
    b.free_.push_back(fiber);
    b.leave(*fiber);
  }
}

}  // namespace

constinit thread_local Position position;

void run_grid(dim3 blocks, dim3 threads, const std::function<void()>& thread) {
  static std::mutex one;  // what blocks share are static variables
  const std::lock_guard lock(one);
  position.threads = {threads.x, threads.y, threads.z};
  position.blocks = {blocks.x, blocks.y, blocks.z};
  for (unsigned z = 0; z < blocks.z; ++z) {
    for (unsigned y = 0; y < blocks.y; ++y) {
      for (unsigned x = 0; x < blocks.x; ++x) {
        position.block = {x, y, z};
        block().run(thread, threads);
      }
    }
  }
}

void wait_for_block() { block().wait(State::kWaitsForBlock); }
uint32_t exchange(uint32_t word, int from) { return block().exchange(word, from); }
int lane() { return static_cast<int>(block().current() % kWarp); }

}  // namespace panto::emulation
