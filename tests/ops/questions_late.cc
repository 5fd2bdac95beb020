// Is an op as safe where shapes become known late? A step of a plan is prepared from what is known then; other tensors
// may come when it runs. Whatever comes, the step must give what the eager call gives: the same bits, or the same
// error. What is known beforehand may be enough to refuse it beforehand, in words about what is known.
#include <fmt/format.h>

#include <cstring>

#include "panto/lib/core/dispatch.h"
#include "panto/tests/ops/questions.h"

namespace panto::test {
namespace {

// What a call came to: outputs, or the error's code and its text without context.
struct Outcome {
  std::vector<Tensor> outputs = {};
  std::string error = {};
  bool beforehand = false;  // the error came when the step was prepared

  bool same_error(const Outcome& eager) const {
    const auto code = [](const std::string& text) { return text.substr(0, text.find(':')); };
    return beforehand ? code(error) == code(eager.error) : error == eager.error;
  }
};

std::string leaf(const Error& e) {
  return fmt::format("{}: {}", code_name(e.code()), e.message().substr(0, e.message().find(" [in ")));
}

// A tensor of another shape with the values of `t`, one after the other, over and over.
Tensor with_shape(const Tensor& t, const std::vector<int64_t>& dims) {
  Tensor made = allocate_tensor(cpu_device(), t.dtype(), Shape(dims));
  const size_t from = t.nbytes(), bytes = made.nbytes();
  for (size_t i = 0; i < bytes && from == 0; ++i) mutable_data<char>(made)[i] = 0;
  for (size_t at = 0; at < bytes && from > 0; at += from) {
    std::memcpy(mutable_data<char>(made) + at, t.impl()->data, std::min(from, bytes - at));
  }
  return made;
}

template <class T>
Tensor changed_integer(const Tensor& t, size_t at, int64_t by) {
  const Tensor made = with_shape(t, {t.shape().dims().begin(), t.shape().dims().end()});
  mutable_data<T>(made)[at] = static_cast<T>(mutable_data<T>(made)[at] + by);
  return made;
}

// The input, one dimension of it longer, shorter or 1, a dimension more and one less; an integer of it larger, smaller.
std::vector<Tensor> variants(const Tensor& t, bool host) {
  std::vector<Tensor> made;
  const std::vector<int64_t> dims(t.shape().dims().begin(), t.shape().dims().end());
  for (size_t k = 0; k < dims.size(); ++k) {
    for (const int64_t d : {dims[k] + 1, dims[k] - 1, int64_t{1}, int64_t{0}}) {
      if (d < 0 || d == dims[k]) continue;
      std::vector<int64_t> other = dims;
      other[k] = d;
      made.push_back(with_shape(t, other));
    }
  }
  std::vector<int64_t> more = dims;
  more.insert(more.begin(), 2);
  made.push_back(with_shape(t, more));
  if (!dims.empty()) made.push_back(with_shape(t, {dims.begin() + 1, dims.end()}));
  constexpr int64_t kMostIntegers = 8;
  for (size_t i = 0; host && i < static_cast<size_t>(std::min(t.numel(), kMostIntegers)); ++i) {
    for (const int64_t by : {1, -1, 100}) {
      if (t.dtype() == kInt32) made.push_back(changed_integer<int32_t>(t, i, by));
      if (t.dtype() == kInt64) made.push_back(changed_integer<int64_t>(t, i, by));
    }
  }
  return made;
}

struct Late {
  const Bound& bound;
  std::vector<bool> host;  // inputs whose values shape the output

  // As a step that was prepared knowing nothing of the inputs in `hidden` but, perhaps, their ranks.
  Outcome run(const std::vector<Tensor>& inputs, const std::vector<bool>& hidden, bool rank_known) const {
    std::vector<Tensor> specs;
    std::vector<const Tensor*> pointers;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor& t = inputs[i];
      pointers.push_back(&t);
      if (!is_plain(t.dtype())) {
        specs.push_back(t);
      } else if (hidden[i]) {
        specs.push_back(meta_tensor(t.dtype(), rank_known ? PartialShape::of_rank(t.rank()) : PartialShape()));
      } else {
        specs.push_back(host[i] ? t : meta_tensor(t.dtype(), t.partial_shape()));
      }
    }
    Outcome outcome;
    outcome.beforehand = true;
    try {
      const auto prepared = dispatch::prepare(*bound.op, specs, bound.attr_values(), cpu_device(), "late");
      outcome.beforehand = false;
      // What the plan knows the size of lies in memory that it has set aside.
      std::vector<Tensor> outputs;
      for (const OutputSpec& s : prepared->specs()) {
        const bool planned = s.shape.fully_known() && is_plain(s.dtype) && !bound.op->has(Trait::kSelfAllocating);
        outputs.push_back(planned ? allocate_tensor(cpu_device(), s.dtype, Shape(s.shape)) : Tensor());
      }
      dispatch::run(*prepared, pointers, outputs);
      outcome.outputs = std::move(outputs);
    } catch (const Error& e) {
      outcome.error = leaf(e);
    }
    return outcome;
  }

  void check(const std::vector<Tensor>& inputs) const {
    Outcome eager;
    try {
      eager.outputs = bound.call(inputs);
    } catch (const Error& e) {
      eager.error = leaf(e);
    }
    const size_t n = inputs.size();
    for (size_t which = 0; which <= n; ++which) {
      std::vector<bool> hidden(n, which == n);
      if (which < n) hidden[which] = true;
      for (const bool rank_known : {true, false}) {
        const Outcome late = run(inputs, hidden, rank_known);
        const std::string what =
            fmt::format("with {}, {} hidden{}", shapes(inputs), which == n ? "all" : fmt::format("input {}", which),
                        rank_known ? " but for ranks" : "");
        if (!late.same_error(eager)) {
          complain(bound, fmt::format("{}: eagerly {}, late {}", what, eager.error.empty() ? "fine" : eager.error,
                                      late.error.empty() ? "fine" : late.error));
        } else {
          compare(eager.outputs, late.outputs, bound, what);
        }
      }
    }
  }

  static std::string shapes(const std::vector<Tensor>& inputs) {
    std::string text;
    for (const Tensor& t : inputs) text += (text.empty() ? "" : ", ") + t.partial_shape().to_string();
    return text;
  }
};

}  // namespace

void ask_late(const Row& row) {
  const auto ask = [&](const Sample& sample, const Bound& b, bool changed) {
    const std::vector<int> args = argument_of_inputs(*b.op, b.in.size(), sample.attrs);
    Late late{b, {}};
    for (const int a : args) late.host.push_back(a >= 0 && b.op->signature().inputs[static_cast<size_t>(a)].host);
    attempt(b, "late", [&] {
      late.check(b.in);
      for (size_t i = 0; changed && i < b.in.size(); ++i) {
        if (!is_plain(b.in[i].dtype())) continue;
        for (const Tensor& other : variants(b.in[i], late.host[i])) {
          std::vector<Tensor> inputs = copies(b);
          inputs[i] = other;
          late.check(inputs);
        }
      }
    });
  };
  for_each_sample(row, [&](const Sample& sample, const Bound& b) { ask(sample, b, true); });
  // Calls with one fault are enough: of two it is not said which is found first.
  for (const ErrorSample& error : row.d.errors) {
    const Sample sample{.in = error.in, .attrs = error.attrs};
    const Bound b = bind(row, sample, error.type != DType::kInvalid ? error.type : first_type(row));
    if (argument_of_inputs(*b.op, b.in.size(), sample.attrs).size() == b.in.size()) ask(sample, b, false);
  }
}

}  // namespace panto::test
