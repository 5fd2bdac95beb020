#include "panto/lib/core/call/scopes.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/call/thread_state.h"

namespace panto {

Tensor named(std::string_view name, Tensor value) {
  for_each_recorder([&](Recorder& r) { r.name_value(value, name); });
  return value;
}

std::string_view current_name_scope() { return thread_state().name_scope; }

NameScope::NameScope(std::string_view name) {
  const bool valid = name.empty() || (std::isalnum(static_cast<unsigned char>(name[0])) != 0 &&
                                      std::ranges::all_of(name, [](unsigned char c) {
                                        return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-' || c == '/';
                                      }));
  if (!valid) invalid("name scope: expected letters, digits and any of _ . - /, got '{}'", name);
  std::string& scope = thread_state().name_scope;
  previous_ = scope;
  if (name.empty() || name.ends_with('/')) {
    scope = name;
    return;
  }
  std::string own = scope + std::string(name);
  for_each_recorder([&](Recorder& r) { own = r.scope_name(std::move(own)); });
  scope = std::move(own) + '/';
}

NameScope::~NameScope() { thread_state().name_scope = std::move(previous_); }

}  // namespace panto
