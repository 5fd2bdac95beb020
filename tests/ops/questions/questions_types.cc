// Which types an op takes, and what it says of what it does not take.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "panto/tests/ops/questions/questions.h"

namespace panto::test {
namespace {

// The call must fail like this.
void expect_error(const Bound& b, Code code, const std::string& text, const std::string& further = "") {
  try {
    b.call();
    complain(b, "expected the error: " + text);
  } catch (const Error& e) {
    if (e.code() == code && e.message().starts_with(text) && e.message().find(further) != std::string::npos) return;
    complain(b, fmt::format("\n  expected: {}: {}{}{}\n       got: {}", code_name(code), text,
                            further.empty() ? "" : " ... ", further, e.what()));
  }
}

// The call must succeed, or be Unimplemented where `may_lack`.
void expect_runs(const Bound& b, bool may_lack) {
  try {
    b.call();
  } catch (const Error& e) {
    if (!may_lack || e.code() != Code::kUnimplemented) complain(b, e.what());
  }
}

void ask_primary_types(const Row& row, const Op& op) {
  const AttrDef& primary = op.signature().attrs[static_cast<size_t>(op.primary_attr())];
  const DTypeSet kernels = op.kernel_types(DeviceKind::kCpu);
  for (int i = 1; i < kDTypeSlots; ++i) {
    const auto t = static_cast<DType>(i);
    if (!dtypes::kAny.contains(t)) continue;
    const auto sample = std::ranges::find_if(row.d.samples, [&](const Sample& s) { return fits(row, s, t); });
    if (sample == row.d.samples.end()) continue;
    const Bound b = bind(row, *sample, t);
    if (!primary.allowed_types.contains(t)) {
      expect_error(b, Code::kInvalidArgument,
                   fmt::format("{}: expected one of ({}), got {}", primary.name, dtype_set_text(primary.allowed_types),
                               dtype_name(t)));
    } else if (op.body() == nullptr && !kernels.contains(t)) {
      expect_error(b, Code::kUnimplemented, fmt::format("kernel on CPU for {}: expected one of (", dtype_name(t)),
                   "CPU: " + dtype_set_text(kernels));
    } else if (row.d.types.contains(t)) {
      expect_runs(b, op.body() != nullptr);  // a composite's parts may lack a kernel
    }
  }
}

// Whether an error sample says that the attribute may not be of this type, where the primary one is the row's first.
bool is_refused(const Row& row, const std::string& attr, DType type) {
  return std::ranges::any_of(row.d.errors, [&](const ErrorSample& sample) {
    return std::ranges::any_of(sample.attrs, [&](const Attr& given) {
      return given.name == attr && given.value == AttrValue(type) && sample.text.starts_with(attr + ": expected");
    });
  });
}

// Further type attributes, each alone.
void ask_other_types(const Row& row, const Op& op) {
  for (size_t a = 0; a < op.signature().attrs.size(); ++a) {
    const AttrDef& def = op.signature().attrs[a];
    if (def.kind != AttrKind::kType || static_cast<int>(a) == op.primary_attr()) continue;
    for (int i = 1; i < kDTypeSlots; ++i) {
      const auto t = static_cast<DType>(i);
      if (!def.allowed_types.contains(t) || is_refused(row, def.name, t)) continue;
      Sample sample = row.d.samples[0];
      std::erase_if(sample.attrs, [&](const Attr& attr) { return attr.name == def.name; });
      expect_runs(bind(row, sample, first_type(row), {{static_cast<int>(a), t}}),
                  !DTypeSet{kInt32, kInt64, kFloat32, kFloat64, kBool}.contains(t));
    }
  }
}

}  // namespace

void ask_types(const Row& row) {
  ask_primary_types(row, row.op());
  ask_other_types(row, row.op());
}

void ask_errors(const Row& row) {
  for (const ErrorSample& sample : row.d.errors) {
    const DType type = sample.type != DType::kInvalid ? sample.type : first_type(row);
    const Bound b = bind(row, {.in = sample.in, .attrs = sample.attrs}, type);
    expect_error(b, sample.code, sample.text, "[in " + b.op->name());
  }
}

}  // namespace panto::test
