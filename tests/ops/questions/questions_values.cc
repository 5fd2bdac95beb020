// Questions about the values that an op computes.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "panto/tests/ops/questions/questions.h"

namespace panto::test {
namespace {

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

}  // namespace

void ask_reference(const Row& row) {
  if (types_of(row).empty()) complain("no type of the row has a kernel");
  int asked = 0;
  for_each_bound(row, [&](const Sample& sample, const Bound& b) {
    ++asked;
    attempt(b, "reference", [&] {
      const std::vector<Tensor> before = copies(b);
      compare(b.expected(sample), b.call(), b, "reference");
      compare(before, b.in, b, "inputs after the call");
    });
  });
  if (asked == 0) complain("no sample fits any type");
}

void ask_effect(const Row& row) {
  for_each_bound(row, [&](const Sample&, const Bound& b) {
    attempt(b, "effect", [&] {
      // Values read before must not change.
      const std::vector<Tensor> held = b.variables();
      std::vector<Array> before;
      for (const Tensor& t : held) before.push_back(to_array(t));
      b.call();
      compare(b.row->d.after(b.given), b.variables(), b, "variable after the call");
      for (size_t i = 0; i < held.size(); ++i) check_same(difference(before[i], held[i], {}), b, "value read before");
      b.call();  // in place, nobody holds the value
    });
  });
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
      return e.code() == Code::kInvalidArgument &&
             e.message().starts_with("shapes: expected ones that broadcast, got ");
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

}  // namespace panto::test
