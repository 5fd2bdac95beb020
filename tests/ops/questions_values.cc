// Questions about the values that an op computes, eagerly and by prepared calls.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "panto/lib/core/dispatch.h"
#include "panto/tests/ops/questions.h"

namespace panto::test {
namespace {

// Runs `body`; an error is a failure of this sample.
template <class Body>
void attempt(const Bound& bound, const char* what, Body body) {
  try {
    body();
  } catch (const Error& error) {
    BOOST_ERROR(what << " (" << bound.text() << "): " << error.what());
  }
}

void compare(const std::vector<Array>& expected, const std::vector<Tensor>& got, const Bound& bound, const char* what) {
  if (expected.size() != got.size()) {
    BOOST_ERROR(what << " (" << bound.text() << "): expected " << expected.size() << " outputs, got " << got.size());
    return;
  }
  const Tolerance tolerance{bound.row->d.units, bound.row->operands > 0 ? 0x1p-20 : bound.row->d.floor};
  for (size_t k = 0; k < got.size(); ++k) {
    check_same(difference(expected[k], got[k], tolerance, bound.type), bound,
               got.size() > 1 ? fmt::format("{}, output {}", what, k).c_str() : what);
  }
}

void compare(const std::vector<Tensor>& expected, std::span<const Tensor> got, const Bound& bound, const char* what) {
  BOOST_REQUIRE_EQUAL(expected.size(), got.size());
  for (size_t k = 0; k < got.size(); ++k) {
    check_same(difference(expected[k], got[k]), bound,
               got.size() > 1 ? fmt::format("{}, output {}", what, k).c_str() : what);
  }
}

std::vector<Tensor> copies(const std::vector<Tensor>& tensors, const Bound& bound) {
  std::vector<Tensor> result;
  for (size_t i = 0; i < tensors.size(); ++i) {
    result.push_back(is_plain(tensors[i].dtype()) ? to_tensor(bound.given.in[i], tensors[i].dtype()) : tensors[i]);
  }
  return result;
}

// An elementwise row with inputs of these shapes.
Sample sized(const Row& row, const std::vector<std::vector<int64_t>>& shapes) {
  Sample s = row.d.samples[0];
  for (size_t i = 0; i < shapes.size(); ++i) {
    s.in[i] = draw(shapes[i], row.domains[i].low, row.domains[i].high, static_cast<int>(i + 11));
  }
  return s;
}

void ask_samples(const Row& row, const std::vector<Sample>& samples, const char* what) {
  for (const DType t : types_of(row)) {
    for (const Sample& s : samples) {
      const Bound b = bind(row, s, t);
      attempt(b, what, [&] { compare(b.expected(s), b.call(), b, what); });
    }
  }
}

bool begins_with(const Error& error, const std::string& text) { return error.message().starts_with(text); }

}  // namespace

void ask_reference(const Row& row) {
  BOOST_CHECK_MESSAGE(!types_of(row).empty(), "no type of the row has a kernel");
  int asked = 0;
  for_each_bound(row, [&](const Sample& sample, const Bound& b) {
    ++asked;
    attempt(b, "reference", [&] {
      const std::vector<Tensor> before = copies(b.in, b);
      compare(b.expected(sample), b.call(), b, "reference");
      compare(before, b.in, b, "inputs after the call");
    });
  });
  BOOST_CHECK_MESSAGE(asked > 0, "no sample fits any type");
}

void ask_float64(const Row& row) {
  for_each_bound(row, [&](const Sample& sample, const Bound& b) {
    if (b.type == kFloat64 || !dtypes::kFloating.contains(b.type)) return;
    // The same numbers, wider.
    Sample wide = sample;
    for (size_t i = 0; i < wide.in.size(); ++i) {
      const DType fixed = wide.in[i].type;
      wide.in[i] = b.given.in[i];
      wide.in[i].type = fixed;
    }
    wide.out.clear();
    attempt(b, "float64", [&] {
      std::vector<Array> expected;
      for (const Tensor& t : bind(row, wide, kFloat64).call()) expected.push_back(to_array(t));
      compare(expected, b.call(), b, "float64");
    });
  });
}

void ask_empty(const Row& row) {
  std::vector<Sample> samples;
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{0}, {0, 3}, {2, 0, 3}}) {
    samples.push_back(sized(row, std::vector(static_cast<size_t>(row.operands), dims)));
    if (row.operands == 2) {
      samples.push_back(sized(row, {dims, {}}));
      samples.push_back(sized(row, {{1}, dims}));
    }
  }
  ask_samples(row, samples, "empty");
}

