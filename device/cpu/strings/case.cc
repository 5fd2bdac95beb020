// Kernels of ops that change the case of letters.
#include <unicode/ustring.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/strings/strings.h"
#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// `convert` is one of ICU's UTF-16 functions. A letter becomes three at most, and a UTF-16 unit takes at most three
// bytes in UTF-8.
template <class Convert>
std::string in_unicode(std::string_view text, Convert convert) {
  constexpr size_t kLongest = std::numeric_limits<int32_t>::max() / 9;
  if (text.size() > kLongest) invalid("input: expected strings of at most {} bytes, got {}", kLongest, text.size());
  const auto expect_success = [](UErrorCode error) {
    if (U_FAILURE(error)) failf(Code::kInternal, "case of letters: expected success, got {}", u_errorName(error));
  };
  const auto size = [](const auto& s) { return static_cast<int32_t>(s.size()); };
  int32_t count = 0;
  UErrorCode error = U_ZERO_ERROR;
  std::u16string wide(text.size() + 1, u'\0');
  constexpr UChar32 kReplacement = 0xFFFD;
  u_strFromUTF8WithSub(wide.data(), size(wide), &count, text.data(), static_cast<int32_t>(text.size()), kReplacement,
                       nullptr, &error);
  expect_success(error);
  std::u16string changed(static_cast<size_t>(count) * 3 + 1, u'\0');
  count = convert(changed.data(), size(changed), wide.data(), count, "", &error);  // language-neutral
  expect_success(error);
  std::string result(static_cast<size_t>(count) * 3 + 1, '\0');
  u_strToUTF8(result.data(), size(result), &count, changed.data(), count, &error);
  expect_success(error);
  result.resize(static_cast<size_t>(count));
  return result;
}

template <class Convert>
void run_case(KernelContext& c, char (*of_byte)(char), Convert convert) {
  const bool unicode = !c.text("encoding").empty();
  const auto* in = c.data<std::string>(0);
  auto* out = c.out_data<std::string>(0);
  strings::for_each_element(c, [&](int64_t i) {
    if (unicode && !std::ranges::all_of(in[i], [](char b) { return static_cast<unsigned char>(b) < 0x80; })) {
      out[i] = in_unicode(in[i], convert);
      return;
    }
    out[i] = in[i];
    std::ranges::transform(out[i], out[i].begin(), of_byte);
  });
}

const CpuKernel lower_kernel("StringLower", [](KernelContext& c) { run_case(c, lower, u_strToLower); });
const CpuKernel upper_kernel("StringUpper", [](KernelContext& c) { run_case(c, upper, u_strToUpper); });

}  // namespace
}  // namespace panto
