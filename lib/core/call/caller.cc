#include "panto/lib/core/call/caller.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/thread_state.h"

namespace panto {

CallerScope::CallerScope(const std::source_location& where) noexcept : where_(where), previous_(thread_state().caller) {
  if (previous_ == nullptr) thread_state().caller = &where_;
}
CallerScope::CallerScope(std::nullptr_t) noexcept : previous_(std::exchange(thread_state().caller, nullptr)) {}
CallerScope::~CallerScope() { thread_state().caller = previous_; }

void CallerScope::add_line(Error& error) const {
  if (previous_ == nullptr) error.add_context(fmt::format("at {}:{}", where_.file_name(), where_.line()));
}

const std::source_location* current_caller() noexcept { return thread_state().caller; }

}  // namespace panto
