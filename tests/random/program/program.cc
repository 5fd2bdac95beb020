#include "panto/tests/random/program/program.h"

#include <algorithm>
#include <set>

#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/ops/array_value.h"

namespace panto::random {
namespace {

size_t count_statements(const Body& body) {
  size_t n = body.statements.size();
  for (const Statement& s : body.statements) {
    if (s.body != nullptr) n += count_statements(*s.body);
  }
  return n;
}

void collect_variables(const Body& body, std::set<int>& used) {
  for (const Statement& s : body.statements) {
    for (const Ref r : s.in) {
      if (r < 0) used.insert(variable_of_ref(r));
    }
    if (s.body != nullptr) collect_variables(*s.body, used);
  }
}

void rename_variables(Body& body, const std::map<int, int>& names) {
  for (Statement& s : body.statements) {
    for (Ref& r : s.in) {
      if (r < 0) r = variable_ref(names.at(variable_of_ref(r)));
    }
    if (s.body == nullptr) continue;
    auto inner = std::make_shared<Body>(*s.body);
    rename_variables(*inner, names);
    s.body = inner;
  }
}

void drop_unused_statements(Body& body) {
  std::set<int> needed(body.outputs.begin(), body.outputs.end());
  std::set<int> tapes;
  std::vector<Statement> kept;
  for (size_t i = body.statements.size(); i-- > 0;) {
    Statement& s = body.statements[i];
    bool keep = writes(s) || std::ranges::any_of(s.out, [&](int v) { return needed.contains(v); });
    if (s.kind == Statement::Kind::kTape || s.kind == Statement::Kind::kEndTape) keep = true;
    if (!keep) continue;
    needed.insert(s.in.begin(), s.in.end());
    kept.push_back(std::move(s));
  }
  std::ranges::reverse(kept);
  // Tapes that nobody asks.
  for (const Statement& s : kept) {
    if (s.kind == Statement::Kind::kGradient) tapes.insert(s.tape);
  }
  std::erase_if(kept, [&](const Statement& s) {
    return (s.kind == Statement::Kind::kTape || s.kind == Statement::Kind::kEndTape) && !tapes.contains(s.tape);
  });
  body.statements = std::move(kept);
}

}  // namespace

Tensor placed(const Tensor& t, Input::Memory memory) {
  if (!is_plain(t.dtype())) return t;
  if (memory == Input::Memory::kAdopted) return test::unaligned(t);
  if (memory == Input::Memory::kPlain || t.rank() == 0) {
    return tensor_from_bytes(t.dtype(), t.shape(), t.impl()->data, t.nbytes());
  }
  // In the middle of a larger one.
  std::vector<int64_t> dims(t.shape().dims().begin(), t.shape().dims().end());
  const int64_t rows = dims[0];
  dims[0] = rows + 3;
  const Tensor whole = allocate_tensor(cpu_device(), t.dtype(), Shape(dims));
  const int64_t row = rows > 0 ? t.numel() / rows : 0;
  const size_t size = dtype_size(t.dtype());
  std::fill_n(mutable_data<char>(whole), whole.nbytes(), char{1});
  std::copy_n(static_cast<const char*>(t.impl()->data), t.nbytes(),
              mutable_data<char>(whole) + static_cast<size_t>(row) * size);
  return view_tensor(whole, t.shape(), row);
}

size_t Program::num_statements() const { return count_statements(body); }

bool writes(const Statement& s) {
  if (s.kind == Statement::Kind::kOp) return s.op->has_effect(Effect::kWrites);
  return s.body != nullptr && has_effects(*s.body);
}

bool has_effects(const Body& body) { return std::ranges::any_of(body.statements, writes); }

bool uses_variables(const Body& body) {
  std::set<int> used;
  collect_variables(body, used);
  return !used.empty();
}

bool has_kind(const Body& body, Statement::Kind kind) {
  return std::ranges::any_of(body.statements, [&](const Statement& s) {
    return s.kind == kind || (s.body != nullptr && has_kind(*s.body, kind));
  });
}

bool has_form(const Body& body, Statement::Form form) {
  return std::ranges::any_of(body.statements, [&](const Statement& s) {
    return s.body != nullptr && (s.form == form || has_form(*s.body, form));
  });
}

void drop_unused(Program& program, bool interface) {
  // Twice: a tape that is gone needed what it watched.
  drop_unused_statements(program.body);
  drop_unused_statements(program.body);
  if (!interface) return;
  std::set<int> used(program.body.outputs.begin(), program.body.outputs.end());
  for (const Statement& s : program.body.statements) used.insert(s.in.begin(), s.in.end());
  for (size_t i = program.inputs.size(); i-- > 0;) {
    if (used.contains(program.body.inputs[i])) continue;
    program.inputs.erase(program.inputs.begin() + static_cast<ptrdiff_t>(i));
    program.body.inputs.erase(program.body.inputs.begin() + static_cast<ptrdiff_t>(i));
  }
  std::set<int> variables;
  collect_variables(program.body, variables);
  std::map<int, int> names;
  std::vector<VariableInit> kept;
  for (const int v : variables) {
    names[v] = static_cast<int>(kept.size());
    kept.push_back(program.variables[static_cast<size_t>(v)]);
  }
  rename_variables(program.body, names);
  program.variables = std::move(kept);
}

void drop_values(Body& body, std::vector<int> lost_list) {
  std::set<int> lost(lost_list.begin(), lost_list.end());
  std::vector<Statement> kept;
  for (Statement& s : body.statements) {
    const auto is_lost = [&](Ref r) { return r >= 0 && lost.contains(r); };
    if (s.kind == Statement::Kind::kTape) {
      std::erase_if(s.in, is_lost);
    } else if (std::ranges::any_of(s.in, is_lost)) {
      lost.insert(s.out.begin(), s.out.end());
      continue;
    }
    kept.push_back(std::move(s));
  }
  body.statements = std::move(kept);
  std::erase_if(body.outputs, [&](Ref r) { return lost.contains(r); });
}

}  // namespace panto::random
