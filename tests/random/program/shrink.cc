#include "panto/tests/random/program/shrink.h"

#include <algorithm>
#include <set>

#include "panto/lib/ops/ops.h"
#include "panto/tests/ops/array_value.h"
#include "panto/tests/random/interpret.h"

namespace panto::random {
namespace {

using Bodies = std::vector<std::vector<size_t>>;  // ways to bodies: positions of calls, from the outside

void collect_bodies(const Body& body, std::vector<size_t> way, Bodies& ways) {
  ways.push_back(way);
  for (size_t i = 0; i < body.statements.size(); ++i) {
    if (body.statements[i].body == nullptr) continue;
    way.push_back(i);
    collect_bodies(*body.statements[i].body, way, ways);
    way.pop_back();
  }
}

const Body& body_at(const Program& p, const std::vector<size_t>& way) {
  const Body* body = &p.body;
  for (const size_t i : way) body = body->statements[i].body.get();
  return *body;
}

// The body at the end of a way, with the calls on the way to it unshared.
Body& own_body_at(Program& p, const std::vector<size_t>& way) {
  Body* body = &p.body;
  for (const size_t i : way) {
    auto own = std::make_shared<Body>(*body->statements[i].body);
    body->statements[i].body = own;
    body = own.get();
  }
  return *body;
}

// The first `dims` of every dimension.
Tensor cut(const Tensor& t, int64_t from, int64_t to) {
  std::vector<int64_t> dims(t.shape().dims().begin(), t.shape().dims().end());
  bool changes = false;
  for (int64_t& d : dims) {
    if (d != from) continue;
    d = to;
    changes = true;
  }
  const bool whole = dtypes::kInteger.contains(t.dtype());
  if (!is_plain(t.dtype()) || (!changes && !whole)) return t;
  Tensor result = t;
  if (changes) {
    const std::vector<int64_t> begin(dims.size(), 0);
    result = slice(t, begin, dims);
  }
  if (!whole) return result;
  test::Array a = test::to_array(result);
  for (double& v : a.values) {
    if (v == static_cast<double>(from)) v = static_cast<double>(to);
  }
  a.drawn = true;
  a.type = DType::kInvalid;
  return test::to_tensor(a, t.dtype());
}

class Shrinker {
 public:
  Shrinker(Program program, const std::function<bool(const Program&)>& fails, int budget)
      : p_(std::move(program)), fails_(fails), budget_(budget) {}

  Program run() {
    bool smaller = true;
    while (smaller && budget_ > 0) {
      smaller = false;
      smaller = outputs() || smaller;
      smaller = statements() || smaller;
      smaller = calls() || smaller;
      smaller = extras() || smaller;
      smaller = sizes() || smaller;
    }
    return std::move(p_);
  }

 private:
  bool attempt(Program candidate) {
    if (budget_-- <= 0) return false;
    try {
      drop_unused(candidate, true);
      if (candidate.body.outputs.empty()) return false;
      if (candidate.fed >= 0 && !computes(candidate.body, candidate.fed)) candidate.fed = -1;
      if (!fails_(candidate)) return false;
    } catch (const std::exception&) {
      return false;
    }
    p_ = std::move(candidate);
    return true;
  }

  static bool computes(const Body& body, int value) {
    return std::ranges::any_of(body.statements,
                               [&](const Statement& s) { return std::ranges::find(s.out, value) != s.out.end(); });
  }

  bool outputs() {
    bool any = false;
    Bodies ways;
    collect_bodies(p_.body, {}, ways);
    for (const auto& way : ways) {
      if (!way.empty()) continue;  // a call's outputs have numbers
      for (size_t i = p_.body.outputs.size(); i-- > 0;) {
        if (p_.body.outputs.size() <= 1 || i >= p_.body.outputs.size()) continue;
        Program candidate = p_;
        candidate.body.outputs.erase(candidate.body.outputs.begin() + static_cast<ptrdiff_t>(i));
        any = attempt(std::move(candidate)) || any;
      }
    }
    return any;
  }

  bool statements() {
    bool any = false;
    for (const bool replace : {false, true}) {
      Bodies ways;
      collect_bodies(p_.body, {}, ways);
      for (size_t w = 0; w < ways.size(); ++w) {
        for (size_t i = body_at(p_, ways[w]).statements.size(); i-- > 0;) {
          if (i >= body_at(p_, ways[w]).statements.size()) continue;
          if (!(replace ? by_inputs(ways[w], i) : without(ways[w], i))) continue;
          any = true;
          // Calls may have moved.
          Bodies now;
          collect_bodies(p_.body, {}, now);
          if (now != ways) return true;
        }
      }
    }
    return any;
  }

