#include "panto/tests/random/program/generate.h"

#include <algorithm>
#include <set>

#include "panto/autograd/tape.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/random/program/builder.h"
#include "panto/tests/random/program/candidates.h"
#include "panto/tests/random/program/motifs.h"
#include "panto/tests/random/program/vary.h"

namespace panto::random {

using test::Array;

namespace {

class Generator : public Builder {
 public:
  explicit Generator(uint64_t seed) : Builder(seed) {}

  Program run() {
    choose_style();
    const int steps = rng_.chance(0.1) ? rng_.between(12, 25) : rng_.between(1, 10);
    body_ = &p_.body;
    const size_t mine = p_.seed % candidates().size();
    const int turn = rng_.below(steps);
    for (int i = 0; i < steps; ++i) {
      if (i == turn) take_turn(candidates()[mine]);
      if (i == turn && rng_.chance(0.04)) draw_numbers();
      step();
    }
    close_tapes();
    choose_outputs();
    if (rng_.chance(0.05)) add_illegal();
    drop_unused(p_, false);
    vary(p_, values_, rng_);
    return std::move(p_);
  }

 private:
  // ---- Style ----------------------------------------------------------------------------------------------------

  void choose_style() {
    const int kind = rng_.below(20);
    main_ = kind < 8 ? kFloat32 : kind < 14 ? kFloat64 : kind < 16 ? kInt32 : DType::kInvalid;
    while (main_ == DType::kInvalid) main_ = rng_.pick(candidates()).type;
    static const std::vector<int> kSizes = {1, 2, 2, 3, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64, 65, 100};
    for (int64_t& d : sizes_) d = rng_.pick(kSizes);
    if (rng_.chance(0.02)) sizes_[0] = rng_.between(100, 400);
    // Loops are cut for several threads from 256 KiB on.
    if (rng_.chance(0.01)) {
      sizes_[0] = rng_.between(100, 400);
      sizes_[1] = rng_.between(300, 600);
      max_elements_ = 300'000;
    }
    p_functions_ = rng_.chance(0.35) ? 0.15 : 0;
    p_tapes_ = rng_.chance(0.3) ? 0.15 : 0;
    p_variables_ = rng_.chance(0.35) ? 0.25 : 0;
  }

  Shape some_shape() {
    const int64_t a = sizes_[0], b = sizes_[1], c = sizes_[2];
    switch (rng_.below(14)) {
      case 0: return Shape(std::vector<int64_t>{});
      case 1: return Shape({a});
      case 2: return Shape({b});
      case 3:
      case 4: return Shape({a, b});
      case 5: return Shape({b, a});
      case 6: return Shape({1, b});
      case 7: return Shape({a, 1});
      case 8: return Shape({1});
      case 9: return a * b * c <= max_elements_ ? Shape({c, a, b}) : Shape({a, b});
      case 10: return Shape({a, a});
      case 11: return rng_.chance(0.3) ? Shape({0, b}) : Shape({b, c});
      case 12: return rng_.chance(0.3) ? Shape({a, 0}) : Shape({c, a});
      default: return Shape({b});
    }
  }

  // ---- Statements -----------------------------------------------------------------------------------------------

  void step() {
    const double x = rng_.real();
    if (x < p_functions_ && depth_ < 2) return add_call();
    if (at_top() && rng_.chance(p_tapes_)) {
      if (tapes_.empty() || (tapes_.size() < 2 && rng_.chance(0.3))) return open_tape();
      return ask_tape();
    }
    if (rng_.chance(0.12) && add_motif(*this, main_)) return;
    const Candidate& c = pick_candidate(rng_, main_);
    for (int attempt = 0; attempt < 3; ++attempt) {
      if (try_op(c, attempt)) return;
    }
  }

  // Every op and type has its turn, one a program, and is then not dropped as unused.
  void take_turn(const Candidate& c) {
    for (int attempt = 0; attempt < 3; ++attempt) {
      if (!try_op(c, attempt)) continue;
      must_ = body_->statements.back().out;
      return;
    }
  }

  // By an op that goes on from call to call, with seeds.
  void draw_numbers() {
    const Candidate& c = rng_.pick(generators());
    const Op& op = c.row->op();
    const Shape shape = some_shape();
    const Tensor dims = tensor(std::vector<int32_t>(shape.dims().begin(), shape.dims().end()));
    std::vector<std::pair<std::string, AttrValue>> attrs;
    for (const char* name : {"seed", "seed2"}) attrs.emplace_back(name, AttrValue(int64_t{rng_.between(1, 1000)}));
    attrs.emplace_back(op.signature().attrs[static_cast<size_t>(op.primary_attr())].name, AttrValue(c.type));
    try_call(op, {add_constant(dims, Statement::Origin::kLiteral)}, std::move(attrs));
  }

