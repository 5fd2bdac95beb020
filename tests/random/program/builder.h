// A random program while it is made: every statement is run eagerly as it is added, so that its values are known.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "panto/tests/random/interpret.h"
#include "panto/tests/random/program/program.h"
#include "panto/tests/random/program/rng.h"

namespace panto::random {

class Builder {
 public:
  explicit Builder(uint64_t seed) : rng_(seed) { p_.seed = seed; }

  Rng& rng() { return rng_; }
  const Tensor& value(int v) const { return values_.at(v); }
  // The statements of the body that is being made.
  const std::vector<Statement>& statements() const { return body_->statements; }

  // What there is at one time, to go back to.
  struct Mark {
    size_t statements, inputs, variables, visible;
  };
  Mark mark() const { return {body_->statements.size(), p_.inputs.size(), p_.variables.size(), visible_.size()}; }
  void undo(const Mark& m);

  // A value that is there, with what f says of it; -1 if there is none. Late ones are preferred.
  template <class F>
  int pick_value(F f) {
    std::vector<int> fitting;
    for (const int v : visible_) {
      if (f(values_.at(v))) fitting.push_back(v);
    }
    return pick_late(fitting);
  }
  int add_constant(const Tensor& t, Statement::Origin origin);
  int add_input(const Tensor& t);
  int add_variable(const Tensor& t);
  // A new value from outside: an input, a constant of some kind, or what a variable holds. `fixed`: it says something
  // (an axis, a shape), so that it is rather written down.
  int add_leaf(const Tensor& t, bool fixed);

  // Runs it; false, and everything as `before`, where it is not to be kept: it fails, is too large, or more than
  // `max_special` of its outputs hold a NaN or an infinity.
  bool try_statement(Statement s, const Mark& before, size_t max_special);
  // The same for a call of `op`. The first output's value, or -1.
  int try_call(const Op& op, std::vector<Ref> in, std::vector<std::pair<std::string, AttrValue>> attrs);

 protected:
  int new_value(Tensor t);
  bool at_top() const { return body_ == &p_.body; }

  Rng rng_;
  Program p_;
  World world_;
  Body* body_ = nullptr;
  std::map<int, Tensor> values_;
  std::vector<int> visible_;
  int64_t max_elements_ = 20'000;  // of one value
  double p_variables_ = 0;

 private:
  int pick_late(const std::vector<int>& fitting);
  bool is_told(const Statement& s) const;
  std::vector<Tensor> run_one(Body& one, std::span<const Tensor> in);

  std::set<int> told_;  // values of shapes that inputs tell: only a run knows those
};

// Whether there is a NaN or an infinity among the elements.
bool has_special(const Tensor& t);

}  // namespace panto::random
