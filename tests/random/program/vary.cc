#include "panto/tests/random/program/vary.h"

#include <algorithm>
#include <cmath>

#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/tests/ops/array_value.h"
#include "panto/tests/random/program/generate.h"

namespace panto::random {

using test::Array;

std::vector<int64_t> dims_of(const Tensor& t) { return {t.shape().dims().begin(), t.shape().dims().end()}; }

Tensor draw_tensor(Rng& rng, DType dtype, const Shape& shape, double low, double high) {
  if (dtypes::kComplex.contains(dtype)) {
    // Real and imaginary parts, one after the other.
    const DType part = dtype == DType::kComplex64 ? kFloat32 : kFloat64;
    const Tensor parts = draw_tensor(rng, part, Shape({shape.numel(), 2}), low, high);
    return tensor_from_bytes(dtype, shape, parts.impl()->data, parts.nbytes());
  }
  Array a;
  a.dims.assign(shape.dims().begin(), shape.dims().end());
  a.drawn = true;
  for (int64_t i = 0; i < shape.numel(); ++i) {
    if (!a.values.empty() && rng.chance(0.1)) {
      a.values.push_back(rng.pick(a.values));
    } else if (dtype == kBool) {
      a.values.push_back(rng.below(2));
    } else {
      a.values.push_back(rng.between(low, high));
    }
  }
  return test::to_tensor(a, dtype);
}

namespace {

class Varier {
 public:
  Varier(Program& p, const std::map<int, Tensor>& values, Rng& rng) : p_(p), values_(values), rng_(rng) {}

  void run() {
    describe_inputs();
    choose_feed();
    p_.passes = (rng_.chance(0.6) ? "-" : "") + rng_.pick(pass_names());
  }

 private:
  // What traces know of the inputs, and what these are in further calls.
  void describe_inputs() {
    p_.num_others = 4;
    std::map<int64_t, int64_t> renamed;  // dimensions that are another size in further calls
    for (const Input& in : p_.inputs) {
      for (const int64_t d : dims_of(in.value)) {
        if (d > 1 && !renamed.contains(d)) renamed[d] = rng_.chance(0.6) ? rng_.between(1, 12) : d;
      }
    }
    const bool ranks = !has_form(p_.body, Statement::Form::kRecursive);
    const auto odd = static_cast<size_t>(rng_.below(std::max<int>(1, static_cast<int>(p_.inputs.size()))));
    // One that says something is other in the last call, where all else stays as it is.
    std::vector<size_t> telling;
    for (size_t i = 0; i < p_.inputs.size(); ++i) {
      if (is_integer(p_.inputs[i].value.dtype()) && p_.inputs[i].value.numel() < 10) telling.push_back(i);
    }
    const size_t alone = telling.empty() ? odd : rng_.pick(telling);
    for (size_t i = 0; i < p_.inputs.size(); ++i) {
      Input& in = p_.inputs[i];
      std::vector<int64_t> dims = dims_of(in.value), changed = dims, inconsistent = dims;
      for (size_t k = 0; k < dims.size(); ++k) {
        const int64_t d = dims[k];
        if (renamed.contains(d) && renamed[d] != d) {
          dims[k] = -1;
          changed[k] = renamed[d];
        } else if (rng_.chance(0.15)) {
          dims[k] = -1;
        }
        if (dims[k] == -1 && i == odd) inconsistent[k] = rng_.chance(0.4) ? 1 : rng_.between(0, 9);
      }
      in.spec = ranks && rng_.chance(0.1) ? PartialShape() : PartialShape(dims);
      in.others = {other_value(in.value, Shape(in.value.shape()), {}, 0.4),
                   other_value(in.value, Shape(changed), renamed, 0.1),
                   other_value(in.value, Shape(inconsistent), {}, 0.4),
                   i == alone ? other_value(in.value, Shape(in.value.shape()), {}, 0.7) : in.value};
    }
  }