  bool try_op(const Candidate& c, int attempt) {
    const Mark before = mark();
    const test::Sample& sample = *rng_.pick(c.samples);
    const test::Bound bound = test::bind(*c.row, sample, c.type);
    const std::vector<int> args = test::argument_of_inputs(*bound.op, bound.in.size(), sample.attrs);
    // Elementwise ops take any shape: one for this call.
    const bool free = c.row->operands > 0;
    Shape shape = some_shape();
    Statement s;
    s.op = bound.op;
    s.type = c.type;
    s.attrs = bound.attr_pairs();
    for (size_t i = 0; i < bound.in.size(); ++i) {
      const Array& a = bound.given.in[i];
      if (a.is_variable) {
        s.in.push_back(variable_ref(variable_like(variable_of(bound.in[i]).read(), attempt < 2)));
        continue;
      }
      const Tensor& t = bound.in[i];
      const bool host = bound.op->signature().inputs[static_cast<size_t>(args[i])].host;
      const bool fixed = host || (is_integer(t.dtype()) && !a.drawn && !free);
      s.in.push_back(argument(t, a, fixed, free, shape, attempt, c, i));
      // The other operand is mostly of the same shape.
      if (free && i == 0) shape = values_.at(s.in[0]).shape();
    }
    const size_t max_special = rng_.chance(0.1) ? 100 : 0;
    return try_statement(std::move(s), before, max_special);
  }

  // One that is there, if it may be, or a new one.
  int variable_like(const Tensor& t, bool shared) {
    for (size_t i = 0; shared && i < p_.variables.size(); ++i) {
      const Tensor& have = p_.variables[i].value;
      if (have.dtype() == t.dtype() && have.shape() == t.shape() && rng_.chance(0.7)) return static_cast<int>(i);
    }
    return add_variable(t);
  }

  int argument(const Tensor& t, const Array& a, bool fixed, bool free, const Shape& shape, int attempt,
               const Candidate& c, size_t i) {
    const DType type = t.dtype();
    if (fixed) {
      if (attempt == 0 && rng_.chance(0.25)) {
        const int v = pick_value([&](const Tensor& x) { return x.dtype() == type && x.rank() == t.rank(); });
        if (v >= 0) return v;
      }
      if (attempt < 2 && is_integer(type) && t.rank() == 0 && rng_.chance(0.15)) {
        return add_leaf(draw_tensor(rng_, type, t.shape(), 0, 5), true);
      }
      return add_leaf(t, true);
    }
    if (attempt < 2 && rng_.chance(attempt == 0 ? 0.85 : 0.6)) {
      const bool alike = free && i > 0 && rng_.chance(0.7);
      const int v = pick_value([&](const Tensor& x) {
        if (x.dtype() != type) return false;
        if (free) return !alike || x.shape() == shape;
        return attempt == 0 || x.shape() == t.shape();
      });
      if (v >= 0) return v;
    }
    if (free && attempt < 2) {
      const test::Domain& d = c.row->domains[std::min<size_t>(i, 1)];
      Shape own = shape;
      if (i == 1 && rng_.chance(0.3)) own = broadcast_partner(shape);
      return add_leaf(draw_tensor(rng_, type, own, std::max(d.low, -50.0), std::min(d.high, 50.0)), false);
    }
    if (a.drawn && !a.values.empty() && rng_.chance(0.5)) {
      const auto [low, high] = std::ranges::minmax(a.values);
      return add_leaf(draw_tensor(rng_, type, t.shape(), low, high), false);
    }
    return add_leaf(t, false);
  }

  Shape broadcast_partner(const Shape& shape) {
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    for (int64_t& d : dims) d = rng_.chance(0.4) ? 1 : d;
    if (!dims.empty() && rng_.chance(0.4)) dims.erase(dims.begin());
    return Shape(dims);
  }

  // ---- Functions ------------------------------------------------------------------------------------------------