void ask_broadcast(const Row& row) {
  const std::vector<std::vector<std::vector<int64_t>>> pairs = {{{}, {3}},
                                                                {{3}, {}},
                                                                {{1}, {4}},
                                                                {{4}, {1}},
                                                                {{2, 3}, {3}},
                                                                {{3}, {2, 3}},
                                                                {{2, 1}, {1, 3}},
                                                                {{1, 3}, {2, 1}},
                                                                {{2, 3}, {2, 1}},
                                                                {{2, 1}, {2, 3}},
                                                                {{2, 3, 4}, {1}},
                                                                {{2, 3, 4}, {3, 1}},
                                                                {{2, 1, 4}, {3, 1}},
                                                                {{1, 3, 1}, {2, 1, 4}},
                                                                {{2, 1, 2, 1, 2}, {3, 1, 3, 1}},
                                                                {{1, 1, 1}, {2}},
                                                                {{33}, {1}},
                                                                {{2, 33}, {33}},
                                                                {{5, 1}, {5, 17}}};
  std::vector<Sample> samples;
  samples.reserve(pairs.size());
  for (const auto& shapes : pairs) samples.push_back(sized(row, shapes));
  ask_samples(row, samples, "broadcast");
  // Shapes that do not.
  for (const auto& shapes :
       {std::vector<std::vector<int64_t>>{{2}, {3}}, {{2, 3}, {2}}, {{2, 3}, {3, 3}}, {{0}, {2}}}) {
    const Bound b = bind(row, sized(row, shapes), first_type(row));
    BOOST_CHECK_EXCEPTION(b.call(), Error, [&](const Error& e) {
      return e.code() == Code::kInvalidArgument && begins_with(e, "shapes: expected ones that broadcast, got ");
    });
  }
}

void ask_special(const Row& row) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {0.0, -0.0, 1, -1, kInfinity, -kInfinity, std::nan("")};
  Sample s = row.d.samples[0];
  if (row.operands == 1) {
    // Several vectors' worth, so that vector loops see them too, and each at an end, where scalar code does.
    std::vector<double> many;
    for (size_t i = 0; i < 5 * values.size(); ++i) many.push_back(values[i % values.size()]);
    s.in[0] = list(many);
  } else {
    s.in[0] = array({static_cast<int64_t>(values.size()), 1}, values);
    s.in[1] = list(values);
  }
  for (const DType t : types_of(row)) {
    if (!dtypes::kFloating.contains(t)) continue;
    const Bound b = bind(row, s, t);
    attempt(b, "special values", [&] { compare(b.expected(s), b.call(), b, "special values"); });
  }
}

void ask_unaligned(const Row& row) {
  for_each_bound(row, [&](const Sample&, const Bound& b) {
    attempt(b, "unaligned", [&] {
      std::vector<Tensor> inputs;
      for (const Tensor& t : b.in) inputs.push_back(unaligned(t));
      compare(b.call(), b.call(inputs), b, "unaligned");
    });
  });
}

void ask_reuse(const Row& row) {
  for_each_bound(row, [&](const Sample&, const Bound& b) {
    if (b.in.empty() || b.op->body() != nullptr) return;
    attempt(b, "inputs given away", [&] {
      const std::vector<Tensor> expected = b.call();
      std::vector<AttrSlot> slots;
      const std::vector<AttrValue> values = b.attr_values();
      for (const AttrValue& v : values) slots.push_back(borrow(v));
      // All of them, then each alone.
      for (size_t given = 0; given <= b.in.size(); ++given) {
        const uint64_t dying = given == 0 ? ~uint64_t{0} : uint64_t{1} << (given - 1);
        std::vector<Tensor> inputs = copies(b.in, b);
        const std::vector<Tensor> before = copies(b.in, b);
        std::vector<const Tensor*> pointers;
        for (const Tensor& t : inputs) pointers.push_back(&t);
        const dispatch::Outputs got = dispatch::call(*b.op, pointers, slots, {.dying = dying});
        compare(expected, {got.data(), got.size()}, b, "inputs given away");
        for (size_t i = 0; i < inputs.size(); ++i) {
          if (((dying >> i) & 1) == 0) check_same(difference(before[i], inputs[i]), b, "an input that was kept");
        }
      }
    });
  });
}