  bool without(const std::vector<size_t>& way, size_t i) {
    Program candidate = p_;
    Body& body = own_body_at(candidate, way);
    const std::vector<int> out = body.statements[i].out;
    const size_t outputs = body.outputs.size();
    // What it gave may be one of its inputs of the same kind instead.
    Program passed = candidate;
    Body& passed_body = own_body_at(passed, way);
    const std::vector<Ref> in = passed_body.statements[i].in;
    if (out.size() == 1 && !in.empty() && passed_body.statements[i].kind == Statement::Kind::kOp) {
      for (const Ref r : in) {
        if (r < 0) continue;
        Program other = passed;
        Body& other_body = own_body_at(other, way);
        other_body.statements.erase(other_body.statements.begin() + static_cast<ptrdiff_t>(i));
        for (Statement& s : other_body.statements) std::ranges::replace(s.in, out[0], r);
        std::ranges::replace(other_body.outputs, out[0], r);
        if (attempt(std::move(other))) return true;
      }
    }
    body.statements.erase(body.statements.begin() + static_cast<ptrdiff_t>(i));
    drop_values(body, out);
    if (!way.empty() && body.outputs.size() != outputs) return false;
    return attempt(std::move(candidate));
  }

  // What it gives comes from outside, so that what it was made of is not needed any more.
  bool by_inputs(const std::vector<size_t>& way, size_t i) {
    const Statement& s = body_at(p_, way).statements[i];
    if (!way.empty() || s.out.empty() || s.kind == Statement::Kind::kConstant) return false;
    std::map<int, Tensor> values;
    try {
      World world(p_);
      std::vector<Tensor> given;
      for (const Input& in : p_.inputs) given.push_back(in.value);
      Outcome outcome = try_everything(p_, given, world);
      values = std::move(outcome.values);
    } catch (const Error&) {
      return false;
    }
    if (!std::ranges::all_of(s.out, [&](int v) { return values.contains(v); })) return false;
    for (const bool constant : {false, true}) {
      Program candidate = p_;
      std::vector<Statement> constants;
      for (const int v : s.out) {
        const Tensor& t = values.at(v);
        if (constant) {
          Statement c;
          c.kind = Statement::Kind::kConstant;
          c.value = t;
          c.origin = Statement::Origin::kMade;
          c.out = {v};
          constants.push_back(c);
        } else {
          Input in{t, Input::Memory::kPlain, t.partial_shape(), {}};
          in.others.assign(p_.num_others, t);
          candidate.inputs.push_back(in);
          candidate.body.inputs.push_back(v);
        }
      }
      const auto at = candidate.body.statements.begin() + static_cast<ptrdiff_t>(i);
      candidate.body.statements.insert(candidate.body.statements.erase(at), constants.begin(), constants.end());
      if (attempt(std::move(candidate))) return true;
    }
    return false;
  }

  // The body in place of the call.
  bool calls() {
    bool any = false;
    for (size_t i = p_.body.statements.size(); i-- > 0;) {
      if (i >= p_.body.statements.size()) continue;
      const Statement s = p_.body.statements[i];
      if (s.body == nullptr) continue;
      Program candidate = p_;
      std::map<int, int> names;
      for (size_t k = 0; k < s.in.size(); ++k) names[s.body->inputs[k]] = s.in[k];
      std::vector<Statement> inner = s.body->statements;
      const auto rename = [&](Ref& r) {
        if (const auto to = names.find(r); to != names.end()) r = to->second;
      };
      for (Statement& t : inner) std::ranges::for_each(t.in, rename);
      std::vector<Ref> results = s.body->outputs;
      std::ranges::for_each(results, rename);
      auto at = candidate.body.statements.begin() + static_cast<ptrdiff_t>(i);
      at = candidate.body.statements.erase(at);
      candidate.body.statements.insert(at, inner.begin(), inner.end());
      for (size_t k = 0; k < results.size(); ++k) {
        for (Statement& t : candidate.body.statements) std::ranges::replace(t.in, s.out[k], results[k]);
        std::ranges::replace(candidate.body.outputs, s.out[k], results[k]);
      }
      any = attempt(std::move(candidate)) || any;
    }
    return any;
  }