  void add_call() {
    std::vector<int> arguments;
    const int count = rng_.between(1, 3);
    for (int i = 0; i < count; ++i) {
      const int v = pick_value([&](const Tensor& t) { return is_plain(t.dtype()) && (i > 0 || t.dtype() == main_); });
      if (v >= 0) arguments.push_back(v);
    }
    if (arguments.empty()) return;
    const Mark before = mark();
    auto inner = std::make_shared<Body>();
    Body* const outer = body_;
    std::vector<int> outer_visible;
    outer_visible.swap(visible_);
    for (const int v : arguments) inner->inputs.push_back(new_value(values_.at(v)));
    body_ = inner.get();
    ++depth_;
    const int steps = rng_.between(0, 4);
    for (int i = 0; i < steps; ++i) step();
    const int outputs = rng_.between(1, 3);
    for (int k = 0; k < outputs; ++k) {
      inner->outputs.push_back(k == 0 || rng_.chance(0.4) ? visible_.back() : rng_.pick(visible_));
    }
    --depth_;
    body_ = outer;
    visible_.swap(outer_visible);
    Statement s;
    s.kind = Statement::Kind::kCall;
    s.in = arguments;
    s.body = inner;
    const Tensor& first = values_.at(arguments[0]);
    const double x = rng_.real();
    s.form = x < 0.3    ? Statement::Form::kSpecs
             : x < 0.6  ? Statement::Form::kPolymorphic
             : x < 0.65 ? Statement::Form::kRecursive
             : x < 0.85 ? Statement::Form::kCond
                        : Statement::Form::kLoop;
    const bool chooses = s.form == Statement::Form::kCond || s.form == Statement::Form::kLoop;
    if (chooses && !dtypes::kReal.contains(first.dtype())) s.form = Statement::Form::kPolymorphic;
    if (s.form == Statement::Form::kRecursive && (!dtypes::kNumeric.contains(first.dtype()) || first.rank() > 3)) {
      s.form = Statement::Form::kPolymorphic;
    }
    for (const int v : arguments) s.specs.push_back(loosened(values_.at(v), 0.4, 0.1));
    Mark reset = before;
    reset.variables = p_.variables.size();  // the body's are not taken back with it
    try_statement(std::move(s), reset, 0);
  }

  PartialShape loosened(const Tensor& t, double unknown, double no_rank) {
    if (rng_.chance(no_rank)) return PartialShape();
    std::vector<int64_t> dims = dims_of(t);
    for (int64_t& d : dims) d = rng_.chance(unknown) ? -1 : d;
    return PartialShape(dims);
  }

  // ---- Tapes ----------------------------------------------------------------------------------------------------

  struct OpenTape {
    int number;
    bool persistent;
    std::vector<Ref> watched;
    size_t opened_at;  // number of visible values
    std::unique_ptr<GradientTape> tape;
  };

  void open_tape() {
    OpenTape open{p_.next_tape++, rng_.chance(0.4), {}, visible_.size(), nullptr};
    const int count = rng_.between(1, 3);
    for (int i = 0; i < count; ++i) {
      const int v = !tapes_.empty() && rng_.chance(0.6)
                        ? rng_.pick(tapes_.back().watched)
                        : pick_value([](const Tensor& t) { return dtypes::kFloating.contains(t.dtype()); });
      if (v >= 0 && std::ranges::find(open.watched, v) == open.watched.end()) open.watched.push_back(v);
    }
    if (open.watched.empty()) return;
    for (size_t i = 0; i < p_.variables.size() && rng_.chance(0.5); ++i) {
      if (dtypes::kFloating.contains(p_.variables[i].value.dtype())) {
        open.watched.push_back(variable_ref(static_cast<int>(i)));
      }
    }
    open.tape =
        std::make_unique<GradientTape>(GradientTape::Options{.persistent = open.persistent, .unconnected_zero = true});
    for (const Ref r : open.watched) {
      if (r >= 0) open.tape->watch(values_.at(r));
    }
    Statement s;
    s.kind = Statement::Kind::kTape;
    s.tape = open.number;
    s.persistent = open.persistent;
    s.in = open.watched;
    body_->statements.push_back(s);
    tapes_.push_back(std::move(open));
  }

