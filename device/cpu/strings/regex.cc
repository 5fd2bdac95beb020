// Kernels of ops with regular expressions.
#include <re2/re2.h>

#include <memory>
#include <string>
#include <string_view>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/strings/strings.h"
#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

// RE2 limits the memory of a compiled pattern (8 MiB by default), but not that of compiling it. A named class of three
// characters expands to 30 KB; no other construct expands like that.
re2::StringPiece bounded(std::string_view pattern) {
  constexpr size_t kLongest = size_t{1} << 20;
  constexpr int kMostClasses = 1000;
  if (pattern.size() > kLongest) invalid("pattern: expected at most {} bytes, got {}", kLongest, pattern.size());
  int classes = 0;
  for (size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] == '\\' && (pattern[i + 1] == 'p' || pattern[i + 1] == 'P')) ++classes;
  }
  if (classes > kMostClasses) invalid("pattern: expected at most {} named classes, got {}", kMostClasses, classes);
  return {pattern.data(), pattern.size()};
}

class Pattern final : public KernelState {
 public:
  // Throws if the text is too long; `get` throws if it is not a valid pattern.
  explicit Pattern(std::string_view text) : re_(bounded(text), options()) {}
  bool is_valid() const { return re_.ok(); }
  const RE2& get() const {
    if (!re_.ok()) invalid("pattern: expected a regular expression of RE2, got '{}': {}", re_.pattern(), re_.error());
    return re_;
  }

 private:
  static RE2::Options options() {
    RE2::Options options;
    options.set_log_errors(false);
    return options;
  }
  RE2 re_;
};

// An invalid pattern is reported by the call, not when the graph is prepared, because the node may never run.
std::shared_ptr<KernelState> prepare_pattern(const KernelContext& c) {
  try {
    auto pattern = std::make_shared<Pattern>(c.text("pattern"));
    return pattern->is_valid() ? pattern : nullptr;
  } catch (const Error&) {
    return nullptr;
  }
}

// Calls f with the regex of the attribute `pattern`, compiling it if it was not prepared.
template <class F>
void with_static_pattern(KernelContext& c, const F& f) {
  if (const auto* prepared = c.state<const Pattern>()) return f(prepared->get());
  f(Pattern(c.text("pattern")).get());
}

void match(KernelContext& c, const RE2& re) {
  const auto* in = c.data<std::string>(0);
  bool* out = c.out_data<bool>(0);
  strings::for_each_element(c, [&](int64_t i) { out[i] = RE2::FullMatch(in[i], re); });
}

void replace(KernelContext& c, const RE2& re, std::string_view rewrite) {
  const bool all = c.flag("replace_global");
  const re2::StringPiece by(rewrite.data(), rewrite.size());
  const auto* in = c.data<std::string>(0);
  auto* out = c.out_data<std::string>(0);
  strings::for_each_element(c, [&](int64_t i) {
    out[i] = in[i];
    if (all) {
      RE2::GlobalReplace(&out[i], re, by);
    } else {
      RE2::Replace(&out[i], re, by);
    }
  });
}

void run_static_match(KernelContext& c) {
  with_static_pattern(c, [&](const RE2& re) { match(c, re); });
}
void run_static_replace(KernelContext& c) {
  with_static_pattern(c, [&](const RE2& re) { replace(c, re, c.text("rewrite")); });
}
void run_match(KernelContext& c) { match(c, Pattern(*c.data<std::string>(1)).get()); }
void run_replace(KernelContext& c) { replace(c, Pattern(*c.data<std::string>(1)).get(), *c.data<std::string>(2)); }

const CpuKernel static_match_kernel("StaticRegexFullMatch", run_static_match, prepare_pattern);
const CpuKernel match_kernel("RegexFullMatch", run_match);
const CpuKernel static_replace_kernel("StaticRegexReplace", run_static_replace, prepare_pattern);
const CpuKernel replace_kernel("RegexReplace", run_replace);

}  // namespace
}  // namespace panto
