#include "panto/tests/random/program/builder.h"

#include <algorithm>
#include <cmath>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/random/program/vary.h"

namespace panto::random {

bool has_special(const Tensor& t) {
  if (!dtypes::kFloating.contains(t.dtype())) return false;
  const Tensor wide = cast(t, kFloat64);
  return std::ranges::any_of(wide.data<double>(), [](double v) { return !std::isfinite(v); });
}

void Builder::undo(const Mark& m) {
  body_->statements.resize(m.statements);
  p_.inputs.resize(m.inputs);
  p_.body.inputs.resize(m.inputs);
  p_.variables.resize(m.variables);
  world_.truncate(m.variables);
  visible_.resize(m.visible);
}

int Builder::new_value(Tensor t) {
  const int v = p_.next_value++;
  values_[v] = std::move(t);
  visible_.push_back(v);
  return v;
}

int Builder::add_constant(const Tensor& t, Statement::Origin origin) {
  Statement s;
  s.kind = Statement::Kind::kConstant;
  s.value = t;
  s.origin = origin;
  s.out = {new_value(t)};
  body_->statements.push_back(s);
  return s.out[0];
}

int Builder::add_input(const Tensor& t) {
  Input in{t, Input::Memory::kPlain, PartialShape(), {}};
  if (rng_.chance(0.15)) in.memory = Input::Memory::kView;
  if (rng_.chance(0.1)) in.memory = Input::Memory::kAdopted;
  if (!is_plain(t.dtype())) in.memory = Input::Memory::kPlain;
  p_.inputs.push_back(in);
  const int v = new_value(t);
  p_.body.inputs.push_back(v);
  return v;
}

int Builder::add_variable(const Tensor& t) {
  VariableInit init{t, t.partial_shape()};
  if (rng_.chance(0.3) && t.rank() > 0) {
    std::vector<int64_t> dims = dims_of(t);
    for (int64_t& d : dims) d = rng_.chance(0.6) ? -1 : d;
    init.declared = PartialShape(dims);
  }
  p_.variables.push_back(init);
  world_.add(init);
  return static_cast<int>(p_.variables.size()) - 1;
}

int Builder::add_leaf(const Tensor& t, bool fixed) {
  const bool plain = is_plain(t.dtype()) || t.dtype() == kString;
  if (at_top() && plain && rng_.chance(fixed ? 0.4 : 0.65)) return add_input(t);
  if (!fixed && rng_.chance(p_variables_)) {
    const std::pair<std::string, AttrValue> attrs[] = {{"dtype", AttrValue(t.dtype())}};
    Statement s;
    s.op = &get_op("ReadVariableOp");
    s.type = t.dtype();
    s.in = {variable_ref(add_variable(t))};
    s.attrs.assign(attrs, attrs + 1);
    s.out = {new_value(t)};
    body_->statements.push_back(s);
    return s.out[0];
  }
  const double x = rng_.real();
  if (x < (fixed ? 0.8 : 0.3)) return add_constant(t, Statement::Origin::kLiteral);
  return add_constant(t, x < 0.9 ? Statement::Origin::kMade : Statement::Origin::kCaptured);
}

bool Builder::try_statement(Statement s, const Mark& before, size_t max_special) {
  try {
    Body one;
    std::vector<Tensor> in;
    for (const Ref r : s.in) {
      if (r < 0 || std::ranges::find(one.inputs, r) != one.inputs.end()) continue;
      one.inputs.push_back(r);
      in.push_back(values_.at(r));
    }
    one.statements = {s};
    std::vector<Tensor> got = run_one(one, in);
    size_t special = 0;
    for (const Tensor& t : got) {
      if (t.numel() > max_elements_ || t.dtype() == kResource || t.dtype() == kVariant) {
        undo(before);
        return false;
      }
      special += has_special(t) ? 1 : 0;
    }
    if (special > max_special) {
      undo(before);
      return false;
    }
    const bool told = is_told(s);
    for (Tensor& t : got) {
      s.out.push_back(new_value(std::move(t)));
      if (told) told_.insert(s.out.back());
    }
    body_->statements.push_back(std::move(s));
    return true;
  } catch (const Error&) {
    undo(before);
    return false;
  }
}

// Whether the shapes it gives may depend on values that are inputs.
bool Builder::is_told(const Statement& s) const {
  const auto type_of = [&](Ref r) { return r >= 0 ? values_.at(r).dtype() : kResource; };
  for (size_t i = 0; i < s.in.size(); ++i) {
    if (told_.contains(s.in[i])) return true;
    if (s.kind != Statement::Kind::kOp || !is_integer(type_of(s.in[i]))) continue;
    const bool given = std::ranges::find(p_.body.inputs, s.in[i]) != p_.body.inputs.end();
    const std::vector<ArgDef>& args = s.op->signature().inputs;
    if (given && args.size() == s.in.size() && args[i].host) return true;
  }
  return false;
}

// The number of outputs is known afterwards only.
std::vector<Tensor> Builder::run_one(Body& one, std::span<const Tensor> in) {
  Statement& s = one.statements[0];
  if (s.kind == Statement::Kind::kOp) {
    std::vector<Tensor> inputs;
    for (const Ref r : s.in) {
      inputs.push_back(r >= 0 ? values_.at(r) : world_.variables()[static_cast<size_t>(variable_of_ref(r))].handle());
    }
    dispatch::Outputs outputs = dispatch::call(s.op->name(), inputs, s.attrs);
    return {outputs.begin(), outputs.end()};
  }
  const size_t count = s.body->outputs.size();
  for (size_t k = 0; k < count; ++k) {
    s.out.push_back(-1000 - static_cast<int>(k));
    one.outputs.push_back(s.out.back());
  }
  return interpret(one, in, world_, {.both_branches = true});
}

int Builder::pick_late(const std::vector<int>& fitting) {
  if (fitting.empty()) return -1;
  if (rng_.chance(0.4)) {
    std::vector<int> told;
    for (const int v : fitting) {
      if (told_.contains(v)) told.push_back(v);
    }
    if (!told.empty()) return rng_.pick(told);
  }
  if (rng_.chance(0.5)) {
    const int last = std::min<int>(3, static_cast<int>(fitting.size()));
    return fitting[fitting.size() - 1 - static_cast<size_t>(rng_.below(last))];
  }
  return rng_.pick(fitting);
}

int Builder::try_call(const Op& op, std::vector<Ref> in, std::vector<std::pair<std::string, AttrValue>> attrs) {
  Statement s;
  s.op = &op;
  s.in = std::move(in);
  s.attrs = std::move(attrs);
  const int type = s.op->primary_attr();
  if (type >= 0) {
    const std::string& name = s.op->signature().attrs[static_cast<size_t>(type)].name;
    for (const auto& [given, v] : s.attrs) {
      if (given == name) s.type = v.as<DType>();
    }
  }
  return try_statement(std::move(s), mark(), 0) ? statements().back().out[0] : -1;
}

}  // namespace panto::random