void ask_prepared(const Row& row) {
  for_each_bound(row, [&](const Sample&, const Bound& b) {
    attempt(b, "prepared", [&] {
      const std::vector<Tensor> expected = b.call();
      std::vector<const Tensor*> pointers;
      std::vector<Tensor> known, unknown;
      for (const Tensor& t : b.in) {
        pointers.push_back(&t);
        known.push_back(meta_tensor(t.dtype(), t.partial_shape()));
        unknown.push_back(meta_tensor(t.dtype(), PartialShape()));
      }
      for (const auto* specs : {&known, &unknown}) {
        const auto prepared = dispatch::prepare(*b.op, *specs, b.attr_values(), cpu_device(), "node");
        for (int time = 0; time < 2; ++time) {
          std::vector<Tensor> outputs(expected.size());
          dispatch::run(*prepared, pointers, outputs);
          compare(expected, outputs, b, specs == &known ? "prepared" : "prepared for unknown shapes");
        }
        if (b.op->has(Trait::kSelfAllocating)) continue;
        std::vector<Tensor> outputs;
        for (const Tensor& t : expected) outputs.push_back(allocate_tensor(cpu_device(), t.dtype(), t.shape()));
        dispatch::run(*prepared, pointers, outputs);
        compare(expected, outputs, b, "prepared, into given outputs");
      }
    });
  });
}

void ask_types(const Row& row) {
  const Op& op = row.op();
  const AttrDef& primary = op.signature().attrs[static_cast<size_t>(op.primary_attr())];
  const DTypeSet kernels = op.kernel_types(DeviceKind::kCpu);
  for (int i = 1; i < kDTypeSlots; ++i) {
    const auto t = static_cast<DType>(i);
    if (!dtypes::kAny.contains(t)) continue;
    const auto sample = std::ranges::find_if(row.d.samples, [&](const Sample& s) { return fits(row, s, t); });
    if (sample == row.d.samples.end()) continue;
    const Bound b = bind(row, *sample, t);
    if (!primary.allowed_types.contains(t)) {
      const std::string text = fmt::format("{}: expected one of ({}), got {}", primary.name,
                                           dtype_set_text(primary.allowed_types), dtype_name(t));
      try {
        b.call();
        BOOST_ERROR("expected " << dtype_name(t) << " to be refused");
      } catch (const Error& e) {
        BOOST_CHECK_MESSAGE(e.code() == Code::kInvalidArgument && begins_with(e, text),
                            "expected: " << text << "\n  got: " << e.what());
      }
    } else if (op.body() == nullptr && !kernels.contains(t)) {
      const std::string text = fmt::format("kernel on CPU for {}: expected one of (", dtype_name(t));
      try {
        b.call();
        BOOST_ERROR("expected " << dtype_name(t) << " to be Unimplemented");
      } catch (const Error& e) {
        BOOST_CHECK_MESSAGE(e.code() == Code::kUnimplemented && begins_with(e, text) &&
                                e.message().find("CPU: " + dtype_set_text(kernels)) != std::string::npos,
                            "expected: " << text << "\n  got: " << e.what());
      }
    } else if (row.d.types.contains(t)) {
      // A composite's parts may lack a kernel.
      try {
        b.call();
      } catch (const Error& e) {
        BOOST_CHECK_MESSAGE(op.body() != nullptr && e.code() == Code::kUnimplemented, b.text() << ": " << e.what());
      }
    }
  }
  // Further type attributes, each alone.
  for (size_t a = 0; a < op.signature().attrs.size(); ++a) {
    const AttrDef& def = op.signature().attrs[a];
    if (def.kind != AttrKind::kType || static_cast<int>(a) == op.primary_attr()) continue;
    for (int i = 1; i < kDTypeSlots; ++i) {
      const auto t = static_cast<DType>(i);
      if (!def.allowed_types.contains(t)) continue;
      Sample sample = row.d.samples[0];
      std::erase_if(sample.attrs, [&](const Attr& attr) { return attr.name == def.name; });
      const Bound b = bind(row, sample, first_type(row), {{static_cast<int>(a), t}});
      try {
        b.call();
      } catch (const Error& e) {
        const bool other = !DTypeSet{kInt32, kInt64, kFloat32, kFloat64, kBool}.contains(t);
        BOOST_CHECK_MESSAGE(e.code() == Code::kUnimplemented && other, b.text() << ": " << e.what());
      }
    }
  }
}

void ask_errors(const Row& row) {
  for (const ErrorSample& sample : row.d.errors) {
    const DType type = sample.type != DType::kInvalid ? sample.type : first_type(row);
    const Bound b = bind(row, {.in = sample.in, .attrs = sample.attrs}, type);
    try {
      b.call();
      BOOST_ERROR(b.text() << ": expected the error: " << sample.text);
    } catch (const Error& e) {
      BOOST_CHECK_MESSAGE(e.code() == sample.code && begins_with(e, sample.text),
                          b.text() << "\n  expected: " << code_name(sample.code) << ": " << sample.text
                                   << "\n       got: " << e.what());
      BOOST_CHECK_MESSAGE(e.message().find("[in " + b.op->name()) != std::string::npos,
                          "expected the op and its inputs in: " << e.what());
    }
  }
}

}  // namespace panto::test