  bool extras() {
    bool any = false;
    for (size_t k = p_.num_others; k-- > 0;) {
      Program candidate = p_;
      for (Input& in : candidate.inputs) in.others.erase(in.others.begin() + static_cast<ptrdiff_t>(k));
      --candidate.num_others;
      any = attempt(std::move(candidate)) || any;
    }
    for (size_t i = 0; i < p_.inputs.size(); ++i) {
      const Input& in = p_.inputs[i];
      if (in.memory != Input::Memory::kPlain) {
        Program candidate = p_;
        candidate.inputs[i].memory = Input::Memory::kPlain;
        any = attempt(std::move(candidate)) || any;
      }
      if (i < p_.inputs.size() && !(p_.inputs[i].spec == p_.inputs[i].value.partial_shape())) {
        Program candidate = p_;
        Input& known = candidate.inputs[i];
        known.spec = known.value.partial_shape();
        any = attempt(std::move(candidate)) || any;
      }
      // Written down instead of given.
      if (i < p_.inputs.size()) {
        Program candidate = p_;
        Statement c;
        c.kind = Statement::Kind::kConstant;
        c.value = candidate.inputs[i].value;
        c.out = {candidate.body.inputs[i]};
        candidate.inputs.erase(candidate.inputs.begin() + static_cast<ptrdiff_t>(i));
        candidate.body.inputs.erase(candidate.body.inputs.begin() + static_cast<ptrdiff_t>(i));
        candidate.body.statements.insert(candidate.body.statements.begin(), c);
        if (p_.inputs.size() > 1) any = attempt(std::move(candidate)) || any;
      }
    }
    if (p_.fed >= 0) {
      Program candidate = p_;
      candidate.fed = -1;
      any = attempt(std::move(candidate)) || any;
    }
    for (size_t i = 0; i < p_.variables.size(); ++i) {
      if (p_.variables[i].declared == p_.variables[i].value.partial_shape()) continue;
      Program candidate = p_;
      candidate.variables[i].declared = p_.variables[i].value.partial_shape();
      any = attempt(std::move(candidate)) || any;
    }
    return any;
  }

  // Every dimension of one size made smaller, everywhere.
  bool sizes() {
    std::set<int64_t> all;
    const auto note = [&](const Tensor& t) {
      if (!t.defined() || !is_plain(t.dtype())) return;
      for (const int64_t d : t.shape().dims()) all.insert(d);
    };
    for (const Input& in : p_.inputs) note(in.value);
    for (const VariableInit& v : p_.variables) note(v.value);
    for (const Statement& s : p_.body.statements) note(s.value);
    bool any = false;
    for (auto it = all.rbegin(); it != all.rend(); ++it) {
      if (*it < 2) continue;
      for (const int64_t to : {int64_t{1}, int64_t{2}, *it / 2}) {
        if (to >= *it || to < 1) continue;
        if (attempt(with_size(*it, to))) {
          any = true;
          break;
        }
      }
    }
    return any;
  }

  Program with_size(int64_t from, int64_t to) const {
    Program candidate = p_;
    const auto fit = [&](PartialShape& spec, const Tensor& value) {
      if (!spec.known_rank()) return;
      std::vector<int64_t> dims(spec.dims().begin(), spec.dims().end());
      for (size_t k = 0; k < dims.size(); ++k) dims[k] = dims[k] < 0 ? -1 : value.shape()[static_cast<int>(k)];
      spec = PartialShape(dims);
    };
    try {
      for (Input& in : candidate.inputs) {
        in.value = cut(in.value, from, to);
        for (Tensor& other : in.others) other = cut(other, from, to);
        fit(in.spec, in.value);
      }
      for (VariableInit& v : candidate.variables) {
        v.value = cut(v.value, from, to);
        fit(v.declared, v.value);
      }
      for (Statement& s : candidate.body.statements) {
        if (s.value.defined()) s.value = cut(s.value, from, to);
      }
    } catch (const Error&) {
      return p_;
    }
    return candidate;
  }

  Program p_;
  const std::function<bool(const Program&)>& fails_;
  int budget_;
};

}  // namespace

Program shrink(Program program, const std::function<bool(const Program&)>& fails, int budget) {
  return Shrinker(std::move(program), fails, budget).run();
}

}  // namespace panto::random
