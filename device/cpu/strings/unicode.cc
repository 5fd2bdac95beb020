// Kernels that convert between text encodings and code points, by ICU.
#include <unicode/ucnv.h>
#include <unicode/ucnv_err.h>
#include <unicode/uscript.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/strings/strings.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

// What to do about invalid characters.
struct Policy {
  explicit Policy(const CallView& c)
      : strict(c.text("errors") == "strict"),
        ignore(c.text("errors") == "ignore"),
        replacement(static_cast<UChar32>(c.integer("replacement_char"))) {}
  bool strict, ignore;
  UChar32 replacement;
};

// Reads the characters of strings in one encoding.
class Decoder {
 public:
  explicit Decoder(const std::string& encoding) {
    UErrorCode error = U_ZERO_ERROR;
    // ICU would take an empty name for the machine's default encoding.
    if (!encoding.empty() && encoding.find('\0') == std::string::npos) {
      converter_.reset(ucnv_open(encoding.c_str(), &error));
    }
    if (U_FAILURE(error) || converter_ == nullptr) {
      invalid("input_encoding: expected one that ICU knows, got '{}'", encoding);
    }
    ucnv_setToUCallBack(converter_.get(), replace, &wrong_, nullptr, nullptr, &error);
    if (U_FAILURE(error)) failf(Code::kInternal, "input_encoding: expected a decoder, got {}", u_errorName(error));
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Calls f(character, bytes, wrong) for each character: `bytes` is the number of bytes it took; `wrong` says that they
  // were invalid.
  template <class F>
  void read(std::string_view text, const F& f) {
    ucnv_resetToUnicode(converter_.get());
    const char *at = text.data(), *end = at + text.size();
    while (at < end) {
      wrong_ = false;
      UErrorCode error = U_ZERO_ERROR;
      const char* begin = at;
      const UChar32 character = ucnv_getNextUChar(converter_.get(), &at, end, &error);
      if (U_FAILURE(error)) at = end;
      f(character, at - begin, wrong_);
    }
  }

 private:
  struct Close {
    void operator()(UConverter* c) const { ucnv_close(c); }
  };
  static void replace(const void* wrong, UConverterToUnicodeArgs* args, const char* units, int32_t length,
                      UConverterCallbackReason reason, UErrorCode* error) {
    if (reason <= UCNV_IRREGULAR) *static_cast<bool*>(const_cast<void*>(wrong)) = true;
    UCNV_TO_U_CALLBACK_SUBSTITUTE(nullptr, args, units, length, reason, error);
  }

  std::unique_ptr<UConverter, Close> converter_;
  bool wrong_ = false;
};

void append_utf16(std::u16string& text, UChar32 character) {
  if (character < 0x10000) {
    text.push_back(static_cast<char16_t>(character));
  } else {
    text.push_back(static_cast<char16_t>(U16_LEAD(character)));
    text.push_back(static_cast<char16_t>(U16_TRAIL(character)));
  }
}

template <int kBytes>
void append_big_endian(std::string& to, uint32_t value) {
  for (int k = kBytes - 1; k >= 0; --k) to.push_back(static_cast<char>((value >> (8 * k)) & 0xFF));
}

// An unpaired surrogate becomes U+FFFD in UTF-8, and stays itself in other encodings.
std::string encoded(const std::u16string& text, std::string_view encoding) {
  std::string result;
  if (encoding == "UTF-16-BE") {
    result.reserve(text.size() * 2);
    for (const char16_t unit : text) append_big_endian<2>(result, unit);
    return result;
  }
  const bool utf8 = encoding == "UTF-8";
  result.reserve(text.size() * (utf8 ? 1 : 4));
  for (size_t i = 0; i < text.size();) {
    UChar32 c = 0;
    U16_NEXT(text.data(), i, text.size(), c);
    if (!utf8) {
      append_big_endian<4>(result, static_cast<uint32_t>(c));
      continue;
    }
    if (U_IS_SURROGATE(c)) c = 0xFFFD;
    char bytes[U8_MAX_LENGTH];
    int32_t length = 0;
    U8_APPEND_UNSAFE(bytes, length, c);
    result.append(bytes, static_cast<size_t>(length));
  }
  return result;
}

bool is_control(UChar32 c) { return c <= 0x1F; }

void run_transcode(KernelContext& c) {
  const Policy policy(c);
  const bool controls = c.flag("replace_control_characters");
  const std::string_view encoding = c.text("output_encoding");
  Decoder decoder{std::string(c.text("input_encoding"))};
  const auto* in = c.data<std::string>(0);
  auto* out = c.out_data<std::string>(0);
  std::u16string text;
  strings::for_each_in_order(c.out_numel(0), [&](int64_t i) {
    text.clear();
    decoder.read(in[i], [&](UChar32 character, int64_t, bool wrong) {
      if (wrong || (controls && is_control(character))) {
        if (policy.strict) invalid("input[{}]: expected characters in the encoding, got others", i);
        if (policy.ignore) return;
        character = policy.replacement;
      }
      append_utf16(text, character);
    });
    out[i] = encoded(text, encoding);
  });
}

template <class Splits>
void decode(KernelContext& c, bool offsets) {
  const Policy policy(c);
  const bool controls = c.flag("replace_control_characters");
  Decoder decoder{std::string(c.text("input_encoding"))};
  const auto* in = c.data<std::string>(0);
  const int64_t count = c.numel(0);
  Tensor splits = allocate_tensor(c.device(), dtype_of<Splits>, Shape{count + 1});
  auto* split = mutable_data<Splits>(splits);
  split[0] = 0;
  std::vector<int32_t> characters;
  std::vector<int64_t> starts;
  strings::for_each_in_order(count, [&](int64_t i) {
    int64_t at = 0;
    decoder.read(in[i], [&](UChar32 character, int64_t bytes, bool wrong) {
      const int64_t start = at;
      at += bytes;
      if (wrong && policy.strict) invalid("input[{}]: expected characters in the encoding, got others", i);
      if (wrong || (controls && is_control(character))) {
        if (policy.ignore) return;
        character = policy.replacement;
      }
      characters.push_back(character);
      if (offsets) starts.push_back(start);
    });
    split[i + 1] = checked_cast<Splits>(static_cast<int64_t>(characters.size()), "row_splits");
  });
  Tensor values = allocate_tensor(c.device(), kInt32, Shape{characters.size()});
  std::ranges::copy(characters, mutable_data<int32_t>(values));
  c.set_out(0, std::move(splits));
  c.set_out(1, std::move(values));
  if (!offsets) return;
  Tensor places = allocate_tensor(c.device(), kInt64, Shape{starts.size()});
  std::ranges::copy(starts, mutable_data<int64_t>(places));
  c.set_out(2, std::move(places));
}

struct Encode {
  template <class Splits>
  static void run(KernelContext& c) {
    const Policy policy(c);
    const std::string_view encoding = c.text("output_encoding");
    const auto* characters = c.data<int32_t>(0);
    const auto* splits = c.data<Splits>(1);
    const int64_t count = c.numel(0), rows = c.out_numel(0);
    if (splits[0] != 0) invalid("input_splits: expected 0 first, got {}", splits[0]);
    for (int64_t i = 0; i < rows; ++i) {
      if (splits[i + 1] < splits[i]) {
        invalid("input_splits: expected them in order, got {} after {}", splits[i + 1], splits[i]);
      }
    }
    if (splits[rows] != count) invalid("input_splits: expected {} last, got {}", count, splits[rows]);
    auto* out = c.out_data<std::string>(0);
    std::u16string text;
    strings::for_each_in_order(rows, [&](int64_t i) {
      text.clear();
      for (int64_t k = splits[i]; k < splits[i + 1]; ++k) {
        UChar32 character = characters[k];
        if (character < 0 || character > 0x10FFFF || U_IS_SURROGATE(character)) {
          if (policy.strict) invalid("input_values[{}]: expected the number of a character, got {}", k, character);
          if (policy.ignore) continue;
          character = policy.replacement;
        }
        append_utf16(text, character);
      }
      out[i] = encoded(text, encoding);
    });
  }
};

void run_script(KernelContext& c) {
  const auto* in = c.data<int32_t>(0);
  auto* out = c.out_data<int32_t>(0);
  for (int64_t i = 0; i < c.out_numel(0); ++i) {
    UErrorCode error = U_ZERO_ERROR;
    const UScriptCode script = uscript_getScript(in[i], &error);
    out[i] = U_SUCCESS(error) ? static_cast<int32_t>(script) : -1;
  }
}

const CpuKernel transcode_kernel("UnicodeTranscode", run_transcode);
const CpuKernel decode_kernel("UnicodeDecode", types::index{}, []<class T>(KernelContext& c) { decode<T>(c, false); });
const CpuKernel decode_with_offsets_kernel("UnicodeDecodeWithOffsets", types::index{},
                                           []<class T>(KernelContext& c) { decode<T>(c, true); });
const CpuKernel encode_kernel("UnicodeEncode", types::index{}, Encode{});
const CpuKernel script_kernel("UnicodeScript", run_script);

}  // namespace
}  // namespace panto
