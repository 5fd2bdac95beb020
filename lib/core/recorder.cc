#include "panto/lib/core/recorder.h"

#include <algorithm>
#include <utility>

#include "panto/lib/base/format.h"
#include "panto/lib/core/thread_state.h"

namespace panto {

thread_local constinit ThreadState* current_thread_state = nullptr;
thread_local constinit ThreadState* cancelled_thread_state = nullptr;

ThreadState& make_thread_state() noexcept {
  if (ThreadState* state = std::exchange(cancelled_thread_state, nullptr); state != nullptr) {
    current_thread_state = state;
    put_canceller(*state);
    return *state;
  }
  struct Owner {
    ThreadState state;
    ~Owner() { current_thread_state = nullptr; }
  };
  static thread_local Owner owner;
  current_thread_state = &owner.state;
  return owner.state;
}

void push_recorder(Recorder* recorder) {
  ThreadState& state = thread_state();
  state.recorders.push_back(recorder);
  if (recorder->symbolic()) ++state.symbolic;
}

void remove_recorder(Recorder* recorder) noexcept {
  ThreadState& state = thread_state();
  auto& stack = state.recorders;
  for (size_t i = stack.size(); i-- > 0;) {
    if (stack[i] != recorder) continue;
    std::move(stack.begin() + i + 1, stack.end(), stack.begin() + i);
    stack.resize(stack.size() - 1);
    if (recorder->symbolic()) --state.symbolic;
    return;
  }
}

std::span<Recorder* const> recorders() noexcept {
  const auto& stack = thread_state().recorders;
  return {stack.data(), stack.size()};
}

RecorderScope::RecorderScope(Recorder* recorder) : recorder_(recorder) { push_recorder(recorder); }
RecorderScope::~RecorderScope() { remove_recorder(recorder_); }

RecorderPause::RecorderPause() : RecorderPause(nullptr) {}

RecorderPause::RecorderPause(Recorder* deaf)
    : saved_(thread_state().recorders), saved_symbolic_(thread_state().symbolic) {
  if (deaf == nullptr) {
    ThreadState& state = thread_state();
    state.recorders.clear();
    state.symbolic = 0;
  } else {
    remove_recorder(deaf);
  }
}

RecorderPause::~RecorderPause() {
  ThreadState& state = thread_state();
  state.recorders = std::move(saved_);
  state.symbolic = saved_symbolic_;
}

}  // namespace panto