  void ask_tape() {
    OpenTape& open = tapes_.back();
    std::vector<int> targets;
    for (size_t i = open.opened_at; i < visible_.size(); ++i) {
      if (dtypes::kFloating.contains(values_.at(visible_[i]).dtype())) targets.push_back(visible_[i]);
    }
    if (targets.empty()) return;
    Statement s;
    s.kind = Statement::Kind::kGradient;
    s.tape = open.number;
    s.in = {rng_.chance(0.6) ? targets.back() : rng_.pick(targets)};
    for (const Ref r : open.watched) {
      if (s.in.size() == 1 || rng_.chance(0.7)) s.in.push_back(r);
    }
    // By what was computed on the way too. Not by itself: whether a tape knows a value that nothing watched leads to is
    // for the op that gives it, and a call is one.
    while (rng_.chance(0.35)) {
      const Ref r = rng_.pick(targets);
      if (std::ranges::find(s.in, r) == s.in.end()) s.in.push_back(r);
    }
    std::vector<GradSource> sources;
    for (size_t i = 1; i < s.in.size(); ++i) {
      if (s.in[i] >= 0) {
        sources.emplace_back(values_.at(s.in[i]));
      } else {
        sources.emplace_back(world_.variables()[static_cast<size_t>(variable_of_ref(s.in[i]))]);
      }
    }
    std::vector<Tensor> got;
    bool gave = true;
    try {
      got = open.tape->gradient(values_.at(s.in[0]), std::span<const GradSource>(sources));
      for (const Tensor& t : got) gave = gave && t.defined() && !has_special(t);
    } catch (const Error&) {
      gave = false;
    }
    if (gave) {
      for (Tensor& t : got) s.out.push_back(new_value(std::move(t)));
      body_->statements.push_back(std::move(s));
    }
    if (!open.persistent || !gave || rng_.chance(0.4)) close_tape();
  }

  void close_tape() {
    Statement s;
    s.kind = Statement::Kind::kEndTape;
    s.tape = tapes_.back().number;
    body_->statements.push_back(s);
    tapes_.pop_back();
  }
  void close_tapes() {
    while (!tapes_.empty()) close_tape();
  }

  // ---- The end --------------------------------------------------------------------------------------------------

  void choose_outputs() {
    while (visible_.empty()) add_input(draw_tensor(rng_, kFloat32, some_shape(), -2, 2));
    std::vector<Ref>& outputs = p_.body.outputs;
    std::set<int> read;
    for (const Statement& s : body_->statements) read.insert(s.in.begin(), s.in.end());
    outputs.push_back(visible_.back());
    for (const int v : must_) {
      if (v != outputs[0] && !read.contains(v)) outputs.push_back(v);
    }
    // What nobody has read yet, mostly: otherwise it would be dropped.
    for (size_t i = visible_.size() - 1; i-- > 0;) {
      const bool there = std::ranges::find(outputs, visible_[i]) != outputs.end();
      if (!read.contains(visible_[i]) && !there && outputs.size() < 6 && rng_.chance(0.8)) {
        outputs.push_back(visible_[i]);
      }
    }
    if (rng_.chance(0.3)) outputs.push_back(rng_.pick(visible_));
    if (rng_.chance(0.1)) outputs.push_back(rng_.pick(outputs));
    for (size_t i = outputs.size(); i-- > 1;) {
      std::swap(outputs[i], outputs[static_cast<size_t>(rng_.below(static_cast<int>(i) + 1))]);
    }
  }

  void add_illegal() {
    const Illegal& illegal = rng_.pick(illegal_samples());
    const test::Sample sample{illegal.sample->in, illegal.sample->attrs, {}};
    Mark before = mark();
    try {
      const test::Bound bound = test::bind(*illegal.row, sample, illegal.type);
      Statement s;
      s.op = bound.op;
      s.attrs = bound.attr_pairs();
      s.illegal = true;
      for (size_t i = 0; i < bound.in.size(); ++i) {
        if (bound.given.in[i].is_variable) {
          s.in.push_back(variable_ref(add_variable(variable_of(bound.in[i]).read())));
        } else {
          s.in.push_back(add_leaf(bound.in[i], rng_.chance(0.5)));
        }
      }
      for (size_t k = 0; k < bound.op->signature().outputs.size(); ++k) s.out.push_back(p_.next_value++);
      p_.body.outputs.push_back(s.out[0]);
      body_->statements.push_back(std::move(s));
    } catch (const Error&) {
      undo(before);
    }
  }

  std::vector<int> must_;  // values that are wanted
  std::vector<OpenTape> tapes_;
  int depth_ = 0;
  DType main_ = kFloat32;
  int64_t sizes_[3] = {};
  double p_functions_ = 0, p_tapes_ = 0;
};

}  // namespace

Program generate(uint64_t seed) { return Generator(seed).run(); }

}  // namespace panto::random
