// Is an op as safe where shapes become known late? A step of a plan is prepared from what is known then; other tensors
// may come when it runs. Whatever comes, the step must give what the eager call gives: the same bits, or the same
// error. What is known beforehand may be enough to refuse it beforehand, in words about what is known. An op that is
// made of others has no step: it is traced, and the others say what is wrong in their own words.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "panto/lib/core/call/dispatch.h"
#include "panto/tests/ops/questions/questions.h"
#include "panto/trace/function.h"

namespace panto::test {
namespace {

// What a call came to: outputs, or the error's code and its text without context.
struct Outcome {
  std::vector<Tensor> outputs = {};
  std::string error = {};
  bool own_words = true;  // the op's: false where the error came when the step was prepared, or from other ops

  bool same_error(const Outcome& eager) const {
    const auto code = [](const std::string& text) { return text.substr(0, text.find(':')); };
    return own_words ? error == eager.error : code(error) == code(eager.error);
  }
};

std::string leaf(const Error& e) {
  const size_t end = std::min(e.message().find(" [in "), e.message().find(" [variable "));
  return fmt::format("{}: {}", code_name(e.code()), e.message().substr(0, end));
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
    outcome.own_words = false;
    try {
      const auto prepared = dispatch::prepare(*bound.op, specs, bound.attr_values(), cpu_device(), "late");
      outcome.own_words = true;
      // What the plan knows the size of lies in memory that it has set aside.
      std::vector<Tensor> outputs;
      for (const OutputSpec& s : prepared->specs()) {
        const bool planned = s.shape.fully_known() && is_plain(s.dtype) && !bound.op->has(Trait::kSelfAllocating);
        outputs.push_back(planned ? allocate_tensor(cpu_device(), s.dtype, Shape(s.shape)) : Tensor());
      }
      dispatch::run(*prepared, current_step(), pointers, outputs);
      outcome.outputs = std::move(outputs);
    } catch (const Error& e) {
      outcome.error = leaf(e);
    }
    return outcome;
  }

  // The same of an op that is made of others, as a function that was traced so. `only`: of one output.
  Outcome run_traced(const std::vector<Tensor>& inputs, const std::vector<bool>& hidden, bool rank_known,
                     const char* passes, int only = -1) const {
    std::vector<size_t> arguments;
    std::vector<TensorSpec> specs;
    std::vector<Tensor> given;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor& t = inputs[i];
      if (!is_plain(t.dtype()) || (host[i] && !hidden[i])) continue;
      arguments.push_back(i);
      given.push_back(t);
      const PartialShape unknown = rank_known ? PartialShape::of_rank(t.rank()) : PartialShape();
      specs.emplace_back(t.dtype(), hidden[i] ? unknown : t.partial_shape());
    }
    const auto body = [&](std::span<const Tensor> values) {
      std::vector<Tensor> all = inputs;
      for (size_t k = 0; k < arguments.size(); ++k) all[arguments[k]] = values[k];
      std::vector<Tensor> outputs = bound.call(all);
      return only < 0 ? outputs : std::vector{outputs[static_cast<size_t>(only)]};
    };
    Outcome outcome;
    outcome.own_words = false;
    try {
      const Function f = make_traced(body, specs, std::source_location::current());
      f.set_optimizer(passes);
      outcome.outputs = f.call(given);
    } catch (const Error& e) {
      outcome.error = leaf(e);
    }
    return outcome;
  }

  // `changed`: the input that is not the sample's; -1 for none.
  void check(const std::vector<Tensor>& inputs, int changed) const {
    Outcome eager;
    try {
      eager.outputs = bound.call(inputs);
    } catch (const Error& e) {
      eager.error = leaf(e);
    }
    const size_t n = inputs.size();
    const bool composite = bound.op->kernel(DeviceKind::kCpu, bound.type).run == nullptr;
    for (size_t which = 0; which <= n; ++which) {
      // Tracing takes long, and of many inputs there are many pairs: what does not have to do with what is wrong is
      // tried where nothing is, and with one neighbour.
      constexpr size_t kManyInputs = 4;
      const bool related = changed < 0 || which == n || static_cast<int>(which) == changed ||
                           (!composite && (n <= kManyInputs || which == (static_cast<size_t>(changed) + 1) % n));
      if (!related) continue;
      std::vector<bool> hidden(n, which == n);
      if (which < n) hidden[which] = true;
      for (const bool rank_known : {true, false}) {
        const std::string what =
            fmt::format("with {}, {} hidden{}", shapes(inputs), which == n ? "all" : fmt::format("input {}", which),
                        rank_known ? " but for ranks" : "");
        if (!composite) {
          judge(eager, run(inputs, hidden, rank_known), what);
          continue;
        }
        for (const char* passes : {"off", "-matmul"}) {
          if (changed >= 0 && which < n && passes != std::string_view("off")) continue;
          judge(eager, run_traced(inputs, hidden, rank_known, passes), fmt::format("{}, passes {}", what, passes));
        }
        // Whatever is asked for must have been checked.
        const size_t count = bound.op->signature().outputs.size();
        for (size_t k = 0; k < count && count > 1 && which == n && !eager.error.empty(); ++k) {
          judge(eager, run_traced(inputs, hidden, rank_known, "", static_cast<int>(k)),
                fmt::format("{}, output {} only", what, k));
        }
      }
    }
  }

  void judge(const Outcome& eager, const Outcome& late, const std::string& what) const {
    if (!late.same_error(eager)) {
      complain(bound, fmt::format("{}: eagerly {}, late {}", what, eager.error.empty() ? "fine" : eager.error,
                                  late.error.empty() ? "fine" : late.error));
    } else {
      compare(eager.outputs, late.outputs, bound, what);
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
      late.check(b.in, -1);
      for (size_t i = 0; changed && i < b.in.size(); ++i) {
        if (!is_plain(b.in[i].dtype())) continue;
        for (const Tensor& other : variants(b.in[i], late.host[i])) {
          std::vector<Tensor> inputs = copies(b);
          inputs[i] = other;
          late.check(inputs, static_cast<int>(i));
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