  // Of the same type. Integers keep what they say, but for dimensions that are renamed and, now and then, one more or
  // less.
  Tensor other_value(const Tensor& t, const Shape& shape, const std::map<int64_t, int64_t>& renamed, double change) {
    if (!is_plain(t.dtype())) return t;
    if (!is_integer(t.dtype()) && t.dtype() != kBool) {
      double low = -2, high = 2;
      if (dtypes::kFloating.contains(t.dtype()) && t.numel() > 0) {
        const Tensor wide = cast(t, kFloat64);
        for (const double v : wide.data<double>()) {
          if (!std::isfinite(v)) continue;
          low = std::min(low, v);
          high = std::max(high, v);
        }
        if (std::ranges::all_of(wide.data<double>(), [](double v) { return v > 0; })) low = 1e-3;
      }
      return draw_tensor(rng_, t.dtype(), shape, low, high);
    }
    const bool same = shape == t.shape();
    Array a = test::to_array(t);
    Array b;
    b.dims.assign(shape.dims().begin(), shape.dims().end());
    for (int64_t i = 0; i < shape.numel(); ++i) {
      double v = a.values.empty() ? 0
                                  : a.values[same ? static_cast<size_t>(i)
                                                  : static_cast<size_t>(rng_.below(static_cast<int>(a.values.size())))];
      const auto to = renamed.find(static_cast<int64_t>(v));
      if (to != renamed.end()) v = static_cast<double>(to->second);
      if (rng_.chance(change)) v = t.dtype() == kBool ? rng_.below(2) : v + rng_.between(-2, 2);
      if ((dtypes::kInteger - dtypes::kSigned).contains(t.dtype())) v = std::max(v, 0.0);
      b.values.push_back(v);
    }
    // They may be the sizes of something.
    double product = 1;
    for (double& v : b.values) {
      if (t.rank() == 1 && v > 1 && product * v > 2000) v = 1;
      product *= std::max(v, 1.0);
    }
    b.drawn = true;
    return test::to_tensor(b, t.dtype());
  }

  void choose_feed() {
    // What is inside of functions, composites and gradients may be the same tensor as what they give.
    if (has_kind(p_.body, Statement::Kind::kTape)) return;
    std::vector<int> all;
    for (const Statement& s : p_.body.statements) {
      if (s.kind == Statement::Kind::kCall || (s.op != nullptr && s.op->body() != nullptr)) continue;
      for (const int v : s.out) {
        if (values_.contains(v) && is_plain(values_.at(v).dtype())) all.push_back(v);
      }
    }
    if (all.empty()) return;
    // What says something, a shape or an axis, mostly.
    std::vector<int> telling;
    for (const Statement& s : p_.body.statements) {
      if (s.op == nullptr || s.op->signature().inputs.size() != s.in.size()) continue;
      for (size_t i = 0; i < s.in.size(); ++i) {
        const bool there = std::ranges::find(all, s.in[i]) != all.end();
        if (there && s.op->signature().inputs[i].host) telling.push_back(s.in[i]);
      }
    }
    p_.fed = !telling.empty() && rng_.chance(0.6) ? rng_.pick(telling) : rng_.pick(all);
    const Tensor& t = values_.at(p_.fed);
    std::vector<int64_t> dims = dims_of(t);
    if (is_integer(t.dtype()) && t.rank() == 1 && rng_.chance(0.5)) {
      Array a = test::to_array(t);
      std::ranges::reverse(a.values);
      a.drawn = true;
      p_.fed_value = test::to_tensor(a, t.dtype());
      return;
    }
    if (!dims.empty() && rng_.chance(0.5)) {
      if (rng_.chance(0.5)) {
        std::ranges::reverse(dims);
      } else {
        dims[static_cast<size_t>(rng_.below(static_cast<int>(dims.size())))] = rng_.between(0, 5);
      }
    }
    p_.fed_value = other_value(t, Shape(dims), {}, 0.3);
  }

  Program& p_;
  const std::map<int, Tensor>& values_;
  Rng& rng_;
};

}  // namespace

void vary(Program& program, const std::map<int, Tensor>& values, Rng& rng) { Varier(program, values, rng).run(); }

}  // namespace panto::random
